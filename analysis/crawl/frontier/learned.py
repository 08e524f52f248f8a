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
    per_source, shared = _arrays(policy, size)
    rows = [b"".join(array[i].tobytes() for array in per_source.values()) for i in range(size)]
    return _layout(per_source, shared), rows, b"".join(array.tobytes() for array in shared.values())


def _layout(per_source: Arrays, shared: Arrays) -> str:
    """Describe arrays by name, type and shape, those of `each` source without their first axis."""
    return json.dumps(
        {
            "each": [
                [name, array.dtype.str, array.shape[1:]] for name, array in per_source.items()
            ],
            "whole": [[name, array.dtype.str, array.shape] for name, array in shared.items()],
        }
    )


def restore_policy(policy: Policy, size: int, state: CrawlState, number: Mapping[str, int]) -> None:
    """Restore the estimates of a policy; those of new sources keep their initial values.

    `number` is the number of each source, by name. The state may be one of an earlier version,
    without the policy's ``NEW_ARRAYS``. Raises ValueError if it is that of another policy.
    """
    per_source, shared = _arrays(policy, size)
    new = getattr(policy, "NEW_ARRAYS", ())
    older = {name: array for name, array in per_source.items() if name not in new}
    layouts = {_layout(per_source, shared), _layout(older, shared)}
    formats = {
        sum(array[0].nbytes for array in columns.values()): columns
        for columns in (older, per_source)
    }
    sources = ((name, state.sources[name].learned) for name in number if name in state.sources)
    # Of a source without an estimate nothing is known.
    contents = {name: learned for name, learned in sources if learned}
    total = sum(array.nbytes for array in shared.values())
    kind = type(policy).__name__
    if state.policy != kind:
        raise ValueError(f"state must be that of a {kind}, got one of {state.policy}")
    if (
        state.layout not in layouts
        or {len(content) for content in contents.values()} - set(formats)
        or len(state.learned) != total
    ):
        raise ValueError(
            f"state must have the arrays {_layout(per_source, shared)} of a {kind}, "
            f"got {state.layout}"
        )
    _fill(list(shared.values()), state.learned)
    for name, content in contents.items():
        arrays = formats[len(content)].values()
        _fill([array[number[name] : number[name] + 1] for array in arrays], content)
    if per_source or shared:
        policy.restore(per_source | shared)  # type: ignore[attr-defined]


def _fill(arrays: list[NDArray[Any]], content: bytes) -> None:
    """Fill arrays one after the other with bytes."""
    start = 0
    for array in arrays:
        piece = content[start : start + array.nbytes]
        array[...] = np.frombuffer(piece, dtype=array.dtype).reshape(array.shape)
        start += array.nbytes


def _arrays(policy: Policy, size: int) -> tuple[Arrays, Arrays]:
    """Return the arrays of a policy that have a row for each source, and the others."""
    if hasattr(policy, "state"):
        arrays = {name: np.array(array) for name, array in sorted(policy.state().items())}
        per_source = {n: a for n, a in arrays.items() if a.ndim and len(a) == size}
        return per_source, {n: a for n, a in arrays.items() if n not in per_source}
    if hasattr(policy, "update") or hasattr(policy, "observe"):
        raise ValueError(
            f"policy must have state() and restore() to survive a restart, "
            f"as a {type(policy).__name__} that learns has not"
        )
    return {}, {}
