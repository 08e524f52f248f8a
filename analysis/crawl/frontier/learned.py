"""The estimates of a policy as bytes, for the state of a crawl."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analysis.crawl.frontier.state import CrawlState
from analysis.ephemeral.policies import Policy

Arrays = dict[str, NDArray[Any]]


def learned_bytes(policy: Policy, size: int) -> tuple[str, list[bytes], bytes]:
    """Return the layout of the estimates of a policy, those of each of `size` sources, the others.

    Raises ValueError if the policy learns but cannot be saved.
    """
    each, whole = _arrays(policy, size)
    rows = [b"".join(array[i].tobytes() for array in each.values()) for i in range(size)]
    return _layout(each, whole), rows, b"".join(array.tobytes() for array in whole.values())


def _layout(each: Arrays, whole: Arrays) -> str:
    """Describe arrays by name, type and shape, those of `each` source without their first axis."""
    return json.dumps(
        {
            "each": [[name, array.dtype.str, array.shape[1:]] for name, array in each.items()],
            "whole": [[name, array.dtype.str, array.shape] for name, array in whole.items()],
        }
    )


def restore_policy(policy: Policy, size: int, state: CrawlState, number: Mapping[str, int]) -> None:
    """Restore the estimates of a policy; those of new sources keep their initial values.

    `number` is the number of each source, by name. The state may be one of an earlier version,
    without the policy's ``NEW_ARRAYS``. Raises ValueError if it is that of another policy.
    """
    each, whole = _arrays(policy, size)
    new = getattr(policy, "NEW_ARRAYS", ())
    older = {name: array for name, array in each.items() if name not in new}
    layouts = {_layout(each, whole), _layout(older, whole)}
    formats = {sum(array[0].nbytes for array in some.values()): some for some in (older, each)}
    sources = ((name, state.sources[name].learned) for name in number if name in state.sources)
    known = {name: learned for name, learned in sources if learned}  # else nothing is known of it
    total = sum(array.nbytes for array in whole.values())
    kind = type(policy).__name__
    if state.policy != kind:
        raise ValueError(f"state must be that of a {kind}, got one of {state.policy}")
    if (
        state.layout not in layouts
        or {len(content) for content in known.values()} - set(formats)
        or len(state.learned) != total
    ):
        raise ValueError(
            f"state must have the arrays {_layout(each, whole)} of a {kind}, got {state.layout}"
        )
    _fill(list(whole.values()), state.learned)
    for name, content in known.items():
        arrays = formats[len(content)].values()
        _fill([array[number[name] : number[name] + 1] for array in arrays], content)
    if each or whole:
        policy.restore(each | whole)  # type: ignore[attr-defined]


def _fill(arrays: list[NDArray[Any]], content: bytes) -> None:
    """Fill arrays one after the other with bytes."""
    place = 0
    for array in arrays:
        part = content[place : place + array.nbytes]
        array[...] = np.frombuffer(part, dtype=array.dtype).reshape(array.shape)
        place += array.nbytes


def _arrays(policy: Policy, size: int) -> tuple[Arrays, Arrays]:
    """Return the arrays of a policy that have a row for each source, and the others."""
    if hasattr(policy, "state"):
        arrays = {name: np.array(array) for name, array in sorted(policy.state().items())}
        each = {n: a for n, a in arrays.items() if a.ndim and len(a) == size}
        return each, {n: a for n, a in arrays.items() if n not in each}
    if hasattr(policy, "update") or hasattr(policy, "observe"):
        raise ValueError(
            f"policy must have state() and restore() to survive a restart, "
            f"as a {type(policy).__name__} that learns has not"
        )
    return {}, {}
