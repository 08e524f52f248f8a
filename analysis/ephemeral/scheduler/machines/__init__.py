"""One scheduler on each machine, with a common subsidy: protocol, cluster and its requirements."""
