"""From notebook to book: what a notebook calls to leave figures, numbers and records behind."""

import lazy_loader

# Loaded when asked for: the process that starts a notebook's kernel draws and records nothing.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
