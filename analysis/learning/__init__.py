"""Learning which source to crawl: the 2019 scheme as printed and corrected, and other learners."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
