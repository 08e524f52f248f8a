"""Restless bandits of any arms with two actions: index, indexability, relaxed problem, simulation.

`index` has the arm, its Whittle index, and whether it has one; `relaxed` many arms under a budget:
bound, Lagrangian index, simulation.
Restart arms have theory and faster methods of their own in `analysis.restarts`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
