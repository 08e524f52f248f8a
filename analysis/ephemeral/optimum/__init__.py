"""Exact optima, bounds and the best fixed schedules: what a policy can earn at most."""
