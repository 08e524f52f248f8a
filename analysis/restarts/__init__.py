"""Restart bandits: arms that an active epoch sends back to a reset distribution.

The modules build on each other in this order: `arm`; `whittle` (the Whittle index of one arm, and
why it exists); `policies`, `joint`, `relaxed` and `simulation` (many arms under a budget);
`instances` (random arms, arms of the applications, systems of arms and what policies cost on each).
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
