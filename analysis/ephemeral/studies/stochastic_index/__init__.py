"""Study of the page `stochastic-index`."""
