"""Policies that break the protocol: every loop of every part refuses them by name, or is immune."""

import re

import numpy as np
import pytest

from analysis.crawl import Frontier, Outcome
from analysis.ephemeral import (
    Arrivals,
    Environment,
    LagrangianPolicy,
    Observation,
    SchedulePolicy,
    Sources,
    WhittlePolicy,
    compare,
    four_sources,
    long_run_cycle,
    relaxed_bound,
    simulate,
    simulate_random,
    timetable,
    whittle_index_at_age,
)
from analysis.ephemeral.optimum.static import RandomPolicy
from analysis.ephemeral.policies import GreedyPolicy, MyopicPolicy, RoundRobinPolicy, select_arms
from analysis.ephemeral.stochastic.simulation import compare_on, random_trajectory
from analysis.learning import (
    AgeBlindUcb,
    CompiledLearner,
    Fixed,
    ItemSums,
    compare_learners,
    mean_content,
    mean_items,
    play,
)
from analysis.learning.environment import compiled
from analysis.trace import Experiment, FrequencyPolicy, NutchAdaptive, Trace
from analysis.trace.replay import Visits, visits_at_random
from tests.ephemeral.sets import SETS

FOUR, BUDGET = four_sources(), 2
CONTENT = mean_content(FOUR, 30)
DAY = 86_400


class Says:
    """A policy, and a learner, that gives one answer at every epoch."""

    def __init__(self, answer):
        self.answer = answer

    def select(self, observation, budget, rng=None):
        return self.answer

    def update(self, arms, rewards):
        """Learn nothing."""


class Mutates:
    """The index policy, which uses all that it is handed as scratch space afterwards."""

    def __init__(self, sources):
        self.policy, self.arms = WhittlePolicy(sources), np.empty(0, int)

    def select(self, observation, budget, rng=None):
        self.arms[:] = 0  # what it returned last
        self.arms = self.policy.select(observation, budget, rng)
        for array in (observation.age, observation.state):
            if array.flags.writeable:
                array[:] = 7
        return self.arms

    def update(self, arms, rewards):
        arms[:] = 0
        for array in (rewards.worth, rewards.aged) if isinstance(rewards, ItemSums) else (rewards,):
            if array.flags.writeable:
                array[:] = 1e6

    def record_choice(self, arms):
        arms[:] = 0


def trial():
    """A record of four sources, three weeks with an item of source i every 5 + i hours."""
    times = [np.arange(0, 21 * DAY, (5 + i) * 3600) for i in range(4)]
    time, source = np.concatenate(times), np.repeat(np.arange(4), [t.size for t in times])
    order = np.argsort(time, kind="stable")
    trace = Trace(
        ("a", "b", "c", "d"), np.datetime64("2026-01-01", "s"), source[order], time[order]
    )
    periods = {"begin": 0, "split": 14 * DAY, "end": 21 * DAY}
    return Experiment(trace, **periods, half_life=24.0, budget=BUDGET, phases=1, warm_up=1)


TRIAL = trial()


def crawl(policy):
    frontier = Frontier(policy, range(4), BUDGET, rng=np.random.default_rng(0))
    chosen = []
    for _ in range(20):
        chosen.append(frontier.choose().tolist())
        for source in chosen[-1]:
            frontier.settle(Outcome(source, "found", reward=1.0))
    return chosen


def step(policy):
    environment = Environment(FOUR, CONTENT)
    earned = []
    while environment.epoch < environment.horizon:
        arms = select_arms(policy, environment.observation, BUDGET, None)
        earned.append(environment.step(arms).tolist())
    return earned


def learners(policy):
    found = compare_learners(
        FOUR, {"own": lambda: policy}, BUDGET, horizon=20, replications=2, seed=1
    )
    return found["own"].expected.tolist()


def played(content, **options):
    def loop(policy):
        run = play(FOUR, policy, content, BUDGET, np.random.default_rng(0), **options)
        return run.reward.tolist(), run.expected.tolist(), run.crawls.tolist()

    return loop


LOOPS = {
    "simulate": lambda p: simulate(FOUR, p, BUDGET, 30).crawled.tolist(),
    "simulate_random": lambda p: simulate_random(FOUR, p, BUDGET, CONTENT).reward.tolist(),
    "simulate_random, hidden": lambda p: simulate_random(
        FOUR, p, BUDGET, CONTENT, observed=False
    ).reward.tolist(),
    "random_trajectory": lambda p: random_trajectory(FOUR, p, BUDGET, CONTENT).reward.tolist(),
    "compare": lambda p: compare(Arrivals(FOUR), {"own": p}, BUDGET, 20, 2, 3).rewards["own"],
    "compare_on": lambda p: compare_on([CONTENT] * 2, FOUR, {"own": p}, BUDGET).rewards["own"],
    "long_run_cycle": lambda p: long_run_cycle(FOUR, p, BUDGET).crawls,
    "Environment.step": step,
    "play": played(CONTENT),
    "play, items": played(mean_items(FOUR, 30)),
    "play, empty": played(CONTENT, initial_state="empty"),
    "play, Fixed": lambda p: play(FOUR, Fixed(p), CONTENT, BUDGET, 0).reward.tolist(),
    "compare_learners": learners,
    "trace": lambda p: TRIAL.visits(p).arm.tolist(),
    "trace, by_age": lambda p: TRIAL.by_age(p).weeks.tolist(),
    "crawl": crawl,
}
WRONG = {
    "too many": [0, 1, 2],
    "all": np.arange(4),
    "twice the same": [0, 0],
    "the last, counted from the end": [-1],
    "no such source": np.array([4]),
    "far beyond": [2**64],
    "a mask": np.array([True, False, False, False]),
    "a mask in a list": [True, False],
    "a mask of four": [True, False, False, False],
    "a mask of objects": np.array([True, False], dtype=object),
    "a fraction": [0.5],
    "nan": [np.nan, 1.0],
    "infinite": [np.inf],
    "two axes": [[0, 1]],
    "what np.where returns": (np.array([0, 1]),),
    "no axis": 1,
    "an array without axes": np.array(1),
    "nothing at all": None,
    "texts": ["0", "1"],
    "a text": "01",
    "a set": {0, 1},
    "a mapping": {0: 1},
    "complex": [1j],
    "masked": np.ma.array([0, 1], mask=[0, 1]),
    "dates": np.array(["2026-01-01"], "datetime64[s]"),
    "spans": np.array([1], "timedelta64[s]"),
    "ragged": [[0], [1, 2]],
    "None inside": [0, None],
}
SAME = {
    "a list": [1, 3],
    "a tuple": (1, 3),
    "a range": range(1, 4, 2),
    "whole floats": [1.0, 3.0],
    "a float array": np.array([1.0, 3.0]),
    "small integers": np.array([1, 3], np.int8),
    "unsigned": np.array([1, 3], np.uint64),
    "objects": np.array([1, 3], dtype=object),
    "strided": np.array([1, 0, 3, 0])[::2],
    "read-only": np.frombuffer(np.array([1, 3]).tobytes(), np.int64),
}


each_loop = pytest.mark.parametrize("loop", LOOPS)


@each_loop
def test_wrong_answers_are_refused(loop):
    told = {}
    for name, answer in WRONG.items():
        try:
            LOOPS[loop](Says(answer))
            told[name] = "nothing"
        except ValueError as error:
            told[name] = str(error)
    kind = "Fixed" if "Fixed" in loop else "Says"
    named = rf"(policy|learner) {kind}\b"
    assert {name: said for name, said in told.items() if not re.search(named, said)} == {}
    assert "flatnonzero" in told["a mask of four"]


@each_loop
def test_answer_forms_agree(loop):
    expected = np.hstack(LOOPS[loop](Says(np.array([1, 3]))))
    found = {name: np.hstack(LOOPS[loop](Says(answer))) for name, answer in SAME.items()}
    assert [name for name in SAME if not np.array_equal(found[name], expected)] == []


@each_loop
def test_fewer_sources_are_allowed(loop):
    for answer in ([], (), np.empty(0), [2]):
        LOOPS[loop](Says(answer))


@each_loop
def test_mutation_changes_nothing(loop):
    rates = TRIAL.sources(TRIAL.trained) if "trace" in loop else FOUR

    class Honest(WhittlePolicy):
        def update(self, arms, rewards):
            """Learn nothing."""

    expected = LOOPS[loop](Honest(rates))
    assert np.array_equal(np.hstack(LOOPS[loop](Mutates(rates))), np.hstack(expected))


@pytest.mark.parametrize("loop", [loop for loop in LOOPS if loop != "compare_learners"])
def test_policies_check_their_budget(loop):
    three = np.ones((4, 2), dtype=bool)
    three[3] = False
    for policy in (SchedulePolicy(three), RandomPolicy([1.0, 1.0, 1.0, 0.0])):
        if "play" in loop:
            policy = Fixed(policy)
        with pytest.raises(ValueError, match=r"\b(policy|learner|rng)\b"):
            LOOPS[loop](policy)


@pytest.mark.parametrize("name", SETS)
def test_policies_crawl_largest_ranks(name):
    sources, rng = SETS[name], np.random.default_rng(4)
    hidden = np.full(len(sources), np.nan)
    for _ in range(20):
        age = rng.integers(1, 40, len(sources))
        content = sources.state_at_age(age)
        seen = np.where(rng.random(len(sources)) < 0.5, content, hidden)
        for policy, rank in (
            (WhittlePolicy(sources), whittle_index_at_age(sources, age)),
            (MyopicPolicy(sources), content / sources.cost),
        ):
            order = sorted(range(len(sources)), key=lambda i, r=rank: (-r[i], i))
            for budget in range(1, len(sources) + 1):
                chosen = policy.select(Observation(0, age, hidden), budget)
                assert sorted(chosen) == sorted(order[:budget])
                mixed = policy.select(Observation(0, age, seen), budget)
                waiting = np.delete(rank, mixed)
                assert rank[mixed].min() >= waiting.max(initial=0) * (1 - 1e-9)


def test_no_policy_beats_the_bound():
    bound = relaxed_bound(FOUR, 1)[0]
    assert long_run_cycle(FOUR, Says([0]), 1).average_reward <= bound
    with pytest.raises(ValueError, match="policy Says"):
        long_run_cycle(FOUR, Says([0, 1, 2, 3]), 1)


@pytest.mark.parametrize("size", [1, 3, 8])
@pytest.mark.parametrize("loop", ["simulate", "long_run_cycle", "trace", "crawl"])
def test_policies_of_other_sources_are_refused(size, loop):
    other = Sources(np.ones(size), np.ones(size), np.ones(size))
    half = np.full(size, 0.5)
    policies = [WhittlePolicy(other), MyopicPolicy(other), GreedyPolicy(other)]
    policies += [FrequencyPolicy(half), SchedulePolicy(np.eye(size, dtype=bool)[:, :1])]
    policies += [timetable(other, 1)]
    for policy in policies:
        with pytest.raises(ValueError, match=r"\b(age|state|policy)\b"):
            LOOPS[loop](policy)


def test_subclasses_select_for_themselves():
    class First(WhittlePolicy):
        def select(self, observation, budget, rng=None):
            return [0]

    class Second(RoundRobinPolicy):
        def select(self, observation, budget, rng=None):
            return [1]

    assert set(TRIAL.visits(First(FOUR)).arm) == {0}
    assert set(TRIAL.visits(Second()).arm) == {1}
    assert crawl(Second())[5] == [1]

    class Third(AgeBlindUcb, choose=AgeBlindUcb.choose, learn=AgeBlindUcb.learn):
        def select(self, observation, budget, rng=None):
            return [2]

    run = Third(4).play(FOUR, CONTENT, BUDGET, 0)
    assert run.crawls.tolist() == [0, 0, 30, 0]
    found = compare_learners(
        FOUR, {"own": lambda: Third(4)}, BUDGET, horizon=20, replications=2, seed=1
    )
    assert found["own"].crawls.tolist() == [[0, 0, 20, 0]] * 2


def test_shared_object_restarts():
    learner = AgeBlindUcb(4)
    found = compare_learners(
        FOUR, {"own": lambda: learner}, BUDGET, horizon=20, replications=2, seed=1
    )
    first, second = found["own"].expected
    assert first.tolist() == second.tolist()


def test_factory_is_required():
    with pytest.raises(ValueError, match="learners"):
        compare_learners(FOUR, {"own": AgeBlindUcb(4)}, BUDGET, horizon=20, replications=2, seed=1)


@compiled
def choose_as_told(model, state, age, budget, rng, values, arms):
    for m in range(model[0].size):
        arms[m] = model[0][m]
    return model[0].size


@compiled
def learn_nothing(model, state, arms, age, found, aged):
    return True


@pytest.mark.parametrize("answer", [[0, 1, 2], [2, 1], [1, 1], [-1], [4]])
def test_compiled_steps_keep_the_protocol(answer):
    class Told(CompiledLearner, choose=choose_as_told, learn=learn_nothing):
        """Crawls what its model holds."""

    learner = Told(4, (np.array(answer),), (np.zeros(1),))
    with pytest.raises(ValueError, match="choose"):
        learner.play(FOUR, CONTENT, BUDGET, 0)
    told = Told(4, (np.array([1, 3]),), (np.zeros(1),))
    assert told.play(FOUR, CONTENT, BUDGET, 0).crawls.tolist() == [0, 30, 0, 30]


@pytest.mark.parametrize(
    ("arms", "rewards", "name"),
    [
        ([99], [1.0], "arms"),
        ([-1], [1.0], "arms"),
        ([0, 0], [1.0, 1.0], "arms"),
        ([0, 1], [1.0], "rewards"),
        ([0], [np.nan], "rewards"),
        ([0], [-1.0], "rewards"),
    ],
)
def test_learner_refuses_wrong_updates(arms, rewards, name):
    with pytest.raises(ValueError, match=name):
        AgeBlindUcb(4).update(arms, rewards)


@pytest.mark.parametrize(
    "visits",
    [
        np.full((10, BUDGET), [0, 1]),
        np.full((336, BUDGET), [0, 9]),
        np.full((336, 4), [0, 1, 2, 3]),
        None,
    ],
)
def test_visits_of_another_trial_are_refused(visits):
    with pytest.raises(ValueError, match="visits"):
        TRIAL.outcome([(visits if visits is None else Visits(visits), *TRIAL.clock(0))])


def test_repeated_visits_are_refused():
    with pytest.raises(ValueError, match="visits"):
        Visits(np.array([[0, 1], [2, 2]]))


def test_learners_check_their_sources():
    for size in (1, 3, 8):
        with pytest.raises(ValueError, match="policy"):
            TRIAL.untrained(lambda size=size: NutchAdaptive(size))

    class Own(NutchAdaptive):
        def select(self, observation, budget, rng=None):
            return [0]

    with pytest.raises(ValueError, match="policy"):
        TRIAL.untrained(lambda: Own(4))


@pytest.mark.parametrize("frequency", [[0.6, 0.6, 0.6, 0.6], [0.5, 0.5], [1.0] * 5])
def test_random_visits_keep_the_budget(frequency):
    with pytest.raises(ValueError, match="policy"):
        TRIAL.at_random(RandomPolicy(frequency), 0)
    drawn = visits_at_random(RandomPolicy([0.5] * 4), 2, 50, 3)
    assert np.bincount(drawn.epoch).tolist() == [2] * 50


def test_index_of_a_crawl_is_checked():
    class Ranked(WhittlePolicy):
        answer = None

        def index(self, age):
            age[:] = 0
            return self.answer

    policy = Ranked(FOUR)
    frontier = Frontier(policy, range(4), 2, rng=0)
    for policy_answer in (None, [1.0], [np.nan] * 4, "index", [True] * 4):
        object.__setattr__(policy, "answer", policy_answer)
        with pytest.raises(ValueError, match="index of policy Ranked"):
            frontier.offers(2)
    object.__setattr__(policy, "answer", [4.0, np.inf, 2.0, 1.0])
    assert np.inf in frontier.offers(4)
    assert frontier.age.tolist() == [1] * 4


def test_timetable_on_slow_host():
    table = timetable(FOUR, 2)
    frontier = Frontier(table, ["a"] * 4, 2, rng=0, seconds=10.0, ages=5)
    for _ in range(12):
        for source in frontier.choose().tolist():
            frontier.settle(Outcome(source, "found", delay=8.0))
    assert frontier.epoch == 12


def test_lagrangian_policy_plays_in_every_loop():
    policy = LagrangianPolicy(FOUR)
    by_age = [list(arms) for arms in long_run_cycle(FOUR, "lagrangian", BUDGET).crawls]
    assert by_age == [list(arms) for arms in LOOPS["long_run_cycle"](policy)]
    assert LOOPS["simulate"](policy) == simulate(FOUR, "lagrangian", BUDGET, 30).crawled.tolist()
    drawn = simulate_random(FOUR, "lagrangian", BUDGET, CONTENT).reward.tolist()
    assert LOOPS["simulate_random"](policy) == drawn
    named = compare(Arrivals(FOUR), ["lagrangian"], BUDGET, 20, 2, 3).rewards["lagrangian"]
    np.testing.assert_array_equal(LOOPS["compare"](policy), named)
    rates = TRIAL.sources(TRIAL.trained)
    replayed = TRIAL.visits("lagrangian").arm.tolist()
    assert TRIAL.visits(LagrangianPolicy(rates)).arm.tolist() == replayed
    chosen = LOOPS["crawl"](policy)
    age, rank = np.ones(4, int), []
    for arms in chosen:
        seen = Observation(0, age.copy(), np.full(4, np.nan))
        rank.append(policy.select(seen, BUDGET).tolist())
        age += 1
        age[arms] = 1
    assert [sorted(arms) for arms in chosen] == rank
