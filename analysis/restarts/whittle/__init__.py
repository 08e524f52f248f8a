"""The Whittle index of a restart arm: how it is computed, and why every arm has one.

The modules build on each other in this order: `elimination` (all passive sets of an arm from one
factorisation; its compiled `elimination_steps`, the estimate of `rounding`); `definition` (an arm
with a subsidy, solved exactly); `threshold` (policies that leave the first states passive); `index`
(the index by each route, and the certificate that it exists).
"""
