"""Average-reward and discounted solvers that the models share, with one family of results."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
