"""Value iteration on a joint problem, compiled.

Joint states are numbered with the last arm's state running fastest. `active` says for each action
which arms it activates, `kernels` (arms, K, K) and `resets` (arms, K) hold P and Q of every arm,
`costs` (actions, joint states) what an epoch costs, normalised, and `places` which entry of its
action's expectations a joint state looks up: that of the states of its passive arms.

Source: the restart slides (2019), slides 5 and 6.
"""

from __future__ import annotations

import numpy as np

from analysis.kernel_cache import njit


@njit
def mark_highest(joint, active, lower_arms, allowed):  # type: ignore[no-untyped-def]
    """Mark the actions whose active arms all score at least as high as the passive ones.

    Of the actions that tie, the first in lexicographic order has the lower arms.
    """
    states = joint.shape[1]
    open_yet = np.ones(states, dtype=np.bool_)
    for number in range(active.shape[0]):
        least_active, most_passive = np.full(states, np.inf), np.full(states, -np.inf)
        for n in range(joint.shape[0]):
            for state in range(states):
                if active[number, n]:
                    least_active[state] = min(least_active[state], joint[n, state])
                else:
                    most_passive[state] = max(most_passive[state], joint[n, state])
        for state in range(states):
            highest = least_active[state] >= most_passive[state]
            allowed[number, state] = highest and open_yet[state]
            if highest and lower_arms:
                open_yet[state] = False


@njit
def value_iteration(  # type: ignore[no-untyped-def]
    values, policy, shape, kernels, resets, active, places, costs, discount, allowed, worst, ends,
    tolerance, limit,
):  # fmt: skip
    """Iterate in place; return the sweeps, the bounds' half-width and whether it is small enough.

    No expectation depends on any but the states `ends`; the others are done in the last sweep.
    """
    sign = -1.0 if worst else 1.0
    room = 0
    for number in range(active.shape[0]):
        room = max(room, places[number, values.size - 1] + 1)
    expected = np.empty((active.shape[0], room))
    looked_up = expected.ravel()
    first, at, cost = _choices(allowed, places, costs, ends, expected.shape[1])
    factor = discount / (1.0 - discount)
    for sweep in range(limit):  # noqa: B007
        _expect(values, shape, kernels, resets, active, expected)
        low, high, largest = np.inf, -np.inf, 1e-300
        for k in range(ends.size):
            least = np.inf
            for i in range(first[k], first[k + 1]):
                to_go = sign * (cost[i] + discount * looked_up[at[i]])
                least = to_go if to_go < least else least
            change = sign * least - values[ends[k]]
            if change < low:
                low = change
            if change > high:
                high = change
            if abs(least) > largest:
                largest = abs(least)
            values[ends[k]] = sign * least
        converged = factor * (high - low) <= 2.0 * tolerance * largest
        if converged:
            break
    for state in ends:
        values[state] += factor * (low + high) / 2.0
    _expect(values, shape, kernels, resets, active, expected)
    for state in range(values.size):
        least = np.inf
        for number in range(active.shape[0]):
            if allowed[number, state]:
                place = places[number, state]
                to_go = sign * (costs[number, state] + discount * expected[number, place])
                if to_go < least:
                    least, policy[state] = to_go, number
        values[state] = sign * least
    return sweep + 1, factor * (high - low) / 2.0, converged


@njit
def _choices(allowed, places, costs, states, room):  # type: ignore[no-untyped-def]
    """List what the states may choose, one state after another: first, place and cost.

    State k has the choices from first[k] to first[k + 1]; each action's places take up `room`.
    """
    first, total = np.zeros(states.size + 1, dtype=np.int64), 0
    most = allowed.shape[0] * states.size
    place, cost = np.empty(most, dtype=np.int64), np.empty(most)
    for k in range(states.size):
        for number in range(allowed.shape[0]):
            if allowed[number, states[k]]:
                place[total] = number * room + places[number, states[k]]
                cost[total] = costs[number, states[k]]
                total += 1
        first[k + 1] = total
    return first, place, cost


@njit
def _expect(values, shape, kernels, resets, active, expected):  # type: ignore[no-untyped-def]
    """Write E V(next) of every action, flat, the axes of active arms dropped."""
    work = np.empty((3, values.size))
    row = work[2]
    for number in range(active.shape[0]):
        source, size, turn, before = values, values.size, 0, 1
        for n in range(shape.size):
            if not active[number, n]:
                before *= shape[n]
                continue
            after = size // (before * shape[n])
            target = work[turn]
            target[: before * after] = 0.0
            for a in range(before):
                for y in range(shape[n]):
                    if resets[n, y] > 0:
                        begin = (a * shape[n] + y) * after
                        for c in range(after):
                            target[a * after + c] += resets[n, y] * source[begin + c]
            source, size, turn = target, before * after, 1 - turn
        # From here the first axis is taken off and put back last, so that sums run along rows.
        for n in range(shape.size):
            if active[number, n]:
                continue
            states = shape[n]
            rest = size // states
            target = work[turn]
            for x in range(states):
                row[:rest] = 0.0
                for y in range(states):
                    if kernels[n, x, y] > 0:
                        for c in range(rest):
                            row[c] += kernels[n, x, y] * source[y * rest + c]
                for c in range(rest):
                    target[c * states + x] = row[c]
            source, turn = target, 1 - turn
        expected[number, :size] = source[:size]
