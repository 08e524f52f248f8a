"""Public functions held to their definitions on instances made to break them.

`FAMILIES` of a module here maps the name of a function or method to its checks, by family:
``{"whittle_index": {"chains that seldom climb": check, ...}}``. A check takes no argument and
asserts that the function agrees with a second method (its definition in high precision, another
kind of solver, brute force), or that it refuses by name.
"""

from functools import partial


class Slow(partial):
    """A check that takes too long for ``make check``."""
