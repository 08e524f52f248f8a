"""A sweep against the loop that it stands for, on grids made to break it."""

import numpy as np

from analysis.sweep import sweep


def draw(point, rng):
    return point, rng.random()


def loops():
    """Each call has the stream of its place, whatever else is asked for."""
    for points, replications, seed in (([], 3, 0), ([1], 1, 2**100), ([1, 1, 1], 4, 7)):
        for common in (False, True):
            found = sweep(
                draw, points, seed=seed, replications=replications, jobs=1, progress=False,
                common_random_numbers=common,
            )  # fmt: skip
            assert found == [
                [
                    draw(point, np.random.default_rng(np.random.SeedSequence(
                        seed, spawn_key=(r,) if common else (p, r)
                    )))
                    for r in range(replications)
                ]
                for p, point in enumerate(points)
            ]  # fmt: skip


FAMILIES = {"sweep": {"no points, one, equal ones, long seeds": loops}}
NOT_COMPUTED = {"WorkerLost": "an error"}
