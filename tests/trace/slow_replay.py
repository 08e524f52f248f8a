"""The replay again, one epoch and one item at a time, in plain Python; shares no code with it."""

import math

import numpy as np

from analysis.ephemeral import Observation


def slow_replay(items, policy, budget, begin, horizon, period, decay, value, age, rng=None):
    """Follow a policy.

    `items` lists the publication times (seconds) of each source. Returns the reward of each epoch,
    the visited sources of each epoch, and for each source the time averages of 1{n > 0} and H(n).
    """
    size = len(items)
    waiting = [[] for _ in range(size)]
    coming = [sorted(t for t in times if t >= begin) for times in items]
    age = list(age)
    rewards, visited = [], []
    stale, harmonic = [0.0] * size, [0.0] * size
    for epoch in range(horizon):
        now = begin + epoch * period
        for i in range(size):
            while coming[i] and coming[i][0] <= now:
                waiting[i].append(coming[i].pop(0))
        observation = Observation(epoch, np.array(age), np.full(size, math.nan))
        arms = [int(a) for a in policy.select(observation, budget, rng)]
        assert len(set(arms)) == len(arms) <= budget
        found = [
            sum(value[i] * math.exp(-decay[i] * (now - t) / 3600.0) for t in waiting[i])
            for i in arms
        ]
        times = [np.array([(t - begin) / period for t in waiting[i]]) for i in arms]
        for i in arms:
            waiting[i] = []
        if hasattr(policy, "update"):
            policy.update(np.array(arms, dtype=np.int64), np.array(found))
        if hasattr(policy, "read"):
            policy.read(np.array(arms, dtype=np.int64), times)
        rewards.append(sum(found))
        visited.append(arms)
        age = [1 if i in arms else a + 1 for i, a in enumerate(age)]
        # Until the next epoch the number of waiting items steps up at each publication.
        for i in range(size):
            clock, n = now, len(waiting[i])
            for t in [*[t for t in coming[i] if t <= now + period], now + period]:
                stale[i] += (t - clock) * (n > 0)
                harmonic[i] += (t - clock) * sum(1.0 / k for k in range(1, n + 1))
                clock, n = t, n + 1
    span = horizon * period
    return rewards, visited, [s / span for s in stale], [h / span for h in harmonic]
