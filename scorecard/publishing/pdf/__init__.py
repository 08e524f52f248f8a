"""The book and the replication reports as PDF, printed by Chromium."""
