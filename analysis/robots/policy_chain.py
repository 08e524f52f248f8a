"""The chain of a policy of the controlled queue: its classes, and exact evaluation by censoring.

States are post-decision pairs (q, r), q pages in the queue and r active robots between events, with
the number q (N + 1) + r.  Under a policy each has at most two successors, one after a departure and
one after an arrival.  One pass of Tarjan's algorithm (1972) finds the recurrent classes, and costs
solve

    (mu 1(q>0) + lambda r) V(q,r) = gamma 1(q=0) + lambda r 1(q=K) - theta
                                    + mu 1(q>0) V(departure) + lambda r V(arrival).

Below a switching curve the chain drifts towards more robots, above it towards fewer, so that the
states can be put in an order in which nearly every successor comes before its predecessor: first
the states where an arriving robot is stopped, by rising q + r, then the others, by falling q + r.
The few successors that come later form the *cut*.  Any policy has such an order; for a switching
curve the cut is about as long as the curve.

One sweep in that order writes every value as an expectation over the state in which the cut is next
entered (weights that are probabilities, so nothing cancels), which leaves a dense system on the
cut: the chain censored there (Kemeny, Snell and Knapp 1976, section 6.1; Meyer 1989).

That chain is solved without subtractions: its states are eliminated one by one (Grassmann, Taksar
and Heyman 1985).  A state k that is left out hands its visits on, P_ij becoming
P_ij + P_ik P_kj / (1 - P_kk), where 1 - P_kk is the sum of the other probabilities of row k; costs
and times are handed on as well.  A censored chain is narrow along its diagonal, and is eliminated
from both ends towards a much visited state; what remains there is one renewal cycle.

The kernels are written as loops over elements.  With whole slices in the place of the loops Numba
takes three times as long to compile them, since it compiles the messages about shapes that do not
fit along with each.
"""

from __future__ import annotations

import numpy as np

from analysis.arrays import Bools, Floats, Ints
from analysis.kernel_cache import njit

# Successors of states, recurrent classes, and how to lead all states into one


@njit
def successors(after_departure: Bools, after_arrival: Bools) -> tuple[Ints, Ints]:
    """Return each state's successor after a departure and after an arrival, -1 for none.

    State (q, r) has number q (N + 1) + r.  A loss that leaves the state as it was is no event.
    """
    levels, width = after_departure.shape
    top = width - 1
    departure = np.full(levels * width, -1, dtype=np.int64)
    arrival = np.full(levels * width, -1, dtype=np.int64)
    for q in range(levels):
        for r in range(width):
            state = q * width + r
            if q > 0:
                up = 1 if r < top and after_departure[q - 1, r] else 0
                departure[state] = (q - 1) * width + r + up
            if r > 0:
                above = min(q + 1, levels - 1)
                up = 1 if after_arrival[above, r - 1] else 0
                target = above * width + r - 1 + up
                if target != state:
                    arrival[state] = target
    return departure, arrival


@njit
def recurrent_class(departure: Ints, arrival: Ints) -> Ints:
    """Return the number of each state's recurrent class, -1 for transient states and (0, 0).

    `departure` and `arrival` hold the successors, -1 for none, as `successors` gives them.
    """
    states = departure.size
    class_of = np.full(states, -1, dtype=np.int64)
    order = np.full(states, -1, dtype=np.int64)
    low = np.empty(states, dtype=np.int64)
    component = np.full(states, -1, dtype=np.int64)
    edge = np.zeros(states, dtype=np.int64)
    path, stack = np.empty(states, dtype=np.int64), np.empty(states, dtype=np.int64)
    visit_count, height, components, classes = 0, 0, 0, 0
    for root in range(1, states):
        if order[root] >= 0:
            continue
        depth = 0
        path[0] = root
        while depth >= 0:
            state = path[depth]
            if edge[state] == 0:
                order[state], low[state] = visit_count, visit_count
                visit_count += 1
                stack[height] = state
                height += 1
            if edge[state] < 2:
                target = departure[state] if edge[state] == 0 else arrival[state]
                edge[state] += 1
                if target >= 0 and order[target] < 0:
                    depth += 1
                    path[depth] = target
                elif target >= 0 and component[target] < 0:
                    low[state] = min(low[state], order[target])
                continue
            depth -= 1
            if depth >= 0:
                low[path[depth]] = min(low[path[depth]], low[state])
            if low[state] < order[state]:
                continue
            first = height - 1
            while stack[first] != state:
                first -= 1
            closed = True
            for position in range(first, height):
                component[stack[position]] = components
            for position in range(first, height):
                member = stack[position]
                for target in (departure[member], arrival[member]):
                    closed = closed and (target < 0 or component[target] == components)
            if closed:
                for position in range(first, height):
                    class_of[stack[position]] = classes
                classes += 1
            components += 1
            height = first
    return class_of


def lead_to(policy: Bools, members: Bools) -> Bools:
    """Return `policy`, changed where it never leads to the flat set `members`, so that it does.

    Only decisions change that no state uses which already leads there: both tables of successors
    go through the same decision (q, r), so that none of the changes undoes another.
    """
    levels, width = policy.shape
    q, r = np.divmod(np.arange(policy.size), width)
    down = np.where(q > 0, (q - 1) * width + r, -1)  # the decision after a departure
    up = np.where(r > 0, np.minimum(q + 1, levels - 1) * width + r - 1, -1)  # after an arrival
    table = policy.ravel().copy()
    leading = members.copy()
    while True:
        lands = np.where(table, np.roll(leading, -1), leading)  # where a decision leads
        grown = leading | ((down >= 0) & lands[down]) | ((up >= 0) & lands[up])
        grown[0] = False
        if (grown == leading).all():
            with_other_action = np.where(table, leading, np.roll(leading, -1))
            change = ~lands & with_other_action & (r < width - 1)
            change[0] = False
            if not change.any():
                return table.reshape(policy.shape)
            table ^= change
        leading = grown


# The chain censored on the cut, and its elimination

LAZY_STEPS = 8
# A state that makes cycles so much longer than its own visits is a bad one to keep: their costs and
# times cancel in the bias.
LONG_CYCLE = 1e4


@njit
def _largest_product(factors: Floats, others: Floats) -> int:
    """Return where the product of two arrays is largest."""
    largest = 0
    for position in range(factors.size):
        if factors[position] * others[position] > factors[largest] * others[largest]:
            largest = position
    return largest


@njit
def _much_visited(chain: Floats, times: Floats, low: Ints, high: Ints) -> int:
    """Return the state with the most time after a few lazy steps from the uniform law."""
    size = times.size
    mass = np.full(size, 1.0)
    for _ in range(LAZY_STEPS):
        moved = np.empty(size)
        for name in range(size):
            moved[name] = 0.5 * mass[name]
        for name in range(size):
            window = moved[low[name] : high[name]]
            row = chain[name, low[name] : high[name]]
            half = 0.5 * mass[name]
            for column in range(row.size):
                window[column] += half * row[column]
        mass = moved
    return _largest_product(mass, times)


@njit
def _towards(
    centre: int, table: Floats, costs: Floats, times: Floats, low: Ints, high: Ints, order: Ints
) -> int:
    """Eliminate all states but `centre` in place; return -1, or a state with no way to it."""
    size = times.size
    # The states left are first..last; each step leaves out one of the two ends.
    first, last = 0, size - 1
    for step in range(size - 1):
        upward = first < centre
        state = first if upward else last
        first, last = (first + 1, last) if upward else (first, last - 1)
        order[step] = state
        start, stop = max(low[state], first), min(high[state], last + 1)
        row = table[state, start:stop]
        outflow = 0.0
        for column in range(row.size):
            outflow += row[column]
        if not outflow > 0.0:
            return state
        for column in range(row.size):
            row[column] /= outflow
        costs[state] /= outflow
        times[state] /= outflow
        for predecessor in range(first, last + 1):
            share = table[predecessor, state]
            if share == 0.0:
                continue
            costs[predecessor] += share * costs[state]
            times[predecessor] += share * times[state]
            target = table[predecessor, start:stop]
            for column in range(row.size):
                target[column] += share * row[column]
            low[predecessor], high[predecessor] = (
                min(low[predecessor], start),
                max(high[predecessor], stop),
            )
            table[predecessor, state] = share / outflow
    order[size - 1] = centre
    return -1


@njit
def _visits(order: Ints, table: Floats) -> Floats:
    """Return the expected visits to each state between two visits to the one that stayed."""
    size = order.size
    visits = np.zeros(size)
    visits[order[-1]] = 1.0
    remaining = order[-1], order[-1] + 1
    for step in range(size - 2, -1, -1):
        state = order[step]
        total = 0.0
        for predecessor in range(remaining[0], remaining[1]):
            total += visits[predecessor] * table[predecessor, state]
        visits[state] = total
        remaining = min(remaining[0], state), max(remaining[1], state + 1)
    return visits


@njit
def eliminate(chain: Floats, costs: Floats, times: Floats) -> tuple[Ints, Floats, Floats, Floats]:
    """Eliminate all states but one from a copy of the chain; return their order and what is left.

    The order ends with the state that stayed.  Row k of the table, shape (size, size), has the
    probabilities with which k, when it was left out, led on to the states left; column k those with
    which the states left led to k, over 1 - P_kk.  Costs and times are those expected from each
    state until one that was left at that moment.  Raises ValueError if there are several recurrent
    classes.
    """
    size = times.size
    low = np.zeros(size, dtype=np.int64)
    high = np.full(size, size, dtype=np.int64)
    for name in range(size):
        while low[name] < size and chain[name, low[name]] == 0.0:
            low[name] += 1
        while high[name] > 0 and chain[name, high[name] - 1] == 0.0:
            high[name] -= 1
    order = np.empty(size, dtype=np.int64)
    centre = _much_visited(chain, times, low, high)
    transient = 0
    for attempt in range(3):
        table, on_costs, on_times = chain.copy(), costs.copy(), times.copy()
        closed = _towards(centre, table, on_costs, on_times, low.copy(), high.copy(), order)
        if closed >= 0:
            transient += 1
            if transient == 2:
                break
            centre = closed
        elif attempt == 2 or on_times[centre] < LONG_CYCLE * times[centre]:
            return order, table, on_costs, on_times
        else:
            centre = _largest_product(_visits(order, table), times)
    raise ValueError("chain must have one recurrent class, got several")


@njit
def cycle_values(
    chain: Floats, costs: Floats, times: Floats
) -> tuple[float, tuple[Floats, Floats, Floats]]:
    """Return the gain, and expected cost, time and cost above the gain until one state is entered.

    The gain is the cost over the time of one cycle.  Costs and times are not negative, so that each
    keeps its relative accuracy; what they cost above the gain, cost - gain * time, is the bias, and
    is summed apart, since where most states cost the same its terms are much smaller than theirs.
    """
    order, table, cost, time = eliminate(chain, costs, times)
    gain = cost[order[-1]] / time[order[-1]]
    cost[order[-1]], time[order[-1]] = 0.0, 0.0
    bias = np.empty(cost.size)
    for name in range(cost.size):
        bias[name] = cost[name] - gain * time[name]
    remaining = order[-1], order[-1] + 1
    for step in range(cost.size - 2, -1, -1):
        state = order[step]
        row = table[state, remaining[0] : remaining[1]]
        ahead, later = cost[remaining[0] : remaining[1]], time[remaining[0] : remaining[1]]
        above = bias[remaining[0] : remaining[1]]
        for column in range(row.size):
            cost[state] += row[column] * ahead[column]
            time[state] += row[column] * later[column]
            bias[state] += row[column] * above[column]
        remaining = min(remaining[0], state), max(remaining[1], state + 1)
    return gain, (cost, time, bias)


def cycle_visits(chain: Floats, times: Floats) -> Floats:
    """Return the expected visits to each state in one cycle, 1 for the state that stays."""
    order, table, _, _ = eliminate(chain, times, times)
    visits: Floats = _visits(order, table)
    return visits


# Weights at the ends of a row that no double-precision sum with 1 can feel.
NEGLIGIBLE = 1e-20


@njit
def cut_and_order(after_arrival: Bools, departure: Ints, arrival: Ints) -> tuple[Ints, Ints]:
    """Return the order of computation, and each state's number in the cut (-1 outside).

    State (0, 0) is left out: the model never enters it.
    """
    levels, width = after_arrival.shape
    states = levels * width
    stopping = np.zeros(states, dtype=np.bool_)
    for q in range(levels):
        for r in range(1, width):
            stopping[q * width + r] = not after_arrival[min(q + 1, levels - 1), r - 1]
    order = np.empty(states - 1, dtype=np.int64)
    position_of = np.full(states, -1, dtype=np.int64)
    count = 0
    # First the states that stop an arriving robot, by rising q + r, then the others, by falling.
    for total in range(1, levels + width - 1):
        for q in range(min(levels - 1, total), max(-1, total - width), -1):
            state = q * width + total - q
            if stopping[state]:
                position_of[state] = count
                order[count] = state
                count += 1
    for total in range(levels + width - 2, 0, -1):
        for q in range(max(0, total - width + 1), min(levels - 1, total) + 1):
            state = q * width + total - q
            if not stopping[state]:
                position_of[state] = count
                order[count] = state
                count += 1
    cut = np.full(states, -1, dtype=np.int64)
    for position in range(count):
        for target in (departure[order[position]], arrival[order[position]]):
            if target >= 0 and position_of[target] >= position:
                cut[target] = 0
    size = 0
    for position in range(count):
        if cut[order[position]] == 0:
            cut[order[position]] = size
            size += 1
    return order, cut


@njit
def count_uses(departure: Ints, arrival: Ints, cut: Ints) -> Ints:
    """Count how often each state is a successor of states that a path from the cut may pass.

    States that no such path passes have -1.
    """
    states = cut.size
    uses = np.full(states, -1, dtype=np.int64)
    stack = np.empty(2 * states, dtype=np.int64)
    height = 0
    for state in range(states):
        if cut[state] >= 0:
            uses[state] = 0
            stack[height] = state
            height += 1
    while height:
        height -= 1
        state = stack[height]
        for target in (departure[state], arrival[state]):
            if target < 0:
                continue
            if uses[target] < 0:
                uses[target] = 0
                stack[height] = target
                height += 1
            uses[target] += 1
    return uses


@njit
def rates_out(
    state: int, departure: Ints, arrival: Ints, serving: Floats, bringing: Floats
) -> tuple[float, float]:
    """Return the rates at which a state is left by a departure and by an arrival.

    `serving` holds the departure rate for each q, `bringing` the arrival rate for each r.
    """
    q, r = divmod(state, bringing.size)
    served = serving[q] if departure[state] >= 0 else 0.0
    arrived = bringing[r] if arrival[state] >= 0 else 0.0
    return served, arrived


@njit
def cost_rate(state: int, serving: Floats, bringing: Floats, gamma: float) -> float:
    """Return the cost per unit of time spent in a state."""
    q, r = divmod(state, bringing.size)
    if q == 0:
        return gamma
    return bringing[r] if q == serving.size - 1 else 0.0


@njit
def censor(
    order: Ints, departure: Ints, arrival: Ints, cut: Ints, serving: Floats, bringing: Floats,
    gamma: float,
) -> tuple[Floats, Floats, Floats]:  # fmt: skip
    """Return the chain censored on the cut: transition matrix, costs and times between visits.

    The weights of a state are nonzero on a window of the cut only, and are kept, in a row of
    `table`, until the last state that moves there has used them.
    """
    states = cut.size
    size = 0
    for state in range(states):
        size = max(size, cut[state] + 1)
    uses = count_uses(departure, arrival, cut)
    # Rows of the table are lent: `slot` is a state's row, free[:available] are the rows not in use.
    table = np.empty((64, size))
    free = np.arange(64)
    available = 64
    slot = np.full(states, -1, dtype=np.int64)
    low = np.full(states, size, dtype=np.int64)
    high = np.zeros(states, dtype=np.int64)
    cost = np.zeros(states)
    time = np.zeros(states)
    chain = np.zeros((size, size))
    costs = np.empty(size)
    times = np.empty(size)
    for state in order:
        if uses[state] < 0:
            continue
        served, arrived = rates_out(state, departure, arrival, serving, bringing)
        total = served + arrived
        expected_cost = cost_rate(state, serving, bringing, gamma) / total
        expected_time = 1.0 / total
        # The window of the cut that the two successors lead to.
        first, last = size, 0
        for target in (departure[state], arrival[state]):
            if target < 0:
                continue
            if cut[target] >= 0:
                first, last = min(first, cut[target]), max(last, cut[target] + 1)
            else:
                first, last = min(first, low[target]), max(last, high[target])
        cut_number = cut[state]
        if cut_number < 0 and available == 0:
            rows = table.shape[0]
            longer = np.empty((2 * rows, size))
            for slot_row in range(rows):
                for column in range(size):
                    longer[slot_row, column] = table[slot_row, column]
            table = longer
            free = np.arange(rows, 3 * rows)  # the first half is free; the rest is room
            available = rows
        if cut_number < 0:
            available -= 1
            slot[state] = free[available]
            weights = table[slot[state], first:last]
            for column in range(weights.size):
                weights[column] = 0.0
        else:
            weights = chain[cut_number, first:last]
        for event in range(2):
            target = departure[state] if event == 0 else arrival[state]
            if target < 0:
                continue
            chance = (served if event == 0 else arrived) / total
            if cut[target] >= 0:
                weights[cut[target] - first] += chance
                continue
            expected_cost += chance * cost[target]
            expected_time += chance * time[target]
            target_weights = table[slot[target], low[target] : high[target]]
            overlap = weights[low[target] - first : high[target] - first]
            for column in range(target_weights.size):
                overlap[column] += chance * target_weights[column]
            uses[target] -= 1
            if uses[target] == 0:
                free[available] = slot[target]
                available += 1
        # Trim the window: tails below rounding would make all later windows long.
        start, stop = 0, last - first
        while start < stop and weights[start] < NEGLIGIBLE:
            start += 1
        while start < stop and weights[stop - 1] < NEGLIGIBLE:
            stop -= 1
        low[state], high[state] = first + start, first + stop
        cost[state], time[state] = expected_cost, expected_time
        if cut_number >= 0:
            costs[cut_number], times[cut_number] = expected_cost, expected_time
    return chain, costs, times


@njit
def extend_from_cut(
    order: Ints, departure: Ints, arrival: Ints, cut: Ints, serving: Floats, bringing: Floats,
    gamma: float, gain: float, at_cut: tuple[Floats, Floats, Floats],
) -> tuple[Floats, Floats, Floats]:  # fmt: skip
    """Return cost, time and bias of every state from those on the cut (nan at (0, 0))."""
    states = cut.size
    cost, time, bias = np.empty(states), np.empty(states), np.empty(states)
    cost[0], time[0], bias[0] = np.nan, np.nan, np.nan
    for state in range(states):
        cut_number = cut[state]
        if cut_number >= 0:
            cost[state], time[state], bias[state] = (
                at_cut[0][cut_number],
                at_cut[1][cut_number],
                at_cut[2][cut_number],
            )
    for state in order:
        if cut[state] >= 0:
            continue
        served, arrived = rates_out(state, departure, arrival, serving, bringing)
        immediate_cost = cost_rate(state, serving, bringing, gamma)
        expected_cost, expected_time, excess_cost = immediate_cost, 1.0, immediate_cost - gain
        for target, rate in ((departure[state], served), (arrival[state], arrived)):
            if rate > 0.0:
                expected_cost += rate * cost[target]
                expected_time += rate * time[target]
                excess_cost += rate * bias[target]
        total = served + arrived
        cost[state], time[state], bias[state] = (
            expected_cost / total,
            expected_time / total,
            excess_cost / total,
        )
    return cost, time, bias


def evaluate(
    after_departure: Bools, after_arrival: Bools, serving: Floats, bringing: Floats, gamma: float
) -> tuple[float, Floats, Floats, Floats]:
    """Return the gain of a policy with one recurrent class, and cost, time and bias of each state.

    Cost and time run until one much visited state is next entered; the gain and they are sums of
    terms of one sign, exact to a few units in the last place however small they are.  The bias is
    cost - gain * time, summed by itself.
    """
    departure, arrival = successors(after_departure, after_arrival)
    order, cut = cut_and_order(after_arrival, departure, arrival)
    chain, costs, times = censor(order, departure, arrival, cut, serving, bringing, gamma)
    gain, at_cut = cycle_values(chain, costs, times)
    cost, time, bias = extend_from_cut(
        order, departure, arrival, cut, serving, bringing, gamma, gain, at_cut
    )
    return gain, cost, time, bias


@njit
def _extend_visits(
    order: Ints, departure: Ints, arrival: Ints, cut: Ints, at_cut: Floats, serving: Floats,
    bringing: Floats,
) -> Floats:  # fmt: skip
    """Return the stationary law of all states from the visits to the cut."""
    visits = np.zeros(cut.size)
    law = np.zeros(cut.size)
    # Against the order of evaluation: a state's visits are complete before they are passed on.
    for position in range(order.size - 1, -1, -1):
        state = order[position]
        if cut[state] >= 0:
            visits[state] = at_cut[cut[state]]
        served, arrived = rates_out(state, departure, arrival, serving, bringing)
        law[state] = visits[state] / (served + arrived)
        for target, rate in ((departure[state], served), (arrival[state], arrived)):
            if target >= 0 and cut[target] < 0:
                visits[target] += rate * law[state]
    total = 0.0
    for state in range(law.size):
        total += law[state]
    for state in range(law.size):
        law[state] /= total
    return law


def occupancy(
    after_departure: Bools, after_arrival: Bools, serving: Floats, bringing: Floats
) -> Floats:
    """Return the stationary law of a policy with one recurrent class."""
    moves = successors(after_departure, after_arrival)
    order, cut = cut_and_order(after_arrival, *moves)
    chain, _, times = censor(order, *moves, cut, serving, bringing, 0.0)
    return _extend_visits(order, *moves, cut, cycle_visits(chain, times), serving, bringing)
