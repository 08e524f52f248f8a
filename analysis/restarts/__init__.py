"""Restart bandits: arms that an active epoch sends back to a reset distribution.

The modules build on each other in this order: `arm`; `elimination` (all passive sets of an arm from
one factorisation; its compiled `elimination_steps`), `subsidised` (an arm with a subsidy, solved
exactly) and `whittle` (the index by each route, thresholds, and the certificate that it exists);
`bandit`, `joint` and `simulation` (many arms under a budget); `instances` (random arms, arms of the
applications) and `systems` (what policies cost on random systems of arms).
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
