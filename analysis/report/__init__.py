"""Functions with which notebooks save figures, tables, numbers and records for the book."""

import lazy_loader

# Loaded lazily: the process that starts the kernels needs neither Matplotlib nor pandas.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
