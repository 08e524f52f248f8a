import numpy as np
import pytest

from analysis.ephemeral import Utility, four_sources
from analysis.ephemeral.instances import random_sources
from analysis.learning import compare_learners
from analysis.learning.studies.learners import side_by_side

SOURCES = four_sources()


@pytest.mark.parametrize("budget", [1, 2])
def test_every_learner_plays(budget):
    made = side_by_side(SOURCES, budget)
    assert len(made) == 8
    curves = compare_learners(
        SOURCES,
        made,
        budget,
        horizon=300,
        replications=2,
        seed=1,
        utility=Utility("deterministic"),
    )
    assert all((c.engaged == budget).all() and not c.diverged for c in curves.values())
    assert curves["certainty equivalence, UCB"].loss.value < curves["joint Q-learning"].loss.value


def test_many_sources_leave_out_what_does_not_fit():
    many = random_sources(20, np.random.default_rng(1))
    made = side_by_side(many, 3)
    assert "joint Q-learning" not in made
    scheme = made["LSPE(0), corrected"]()
    assert (scheme.options.threshold, scheme.options.features) == ("constant", "linear")
    curves = compare_learners(many, made, 3, horizon=200, replications=2, seed=1)
    assert all((c.engaged == 3).all() for c in curves.values())


def test_wrong_input_is_named():
    with pytest.raises(ValueError, match=r"budget must be an integer in \[1, 4\], got 5"):
        side_by_side(SOURCES, 5)
