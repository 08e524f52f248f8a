"""Instances of restart arms: random generators, the applications' arms, systems of them."""
