"""Finite Markov chains as sparse matrices: recurrent classes and stationary laws.

A chain is given by its transition probabilities or, in continuous time, by the rates between its
states; both have the same graph, and the diagonal plays no part in what is computed here.

The stationary law is found by the elimination of Grassmann, Taksar and Heyman (1985), which never
subtracts: each probability has nearly all its digits, however small it is and however seldom the
chain passes between its parts (O'Cinneide 1993).
"""

from __future__ import annotations

import math
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, localcontext

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from analysis.arrays import Floats, Ints
from analysis.checks import check_array, check_integer, check_kind
from analysis.kernel_cache import njit
from analysis.results import NotConverged

LEAST_RATIO = 1e-100
"""Ratio of two rates of a class below which floats may not hold their products."""
MOST_IN_DECIMALS = 200
"""States of a class with such rates."""
LARGEST_BAND = 2**28
"""Entries that the elimination may hold: the number of states times the width of their band."""


def recurrent_classes(chain: sparse.csr_array) -> list[Ints]:
    """Return the states of each recurrent class of a chain, in rising order.

    Parameters
    ----------
    chain : sparse array, shape (states, states)
        Transition probabilities, or rates; any that is not zero counts, however small.

    Raises
    ------
    ValueError
        If the matrix is not square, or holds what is not a number of at least zero.

    Examples
    --------
    >>> from scipy import sparse
    >>> chain = sparse.csr_array([[0.5, 0.5, 0.0], [0.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
    >>> [states.tolist() for states in recurrent_classes(chain)]
    [[1, 2]]
    """
    graph = _edges("chain", chain)
    count, label = csgraph.connected_components(graph, directed=True, connection="strong")
    source, target = graph.nonzero()
    closed = np.ones(count, dtype=bool)
    closed[label[source[label[source] != label[target]]]] = False
    return [np.flatnonzero(label == name) for name in np.flatnonzero(closed)]


def _edges(name: str, chain: sparse.csr_array) -> sparse.csr_array:
    """Return the positive entries off the diagonal; SciPy would count stored zeros as edges."""
    check_kind(name, chain, np.ndarray, sparse.sparray, sparse.spmatrix)
    if chain.ndim != 2 or chain.shape[0] != chain.shape[1] or not chain.shape[0]:
        raise ValueError(f"{name} must be a square matrix of one state or more, got {chain.shape}")
    entries = sparse.coo_array(chain if sparse.issparse(chain) else check_array(name, chain))
    rates = check_array(name, entries.data)
    off_diagonal = (entries.row != entries.col) & (rates != 0)
    if (rates[off_diagonal] < 0).any():
        raise ValueError(
            f"{name} must be non-negative off its diagonal, got {rates[off_diagonal].min()}"
        )
    indices = (entries.row[off_diagonal], entries.col[off_diagonal])
    return sparse.csr_array((rates[off_diagonal], indices), shape=chain.shape)


def stationary_law(rates: sparse.csr_array, initial_state: int = 0) -> Floats:
    """Return the stationary law of a chain in continuous time.

    Parameters
    ----------
    rates : sparse array, shape (states, states)
        Rates between the states; the diagonal is ignored. The transition probabilities of a chain
        in discrete time give the same law.
    initial_state : int
        The law is that of the recurrent class that this state leads to.

    Returns
    -------
    ndarray, shape (states,)
        Stationary probabilities, each with nearly all its digits.

    Raises
    ------
    ValueError
        If an argument has a wrong shape or value, the state leads to several recurrent classes, or
        the chain is too large: `LARGEST_BAND` entries in a band around the diagonal.
    NotConverged
        If the probability of a path between states is too small for a float, or a class of more
        than `MOST_IN_DECIMALS` states has rates whose ratio is below `LEAST_RATIO`.

    Examples
    --------
    >>> from scipy import sparse
    >>> rates = sparse.csr_array([[-1.0, 1.0], [3.0, -3.0]])
    >>> stationary_law(rates).round(4).tolist()
    [0.75, 0.25]
    """
    graph = _edges("rates", rates)
    initial_state = check_integer("initial_state", initial_state, 0, rates.shape[0] - 1)
    reached = csgraph.breadth_first_order(graph, initial_state, return_predecessors=False)
    is_reached = np.zeros(rates.shape[0], dtype=bool)
    is_reached[reached] = True
    classes = [members for members in recurrent_classes(graph) if is_reached[members[0]]]
    if len(classes) > 1:
        raise ValueError(
            "initial_state must lead to one recurrent class, "
            f"got {len(classes)} from state {initial_state}"
        )
    members = classes[0]
    law = np.zeros(rates.shape[0])
    law[members] = _irreducible_law(graph[members][:, members])
    return law


def _irreducible_law(rates: sparse.csr_array) -> Floats:
    """Return the stationary law of an irreducible chain without diagonal."""
    size = rates.shape[0]
    if size > 1 and rates.data.min() / rates.data.max() < LEAST_RATIO:
        return _law_in_decimals(rates)
    order = np.asarray(csgraph.reverse_cuthill_mckee(rates), dtype=np.int64)
    position = np.argsort(order)
    source, target = (position[ends] for ends in rates.nonzero())
    width = int(np.abs(source - target).max(initial=0))
    if size * (2 * width + 1) > LARGEST_BAND:
        raise ValueError(
            f"rates must have at most {LARGEST_BAND} entries in a band, got {size} states and a "
            f"band of {2 * width + 1}"
        )
    band = np.zeros((size, 2 * width + 1))
    band[source, target - source + width] = rates.data
    mass = np.ones(size)
    if size > 1:
        # In the middle of the range of floats, so that products of rates stay within it; by a
        # power of two, which costs no digit.
        middle = 0.5 * np.log2([rates.data.min(), rates.data.max()]).sum()
        band = np.ldexp(band, -round(middle))
        if not (_eliminate(band, mass) and np.isfinite(mass).all()):
            raise NotConverged("rates of a class differ by a larger factor than floats can hold")
    law = np.empty(size)
    law[order] = mass / mass.sum()
    return law


def _law_in_decimals(rates: sparse.csr_array) -> Floats:
    """Do the same in decimals, whose exponents have no limit that matters."""
    size = rates.shape[0]
    if size > MOST_IN_DECIMALS:
        raise NotConverged(
            f"rates of a class of {size} states differ by a larger factor than floats can hold"
        )
    with localcontext(Context(prec=30, Emin=MIN_EMIN, Emax=MAX_EMAX)):
        rate = [[Decimal(x) for x in row] for row in rates.toarray().tolist()]
        for last in range(size - 1, 0, -1):
            leaving = sum(rate[last][:last])
            for row in rate[:last]:
                row[last] /= leaving
                for j in range(last):
                    row[j] += row[last] * rate[last][j]
        mass = [Decimal(1)]
        for state in range(1, size):
            mass.append(sum((mass[i] * rate[i][state] for i in range(state)), Decimal(0)))
        total = sum(mass)
        return np.array([float(x / total) for x in mass])


@njit
def _eliminate(band: Floats, mass: Floats) -> bool:
    """Write a multiple of the stationary law of the rates ``band[i, j - i + width]`` into `mass`.

    States are eliminated from the last on; the rates between the others become those of the
    chain watched only while it is in one of them. Returns False if a state has no transition to
    an earlier one.
    """
    size, width = band.shape[0], band.shape[1] // 2
    for last in range(size - 1, 0, -1):
        first = max(last - width, 0)
        leaving = 0.0
        for j in range(first, last):
            leaving += band[last, j - last + width]
        if not leaving > 0.0:
            return False
        for i in range(first, last):
            rate = band[i, last - i + width] / leaving
            band[i, last - i + width] = rate
            if rate > 0.0:
                for j in range(first, last):
                    band[i, j - i + width] += rate * band[last, j - last + width]
    # Powers of two stand apart: a state between two others may be too unlikely for a float.
    power = np.zeros(size, dtype=np.int64)
    mass[0] = 1.0
    for state in range(1, size):
        first = max(state - width, 0)
        top = power[first:state].max()
        total = 0.0
        for i in range(first, state):
            total += math.ldexp(mass[i], int(power[i] - top)) * band[i, state - i + width]
        mass[state], shift = math.frexp(total)
        power[state] = top + shift
    top = power.max()
    for state in range(size):
        mass[state] = math.ldexp(mass[state], int(power[state] - top))
    return True
