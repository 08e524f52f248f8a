"""Sources of ephemeral content: which source to crawl next, and what it earns."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
