"""Virtual time: each request states its time, and an epoch follows the last without a pause."""

START = 1_704_067_200
"""Unix time at which sites start by default: 2024-01-01, 00:00 UTC."""
TIME_HEADER = "X-Time"
"""Header with the Unix time of a request."""
