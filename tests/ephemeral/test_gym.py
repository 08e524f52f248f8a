"""The environment of Gymnasium, against its own checker and the project's environment."""

import numpy as np
import pytest

from analysis.ephemeral import Arrivals, Environment, Observation, Utility, four_sources
from analysis.ephemeral.policies import named_policy

gymnasium = pytest.importorskip("gymnasium")
SourcesEnv = pytest.importorskip("analysis.ephemeral.gym").SourcesEnv


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("observed", [True, False])
@pytest.mark.parametrize("budget", [1, 2, 4])
def test_gymnasium_accepts_environment(budget, observed):
    from gymnasium.utils.env_checker import check_env

    env = SourcesEnv(four_sources(), budget, horizon=20, observed=observed)
    check_env(env, skip_render_check=True)


def test_rewards_are_those_of_environment():
    sources, law = four_sources(), Utility("gamma", variation=2.0)
    env = SourcesEnv(sources, 2, horizon=50, utility=law)
    seen, _ = env.reset(seed=3)
    content = Arrivals(sources, law).sample(50, np.random.default_rng(3))
    environment = Environment(sources, content)
    policy, over = named_policy("whittle", sources), False
    while not over:
        age, state = seen[:4].astype(np.int64), seen[4:]
        np.testing.assert_array_equal(age, environment.observation.age)
        np.testing.assert_array_equal(state, environment.state)
        arms = policy.select(Observation(environment.epoch, age, state), 2, None)
        seen, reward, terminated, over, _ = env.step(arms)
        assert reward == environment.step(arms).sum()
        assert not terminated
    assert environment.epoch == 50


def test_number_that_comes_twice_is_one_crawl():
    both = []
    for action in ([1, 1], [1, 2]):
        env = SourcesEnv(four_sources(), 2, horizon=9)
        env.reset(seed=0)
        env.step([0, 3])
        seen, *_ = env.step(action)
        both.append(seen[:4].tolist())
    assert both == [[2, 1, 2, 2], [2, 1, 1, 2]]


def test_episode_that_is_over_needs_reset():
    env = SourcesEnv(four_sources(), horizon=2)
    with pytest.raises(ValueError, match="reset"):
        env.step(0)
    env.reset(seed=1)
    assert [env.step(0)[3] for _ in range(2)] == [False, True]
    with pytest.raises(ValueError, match="reset"):
        env.step(0)
    first, _ = env.reset(seed=1)
    again, _ = env.reset(seed=1)
    np.testing.assert_array_equal(first, again)


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"sources": 4}, "sources"),
        ({"budget": 0}, "budget"),
        ({"budget": 5}, "budget"),
        ({"horizon": 0}, "horizon"),
        ({"utility": "exponential"}, "utility"),
        ({"observed": 1}, "observed"),
    ],
)
def test_wrong_argument_is_named(changed, named):
    with pytest.raises(ValueError, match=named):
        SourcesEnv(**{"sources": four_sources(), **changed})


@pytest.mark.parametrize("action", [4, -1, 0.5, [0, 1], None, "a"])
def test_wrong_action_is_named(action):
    env = SourcesEnv(four_sources())
    env.reset(seed=0)
    with pytest.raises(ValueError, match="action"):
        env.step(action)
