"""Functions with which notebooks save figures, tables, numbers and records for the book."""

from analysis import attach_stub

# Loaded lazily: the process that starts the kernels needs neither Matplotlib nor pandas.
__getattr__, __dir__, __all__ = attach_stub(__name__, __file__, extra="book")
