"""Finite Markov chains as sparse matrices: recurrent classes and stationary laws.

A chain is given by its transition probabilities or, in continuous time, by the rates between its
states; both have the same graph, and the diagonal plays no part in what is computed here.

The stationary law is found by the elimination of Grassmann, Taksar and Heyman (1985), which never
subtracts: each probability has nearly all its digits, however small it is and however seldom the
chain passes between its parts (O'Cinneide 1993).
"""

from __future__ import annotations

import numpy as np
from numba import njit
from scipy import sparse
from scipy.sparse import csgraph

from analysis.arrays import Floats, Ints
from analysis.checks import check_array, check_integer, check_kind
from analysis.results import NotConverged

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
    kept = (entries.row != entries.col) & (rates != 0)
    if (rates[kept] < 0).any():
        raise ValueError(f"{name} must be non-negative off its diagonal, got {rates[kept].min()}")
    places = (entries.row[kept], entries.col[kept])
    return sparse.csr_array((rates[kept], places), shape=chain.shape)


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
        If the probability of a path between states is too small for a float.

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
    inside = np.zeros(rates.shape[0], dtype=bool)
    inside[reached] = True
    classes = [members for members in recurrent_classes(graph) if inside[members[0]]]
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
    order = np.asarray(csgraph.reverse_cuthill_mckee(rates), dtype=np.int64)
    place = np.argsort(order)
    source, target = (place[ends] for ends in rates.nonzero())
    width = int(np.abs(source - target).max(initial=0))
    if size * (2 * width + 1) > LARGEST_BAND:
        raise ValueError(
            f"rates must have at most {LARGEST_BAND} entries in a band, got {size} states and a "
            f"band of {2 * width + 1}"
        )
    band = np.zeros((size, 2 * width + 1))
    band[source, target - source + width] = rates.data
    mass = np.empty(size)
    if not (_eliminate(band, mass) and np.isfinite(mass).all()):
        raise NotConverged("rates between states differ by a larger factor than floats can hold")
    law = np.empty(size)
    law[order] = mass / mass.sum()
    return law


@njit(cache=True)
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
    mass[:] = 0.0
    mass[0] = 1.0
    for state in range(1, size):
        for i in range(max(state - width, 0), state):
            mass[state] += mass[i] * band[i, state - i + width]
        if mass[state] > 1e100:
            mass[: state + 1] /= mass[state]
    return True
