"""The index policy for millions of sources."""

from pathlib import Path

MEASURED = Path(__file__).parent / "measured"
"""Folder of measurements of the scheduler and its peers, as ratios and not as seconds.

``scale.csv`` has the times of an epoch by number of sources, which `python -m benchmarks.scale`
writes, and ``benchmarks.csv`` the rows of `python -m benchmarks`, as the book prints them.
"""
