"""Real publications: the policies of the book, and those deployed elsewhere, on traces of items."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
