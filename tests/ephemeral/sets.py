"""Small sets of sources, by what is hard about them, and second methods that several files use."""

import mpmath
import numpy as np
from scipy.optimize import linprog

from analysis.ephemeral import Sources, relaxed_problem


def by_limit(u_star, decay, cost=1.0):
    """Sources of given u* and decay, with utilities of 1."""
    decay = np.asarray(decay, dtype=float)
    return Sources(np.asarray(u_star) * decay, np.ones(decay.size), decay, cost=cost)


def unlike(seed, size, cost=1.0):
    rng = np.random.default_rng(seed)
    return Sources(*rng.lognormal([[1], [0], [-1]], [[1], [0.5], [0.7]], (3, size)), cost=cost)


RATES = 10.0 ** np.array([-5.0, -2.0, 1.0, 5.0])
SETS = {
    "one source": Sources([3.0], [1.0], [0.3]),
    "equal sources": Sources([2.0] * 3, [1.0] * 3, [0.4] * 3),
    "ties of two kinds": Sources([2.0, 2.0, 1.0], [1.0, 1.0, 2.0], [0.4] * 3),
    "costs 1 and 1 + 1e-4": Sources([2.0] * 3, [1.0] * 3, [0.3, 0.5, 0.9], [1.0, 1.0001, 1.0]),
    "rates over ten decades": Sources(RATES, np.ones(4), np.full(4, 0.3)),
    "decay 1e-14": Sources([250.0] * 3, [1.0, 0.7, 0.2], [1e-14] * 3),
    "joint decay 1e-10": Sources([250.0] * 3, [1.0, 0.7, 0.2], [1e-10] * 3),
    "decay 1e3": Sources([250.0] * 3, [1.0, 0.7, 0.2], [1e3] * 3),
    "one that brings nothing": Sources([0.0, 2.0], [1.0, 1.0], [1.0, 0.5]),
    "unlike": unlike(1, 3),
    "costs of all kinds": unlike(2, 3, [0.5, 1.3, 2.0]),
}
#: Sets of which every crawl costs 1, and those in which ages of thousands of epochs do not matter.
UNIT_COSTS = [name for name, sources in SETS.items() if (sources.cost == 1).all()]
QUICK = [name for name in SETS if name not in ("decay 1e-14", "joint decay 1e-10")]


def budgets(sources):
    """Costs per epoch: of the dearest source, half of all, and all."""
    total = float(sources.cost.sum())
    return sorted({float(sources.cost.max()), max(total / 2, float(sources.cost.max())), total})


def index_in_mpmath(decay, state, limit):
    """Subsidy at which waiting and crawling tie, from the best gap of the cycle that follows."""
    with mpmath.workdps(80 + int(2 * max(0.0, -np.log10(decay)))):
        m, x, u = (mpmath.mpf(float(number)) for number in (decay, state, limit))
        if x >= u:
            return x
        gain = -(u - x) * mpmath.expm1(-m)  # of one epoch of waiting: the best, as they shrink
        guess = int(mpmath.ceil(-mpmath.log1p(-x / u) / m) if x > 0 else 1)
        # Values have one peak, near the guess.
        near = [k for k in range(guess - 2, guess + 4) if k >= 1]
        return max(-u * mpmath.expm1(-m * k) - gain * k for k in near)


def relaxed_by_linear_program(sources, budget):
    """Largest reward of frequencies of gaps that spend the budget, by HiGHS."""
    solution = relaxed_problem(sources, budget)
    longest = solution.age[np.isfinite(solution.age)].max(initial=2.0)
    gaps = np.arange(1.0, min(4 * longest, 400.0) + 1)
    content = sources.state_at_age(gaps[:, None]).T  # source by gap
    scale = max(float(content.max()), 1e-300)
    rows = np.kron(np.eye(len(sources)), np.ones(gaps.size))
    spent = (sources.cost[:, None] / gaps).ravel()[None]
    found = linprog(
        -(content / gaps / scale).ravel(),
        A_ub=np.vstack([rows, spent]),
        b_ub=np.append(np.ones(len(sources)), budget),
        method="highs",
    )
    return -found.fun * scale
