"""The controlled queue: model, solvers, structure of the optimal policy."""
