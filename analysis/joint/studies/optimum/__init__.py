"""Study of the page `optimum`: exact optima of small systems, policies and bounds."""
