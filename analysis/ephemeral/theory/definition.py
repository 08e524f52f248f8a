"""The index by its definition, in two ways that are independent of the closed form.

The Whittle index in state x is the subsidy at which crawling and waiting tie in the average-reward
dynamic program of one source (report, section 3 and (10)),

    V(x) + beta = max( C lambda + V(alpha x + u), x + V(u) ).

`index_by_definition` solves this with decimal arithmetic. Let b = beta - C lambda, the gain of the
best cycle beyond the subsidy. Waiting s epochs from x and then crawling gains x_s - x - b s over
crawling now, and the best cycle crawls at an age k, so

    tie at x:       max_{s >= 1} (x_s - x) - b s = 0        gives b, by policy iteration,
    best cycle:     max_{k >= 1} (X_k - C lambda) / k = b   gives C lambda = max_k X_k - b k.

Above u* waiting never gains, and the tie is with never crawling again.

`index_from_passages` estimates the index in a random environment from first passages.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal, localcontext

import numpy as np
from numpy.typing import ArrayLike

from analysis.arrays import Floats
from analysis.checks import check_array, check_integer, check_kind, check_positive
from analysis.ephemeral.sources import Sources
from analysis.kernel_cache import njit
from analysis.results import Estimate, NotConverged


def index_by_definition(sources: Sources, state: ArrayLike, *, digits: int = 60) -> Floats:
    """Return the Whittle index of each source in a state, from the dynamic program in decimals.

    Parameters
    ----------
    sources : Sources
        N sources.
    state : array_like, shape (N,)
        Content of each; not negative.
    digits : int
        Decimal digits of the computation, at least 40; increased if differences of contents lose
        digits, because interest fades slowly or the content is a small share of u*.

    Returns
    -------
    ndarray, shape (N,)

    Raises
    ------
    ValueError
        If a state is negative, the shape is wrong, or there are too few digits.

    Examples
    --------
    >>> from analysis.ephemeral import four_sources
    >>> index_by_definition(four_sources(), [10.0, 10.0, 10.0, 10.0]).round(2).tolist()
    [5.03, 2.95, 5.03, 1.89]
    """
    check_kind("sources", sources, Sources)
    contents = check_array("state", state, 0)
    if contents.shape != (len(sources),):
        raise ValueError(f"state must have shape ({len(sources)},), got {contents.shape}")
    digits = check_integer("digits", digits, 40)
    index = np.empty(len(sources))
    columns = zip(sources.decay, contents, sources.u_star, sources.cost, strict=True)
    for i, (mu, x, limit, cost) in enumerate(columns):
        share = x / limit if 0 < x < limit else 1.0
        lost = max(0.0, -2.0 * np.log10(mu)) - np.log10(max(share, 1e-300))
        with localcontext() as context:
            context.prec = digits + int(np.ceil(lost))
            index[i] = float(_tie(*(Decimal(float(number)) for number in (mu, x, limit)))) / cost
    return index


def index_from_passages(
    content: ArrayLike, alpha: float, state: float, cost: float = 1.0
) -> Estimate:
    """Estimate the index with random content from first passages, at a cost of one crawl.

    With a state a as threshold, the content starts from a, and from 0 after a crawl, and evolves
    until the first epoch at which it is at least a:

        g = (a - E_a X) / E_a epochs,   C gamma(a) = E_0 X + g E_0 epochs.

    `content`, shape (epochs,), arrives in each epoch and is divided into 20 batches, each of which
    gives a ratio estimate; `alpha` of it is left after an epoch. State and cost are positive, else
    ValueError; NotConverged if the content hardly ever reaches the state within a batch.
    """
    state = check_positive("state", state)
    cost = check_positive("cost", cost)
    values = []
    for batch in np.array_split(check_array("content", content, 0), 20):
        half = batch.size // 2
        from_state = _passages(batch[:half], alpha, state, state)
        from_empty = _passages(batch[half:], alpha, 0.0, state)
        if min(from_state[0], from_empty[0]) < 20:
            raise NotConverged(f"fewer than 20 passages to state {state:g} in a batch; draw more")
        passages, total, waits = from_state
        waiting = (state * passages - total) / waits
        passages, total, waits = from_empty
        values.append((total + waiting * waits) / passages / cost)
    return Estimate.of(values)


@njit
def _passages(content: Floats, alpha: float, start: float, level: float) -> tuple:
    """Return the passages from `start` to `level` or more, and sums of their content and epochs."""
    passages, total, waits, x, since = 0, 0.0, 0, start, 0
    for arrived in content:
        x = alpha * x + arrived
        since += 1
        if x >= level:
            passages += 1
            total += x
            waits += since
            x, since = start, 0
    return passages, total, waits


def _tie(mu: Decimal, x: Decimal, u_star: Decimal) -> Decimal:
    """Return the subsidy, times the cost, at which crawling and waiting tie."""
    if x >= u_star:
        return x

    def off_orbit(s: int) -> Decimal:  # x_s - x: what waiting s epochs adds to the content
        return (u_star - x) * (1 - (-mu * s).exp())

    def on_orbit(k: int) -> Decimal:
        return u_star * (1 - (-mu * k).exp())

    excess, wait = Decimal(0), 1
    while (better := off_orbit(wait) / wait) > excess:
        excess = better
        wait = _best(off_orbit, excess)
    age = _best(on_orbit, excess)  # b = max_k (X_k - C lambda) / k, solved for C lambda
    return on_orbit(age) - excess * age


def _best(content: Callable[[int], Decimal], price: Decimal) -> int:
    """Return the k >= 1 that maximises content(k) - price k, for a concave content."""
    high = 1
    while content(high + 1) - content(high) > price:
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        if content(middle + 1) - content(middle) > price:
            low = middle
        else:
            high = middle
    return high
