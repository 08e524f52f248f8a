r"""What a robot brings when it returns from a source, and the index of sending it there.

A flight takes d epochs on average. Let R(k|q) be what a robot earns that returns at age k to a
queue of q pages, and R~(k|q) the mean of R over the age and the queue on return, when it is sent at
k and q and no other robot is in flight. One source alone, visited whenever its age reaches k, earns
(R~(k|q) - b)/(k + d) an epoch if a flight costs b, and

    gamma(k|q) = R~(k|q) - (k + d) [R~(k+1|q) - R~(k|q)]

is the cost at which k and k+1 tie, the index of `analysis.joint.frozen` at d = 0.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from analysis.arrays import Floats
from analysis.ephemeral.sources import Sources
from analysis.joint.frozen import Engine
from analysis.joint.optimum import batches


class Landings(NamedTuple):
    """What a robot brings, by source, age and the queue that it finds.

    `moves` is the law of the queue afterwards, shape (N, A+1, K+1, K+1); `worth` and `lost` are the
    mean worth when indexed and the mean number of pages lost, shape (N, A+1, K+1).
    """

    moves: Floats
    worth: Floats
    lost: Floats

    @property
    def mean_pages(self) -> Floats:
        """Mean number of pages that a robot brings, by source and age."""
        places = np.arange(self.worth.shape[2])
        return self.moves[:, :, 0] @ places + self.lost[:, :, 0]

    def reward(self, page: float, loss: float) -> Floats:
        """Return what a robot earns, shape (N, A+1, K+1).

        A page that finds room is worth `page` beside its worth when indexed; one lost costs `loss`.
        """
        places = np.arange(self.worth.shape[2])
        room = self.moves @ places - places
        return self.worth + page * room - loss * self.lost


def landings_of(sources: Sources, engine: Engine, ages: int) -> Landings:
    """Return what a robot brings at ages of 0 to A epochs, freshest page first; nothing at 0."""
    age = np.arange(ages + 1.0)[None, :, None] * sources.period
    taken = np.broadcast_to(age, (1, ages + 1, len(sources)))
    moves, worth = (table[:, 0] for table in batches(sources, engine, taken))
    mean = np.outer(sources.arrival_rate, age)[:, :, None]
    places = np.arange(engine.places + 1)
    return Landings(moves, worth, np.maximum(mean - (moves @ places - places), 0.0))


def flight_index(reward: Floats, indexed_in_flight: float, epochs: float) -> Floats:
    """Return the index of a flight by source, age and queue when it begins, shape (N, A+1, K+1).

    `reward` has the same shape, by age and queue at the return; the engine indexes a page before
    that with probability `indexed_in_flight`; a flight takes d = `epochs` on average.
    """
    places = np.arange(reward.shape[2])
    # In flight the queue loses a geometric number of pages, and the age gains one of epochs.
    before, after = np.indices((places.size, places.size))
    left = np.where(after <= before, indexed_in_flight ** (before - after), 0.0)
    left[:, 1:] *= 1 - indexed_in_flight
    reward = np.einsum("iaq,pq->iap", reward, left)
    older = epochs / (1 + epochs)
    for k in range(reward.shape[1] - 2, -1, -1):
        reward[:, k] = (1 - older) * reward[:, k] + older * reward[:, k + 1]
    later = np.concatenate([reward[:, 1:], reward[:, -1:]], axis=1)
    age = np.arange(reward.shape[1])[:, None]
    index = reward - (age + epochs) * (later - reward)
    best = np.maximum.accumulate(reward, axis=1)
    return np.where(later < reward, np.minimum(index, best), index)
