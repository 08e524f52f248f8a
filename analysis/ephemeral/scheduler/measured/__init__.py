"""Measurements by the benchmarks of the scheduler and of its peers, as ratios and not as seconds.

``scale.csv`` has the times of an epoch by number of sources, which `python -m benchmarks.scale`
writes, and ``benchmarks.csv`` the rows of `python -m benchmarks`, as the book prints them.
"""

from pathlib import Path

#: Folder of both files.
MEASURED = Path(__file__).parent
