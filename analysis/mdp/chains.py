"""Finite Markov chains as sparse matrices: recurrent classes and stationary laws.

A chain is given by its transition probabilities or, in continuous time, by the rates between its
states; both have the same graph, and the diagonal plays no part in what is computed here.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph
from scipy.sparse.linalg import splu

from analysis.checks import check_integer, check_kind

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def recurrent_classes(chain: sparse.csr_array) -> list[Ints]:
    """Return the states of each recurrent class of a chain, in rising order.

    Parameters
    ----------
    chain : sparse array, shape (states, states)
        Transition probabilities, or rates.

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
    """Return a copy without stored zeros, which SciPy's graph routines take for edges."""
    check_kind(name, chain, np.ndarray, sparse.sparray, sparse.spmatrix)
    if chain.ndim != 2 or chain.shape[0] != chain.shape[1] or not chain.shape[0]:
        raise ValueError(f"{name} must be a square matrix of one state or more, got {chain.shape}")
    graph = sparse.csr_array(chain, copy=True)
    graph.eliminate_zeros()
    return graph


def stationary_law(rates: sparse.csr_array, initial_state: int = 0) -> Floats:
    """Return the long-run law of a chain in continuous time.

    Parameters
    ----------
    rates : sparse array, shape (states, states)
        Rates between the states; the diagonal is ignored. For a chain in discrete time, its
        transition probabilities serve as well.
    initial_state : int
        A state; of several recurrent classes the one that it can reach is taken, and where it can
        reach more than one ValueError is raised.

    Returns
    -------
    ndarray, shape (states,)
        Stationary probabilities.

    Examples
    --------
    >>> from scipy import sparse
    >>> rates = sparse.csr_array([[-1.0, 1.0], [3.0, -3.0]])
    >>> stationary_law(rates).round(4).tolist()
    [0.75, 0.25]
    """
    graph = _edges("rates", rates)
    check_integer("initial_state", initial_state, 0, rates.shape[0] - 1)
    reached = csgraph.breadth_first_order(graph, initial_state, return_predecessors=False)
    inside = np.zeros(rates.shape[0], dtype=bool)
    inside[reached] = True
    classes = [members for members in recurrent_classes(rates) if inside[members[0]]]
    if len(classes) > 1:
        raise ValueError(
            "initial_state must lead to one recurrent class, "
            f"got {len(classes)} from state {initial_state}"
        )
    members = classes[0]
    law = np.zeros(rates.shape[0])
    law[members] = _irreducible_law(rates[members][:, members])
    return law


def _irreducible_law(rates: sparse.csr_array) -> Floats:
    """Return the stationary law of an irreducible chain: fix one state at 1, solve for the rest."""
    size = rates.shape[0]
    if size == 1:
        return np.ones(1)
    off = rates - sparse.diags_array(rates.diagonal())
    balance = sparse.csc_array(off.T - sparse.diags_array(off.sum(axis=1)))
    # A much visited state is the well-conditioned one to fix: a few lazy steps find it.
    step = sparse.csr_array(balance / (2.0 * float(off.sum(axis=1).max())))
    mass = np.full(size, 1.0 / size)
    for _ in range(64):
        mass = mass + step @ mass
    anchor = int(mass.argmax())
    others = np.delete(np.arange(size), anchor)
    law = np.ones(size)
    inner = splu(sparse.csc_matrix(balance[others][:, others]))
    law[others] = inner.solve(-balance[others][:, [anchor]].toarray().ravel())
    law = np.maximum(law, 0.0)
    return law / law.sum()
