"""How many robots to run: a queue of pages in front of an indexing engine (the robot study)."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
