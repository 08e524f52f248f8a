"""Running of the notebooks: parameters, cache keys, kernels and the runner."""
