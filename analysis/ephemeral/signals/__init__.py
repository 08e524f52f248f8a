"""Pings that lie: sources whose items are announced, or not, among false announcements."""
