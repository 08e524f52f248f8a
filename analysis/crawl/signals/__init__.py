"""Pings: hubs of WebSub, plain pings by address, and dates of pages that list feeds."""
