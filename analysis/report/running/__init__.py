"""From notebooks to results: parameters, what a result depends on, kernels and the runner."""
