"""Policies of the book, and policies deployed elsewhere, on traces of real publications."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
