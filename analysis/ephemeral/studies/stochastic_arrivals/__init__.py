"""Study of the page `stochastic-arrivals`."""
