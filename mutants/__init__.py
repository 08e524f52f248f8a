"""One-token mutants of models, solvers and rules, each against the tests of its module."""
