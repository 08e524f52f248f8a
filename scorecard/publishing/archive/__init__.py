"""The archive of a release, with a replication report for each document."""
