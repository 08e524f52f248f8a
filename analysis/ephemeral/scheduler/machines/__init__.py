"""One scheduler a machine, under one subsidy: the protocol, the cluster, what it takes."""
