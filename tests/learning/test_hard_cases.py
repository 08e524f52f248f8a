import numpy as np
import pytest

from analysis.ephemeral import Sources, relaxed_bound
from analysis.learning.certainty_equivalence import CertaintyEquivalence
from analysis.learning.environment import play
from analysis.learning.hard_cases import (
    CASES,
    INFORMED,
    LEARNERS,
    HardCase,
    _play,
    hard_case,
    horizon_bound,
    regret_row,
    regrets,
)


def constant(horizon):
    rate, utility, decay = np.array([[5.0, 2.0, 0.3], [1.0, 0.5, 9.0], [0.5, 0.2, 0.1]])
    return HardCase(np.repeat(rate[:, None], horizon, axis=1), utility, decay)


def best_by_search(case, budget):
    """Every schedule of one crawl an epoch, by brute force."""
    size, horizon = case.arrival_rate.shape
    best = 0.0
    for code in range(size**horizon):
        held, earned = np.zeros(size), 0.0
        for epoch in range(horizon):
            code, arm = divmod(code, size)
            earned += held[arm]
            held[arm] = 0.0
            held = np.exp(-case.decay) * held + case.mean[:, epoch]
        best = max(best, earned)
    return best


@pytest.mark.parametrize("name", CASES)
def test_bound_is_above_best_schedule(name):
    case = hard_case(name, 2, 9, np.random.default_rng(3))
    optimum = best_by_search(case, 1)
    assert optimum <= horizon_bound(case, 1) * (1 + 1e-12)


def test_constant_rates_give_stationary_bound():
    bounds = [horizon_bound(constant(horizon), 1) for horizon in (1000, 2000)]
    stationary = Sources(constant(1).arrival_rate[:, 0], constant(1).mean_utility, [0.5, 0.2, 0.1])
    assert bounds[1] - bounds[0] == pytest.approx(1000 * relaxed_bound(stationary, 1)[0], rel=1e-3)
    assert bounds[0] / 1000 == pytest.approx(relaxed_bound(stationary, 1)[0], rel=0.02)


def test_content_has_stated_mean():
    case = constant(40_000)
    content = case.sample(np.random.default_rng(0)).worth
    spread = content.std(axis=1) / np.sqrt(40_000)
    assert (np.abs(content.mean(axis=1) - case.mean[:, 0]) < 4 * spread).all()
    sources = Sources(case.arrival_rate[:, 0], case.mean_utility, case.decay)
    np.testing.assert_allclose(case.mean[:, 0], sources.u, rtol=1e-12)


@pytest.mark.parametrize("name", ["UCB", "items"])
def test_compiled_loop_equals_plain(name):
    case = constant(300)
    drawn = case.sample(np.random.default_rng(1))
    content = drawn if name == "items" else drawn.worth
    aged = drawn.aged if name == "items" else np.full(drawn.aged.shape, np.nan)
    sources = Sources(case.arrival_rate[:, 0], case.mean_utility, case.decay)
    slow, fast = (CertaintyEquivalence(3, LEARNERS[name]) for _ in range(2))
    plain = play(sources, slow, content, 1, np.random.default_rng(0), initial_state="empty")
    streams = (np.ascontiguousarray(array.T) for array in (drawn.worth, aged, case.mean))
    total = _play(
        fast._model, fast._state, np.exp(-case.decay), *streams, 1, np.random.default_rng(0)
    )
    assert total == pytest.approx(plain.expected.sum(), rel=1e-9)


@pytest.mark.parametrize("name", CASES)
def test_runs_stay_below_bound(name):
    rows = [regret_row((name, 6, 1, 300), np.random.default_rng(seed)) for seed in range(3)]
    assert {*LEARNERS, INFORMED} == set(rows[0])
    assert min(min(row.values()) for row in rows) > 0.0
    assert all(np.mean([row[k] - row[INFORMED] for row in rows]) > 0 for k in LEARNERS)


def test_rates_change_as_stated():
    rng = np.random.default_rng(0)
    changing = {name: np.ptp(hard_case(name, 8, 400, rng).arrival_rate, axis=1) for name in CASES}
    assert (changing["drifting"] > 0).all()
    assert (changing["born and dying"] > 0).mean() > 0.5
    assert max(changing["empty start"].max(), changing["sparse and heavy"].max()) == 0
    rare = hard_case("sparse and heavy", 8, 2, rng).arrival_rate[1::2]
    assert ((rare >= 0.05) & (rare <= 1)).all()


def test_table_is_complete():
    settings = {"size": 4, "budget": 1, "horizon": 200, "replications": 3, "seed": 0}
    table = regrets(**settings)
    assert len(table) == len(CASES) * (len(LEARNERS) + 1)
    assert ((table.low <= table.regret) & (table.regret <= table.high)).all()
    assert regrets(**settings, limit=1.0).holds.all()
    assert not regrets(**settings, limit=-1.0).holds.any()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda rng: hard_case("easy", 4, 10, rng), "case"),
        (lambda rng: hard_case("drifting", 1, 10, rng), "size"),
        (lambda rng: hard_case("drifting", 4, 1, rng), "horizon"),
        (lambda rng: horizon_bound(constant(5), 4), "budget"),
    ],
)
def test_wrong_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call(np.random.default_rng(0))
