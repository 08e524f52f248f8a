"""Arrays of frozen classes, and copies of objects that change."""

import copy
import dataclasses
import importlib
import pickle

import numpy as np
import pytest

from analysis.arrays import read_only_arrays
from analysis.crawl import Frontier, IndexPolicy, ListingIndex, Outcome, TurnPolicy
from analysis.ephemeral import (
    Arrivals,
    Environment,
    Observation,
    Scheduler,
    Sources,
    four_sources,
)
from analysis.ephemeral.optimum.advice import FTVAPolicy
from analysis.ephemeral.scheduler.contents import ObservedScheduler
from analysis.ephemeral.scheduler.partition import PartitionedScheduler
from analysis.learning import (
    AgeBlindUcb,
    CertaintyEquivalence,
    ItemSums,
    JointQ,
    Lspe,
    UcWhittle,
    WhittleQ,
)
from analysis.restarts import RestartArm
from analysis.trace import AutoTtl, EntryFrequency, NutchAdaptive, StormCrawler
from tests.right_calls import FACES, NOT_CALLED, right_calls

FOUR = four_sources()
COPIES = {
    "itself": lambda x: x,
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda x: pickle.loads(pickle.dumps(x)),
}
CALLS = [(face, name) for face in FACES for name in FACES[face] if name not in NOT_CALLED[face]]


def writeable(value, path="", depth=0):
    """Places of arrays that can be written to, in frozen dataclasses and tuples of them."""
    if isinstance(value, np.ndarray):
        yield from [path] * value.flags.writeable
    elif isinstance(value, tuple) and depth < 4:
        for i, part in enumerate(value):
            if dataclasses.is_dataclass(part):
                yield from writeable(part, f"{path}[{i}]", depth + 1)
    elif dataclasses.is_dataclass(value) and value.__dataclass_params__.frozen and depth < 4:
        for name in {field.name for field in dataclasses.fields(value)} | vars(value).keys():
            yield from writeable(getattr(value, name), f"{path}.{name}", depth + 1)


@pytest.mark.parametrize(("face", "name"), CALLS)
def test_frozen_arrays_are_read_only(face, name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    right = right_calls(face)[name]
    result = getattr(importlib.import_module(f"analysis.{face}"), name)(**copy.deepcopy(right))
    if dataclasses.is_dataclass(result):
        for kind, copied in COPIES.items():
            assert list(writeable(copied(result), f"{kind} of {name}")) == []


def test_equal_arrays_make_instances_equal():
    @read_only_arrays
    @dataclasses.dataclass(frozen=True)
    class Path:
        age: np.ndarray
        note: str = ""

    unknown = np.array([np.nan, 1.0])
    assert Path(unknown) == Path(unknown.copy())
    assert Path(unknown) != Path(np.ones(2))
    assert Path(unknown) != Path(unknown, "other")
    assert Path(np.arange(2)) != "something else"
    assert four_sources() == FOUR


def test_caller_arrays_stay_writable():
    mine = np.array([1.0, 2.0])
    ItemSums(mine, mine)
    RestartArm(np.eye(2), mine / 3, mine, mine)
    Sources(mine, mine, mine)
    assert mine.flags.writeable


def seen(epoch=0):
    return Observation(epoch, np.array([3, 1, 4, 2]) + epoch, np.full(4, np.nan))


def learn(learner):
    """Let a learner choose and learn for some epochs; return its choices."""
    chosen = []
    for epoch in range(12):
        arms = learner.select(seen(epoch), 1, np.random.default_rng(epoch))
        chosen.append(np.asarray(arms).tolist())
        learner.update(arms, np.full(len(arms), 1.0 + epoch))
    return chosen


def read(policy):
    """The same for policies that read times of publication."""
    chosen = []
    for epoch in range(12):
        arms = policy.select(seen(epoch), 1, None)
        chosen.append(np.asarray(arms).tolist())
        policy.read(arms, [np.array([epoch - 0.5]) for _ in arms])
    return chosen


def crawl(frontier):
    chosen = []
    for _ in range(8):
        chosen.append(frontier.choose().tolist())
        for source in chosen[-1]:
            frontier.settle(Outcome(source, "found", reward=1.0, items=1))
    return chosen


def step(environment):
    return [environment.step([i % 4]).tolist() for i in range(8)]


def turn(policy):
    chosen = []
    for _ in range(6):
        chosen.append(policy.select(seen(), 1).tolist())
        policy.record_choice(np.array(chosen[-1]))
    return chosen


def rank(policy):
    chosen = []
    for epoch in range(6):
        chosen.append(policy.select(seen(epoch), 1).tolist())
        if isinstance(policy, ListingIndex):
            policy.observe([Outcome(chosen[-1][0], "found", items=3, reward=2.0)])
    return chosen


def schedule(scheduler):
    return [scheduler.crawl()[0].tolist() for _ in range(8)]


def watch(scheduler):
    content = np.random.default_rng(2).random((8, 4))
    return [[part.tolist() for part in scheduler.crawl(arrived)] for arrived in content]


def advise(policy):
    rng = np.random.default_rng(5)
    return [policy.select(seen(epoch), 1, rng).tolist() for epoch in range(8)]


STATEFUL = {
    "Scheduler": (lambda: Scheduler(FOUR, 1), schedule),
    "PartitionedScheduler": (lambda: PartitionedScheduler(FOUR, [0, 1, 0, 1], 1), schedule),
    "ObservedScheduler": (lambda: ObservedScheduler(FOUR, 1), watch),
    "Environment": (
        lambda: Environment(FOUR, Arrivals(FOUR).sample(30, 1), initial_state="full"), step,
    ),
    "CertaintyEquivalence": (lambda: CertaintyEquivalence(4), learn),
    "JointQ": (lambda: JointQ(4, 1), learn),
    "AgeBlindUcb": (lambda: AgeBlindUcb(4), learn),
    "UcWhittle": (lambda: UcWhittle(4), learn),
    "WhittleQ": (lambda: WhittleQ(4), learn),
    "Lspe": (lambda: Lspe(FOUR), learn),
    "Frontier": (lambda: Frontier(TurnPolicy(4), range(4), 1, rng=0), crawl),
    "Frontier that learns": (
        lambda: Frontier(CertaintyEquivalence(4), range(4), 1, rng=0), crawl,
    ),
    "TurnPolicy": (lambda: TurnPolicy(4), turn),
    "IndexPolicy": (lambda: IndexPolicy(FOUR), rank),
    "ListingIndex": (lambda: ListingIndex(4, 24.0, 3600.0), rank),
    "ListingIndex at a price": (lambda: ListingIndex(4, 24.0, 3600.0, budget=1), rank),
    "NutchAdaptive": (lambda: NutchAdaptive(4), learn),
    "StormCrawler": (lambda: StormCrawler(4), learn),
    "EntryFrequency": (lambda: EntryFrequency(4), read),
    "AutoTtl": (lambda: AutoTtl(4), read),
    "FTVAPolicy": (lambda: FTVAPolicy(FOUR, 1), advise),
}  # fmt: skip


@pytest.mark.parametrize("kind", ["copy", "deepcopy"])
@pytest.mark.parametrize("name", STATEFUL)
def test_copies_of_what_changes_are_apart(name, kind):
    make, run = STATEFUL[name]
    expected = run(make())
    original = make()
    twin = COPIES[kind](original)
    run(twin)  # changes the copy only
    assert run(original) == expected
    before = make()
    twin = COPIES[kind](before)
    run(before)
    assert run(twin) == expected


def test_equal_sources_are_equal():
    assert four_sources() == FOUR
    assert hash(FOUR) == hash(four_sources())
    for make in COPIES.values():
        assert make(FOUR) == FOUR
    columns = {"arrival_rate": [1.0, 2.0], "mean_utility": [1.0, 1.0], "decay_rate": [0.5, 0.7]}
    two = Sources(**columns)
    others = {"cost": 2.0, "period": 2.0, "names": ["a", "b"], "arrival_rate": [1.0, 3.0]}
    for name, value in others.items():
        assert two != Sources(**{**columns, name: value})
    assert two == Sources(**columns, names=["1", "2"])
    assert hash(two) == hash(Sources(**columns, names=["1", "2"]))
    assert two != "sources"
