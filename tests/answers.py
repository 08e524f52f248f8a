"""The numbers that everything on the faces gives, for a comparison of platforms.

`written` has them from a process of its own, in which nothing is compiled: for a file, "narrow" or
"", and names, or none for all. "narrow" first makes NumPy's default integers those of a platform
where they have 32 bits.
"""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import json
import os
import sys
import tempfile
from copy import deepcopy
from pathlib import Path

import numpy as np

from tests.right_calls import FACES, NOT_CALLED, right_calls, two_feeds, two_sources


def rng():
    return np.random.default_rng(7)


def used(face, name, made):
    """What the methods of an object give: those that compute most."""
    from analysis import ephemeral, learning, trace
    from analysis.ephemeral.optimum.static import RandomPolicy

    if face == "ephemeral" and name == "Arrivals":
        laws = [ephemeral.Utility(law) for law in ("deterministic", "exponential", "uniform")]
        drawn = [ephemeral.Arrivals(two_sources(), law) for law in laws]
        return [(a.sample(9, rng()), a.sample_aged(9, rng())) for a in (made, *drawn)]
    if name == "Scheduler":
        sources = ephemeral.Sources(np.linspace(1, 4, 40), np.ones(40), np.geomspace(0.01, 2, 40))
        settings = [{}, {"precision": "single"}, {"price": 0.3}, {"min_age": 2, "max_age": 30}]
        settings.append({"price": 0.1, "index_rate": 2.0, "queue": 3})
        runs = [ephemeral.Scheduler(sources, 3, **each) for each in settings]
        crawls = [[run.crawl() for _ in range(40)] for run in runs]
        return crawls, [run.ages for run in runs], runs[0].demand([0.1, 1.0])
    if name == "Signals":
        return made.sample(9, rng()), made.ping_rate, made.jump, made.unannounced
    if name == "PingedScheduler":
        crawls = [(made.ping([0, 1, 1], 0.3), made.crawl()) for _ in range(20)]
        return crawls, made.worth, made.due
    if name == "SignalBelief":
        counted = made.observe_pings([0, 1, 1], 2.0, [1.5, 0.5, 3.0])
        return counted, made.worth(3.0), made.index(4.0)
    if name == "timetable":
        many = ephemeral.Sources(np.arange(1.0, 30), np.ones(29), np.geomspace(0.01, 2, 29))
        tables = [made, *(ephemeral.timetable(many, budget) for budget in (1, 2, 5))]
        tables += [tables[1].without(3), tables[2].with_source(two_sources().subset([0]))]
        return [(t.gap, t.phase, t.average_reward, t.due(0, 300), t.verify()) for t in tables]
    if face == "learning" and hasattr(made, "select") and hasattr(made, "update"):
        four = ephemeral.four_sources()
        first = {"Lspe": four, "Fixed": ephemeral.WhittlePolicy(four)}.get(name, len(four))
        fresh = type(made)(first, **({"budget": 1} if name == "JointQ" else {}))
        content = ephemeral.Arrivals(four).sample(80, rng())
        return learning.play(four, fresh, content, 1, rng())
    if name == "FrozenPolicy":
        return made.evaluate(np.full((2, 3), 0.1)), made.gradient(np.full((2, 3), 0.1))
    if name in ("RobotControl", "FleetControl", "JointSystem", "RobotSystem"):
        return made.solve()
    if name == "GeneralQueue":
        return made.measures()
    if name == "Experiment":
        sources = made.sources(made.trained)
        makers = (trace.NutchAdaptive, trace.StormCrawler, trace.EntryFrequency, trace.AutoTtl)
        rules = [made.untrained(lambda make=make: make(2)) for make in makers]
        names = [made.by_age(policy) for policy in ("whittle", "greedy")]
        names += [made.by_age(ephemeral.RoundRobinPolicy()), made.by_age(made.timetable)]
        chance = made.at_random(RandomPolicy(np.array([0.3, 0.7])), rng())
        seen = made.observing(made.tested), made.forgetting(200.0), made.clairvoyant()
        best = made.by_age(trace.best_fixed_frequencies(sources, 1))
        return rules, names, chance, seen, best, made.content(made.clock(0)[0])
    if name == "Trace":
        again = trace.Trace(**two_feeds())
        return again.by_source, again.counts(0, 10**6)
    return None


NAMES = [f"{face}.{name}" for face in FACES for name in FACES[face] if name not in NOT_CALLED[face]]


def answers(names=(), before=lambda: None):
    """Return the numbers of one right call of everything, and of its use, by name."""
    found = {}
    for key in names or NAMES:
        face, name = key.split(".")
        try:
            called = getattr(importlib.import_module(f"analysis.{face}"), name)
            before()
            made = called(**deepcopy(right_calls(face)[name]))
            before()  # as its call may have loaded modules
            found[key] = list(numbers([made, used(face, name, made)]))
        except Exception as error:  # of whatever kind, where a platform differs
            found[key] = f"{type(error).__name__}: {error}"
    return found


def written(path, mode, *names):
    """Write the answers as JSON, in a process without a compiler."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        found = answers(names, narrow if mode == "narrow" else lambda: None)
    Path(path).write_text(json.dumps(found), encoding="utf-8")
    os._exit(0)  # without waiting for threads of what was called


def numbers(result):
    """All numbers in a result, whatever holds them."""
    if isinstance(result, np.ndarray) and result.dtype.kind in "fiub":
        yield from result.ravel().tolist()
    elif isinstance(result, bool | int | float | np.number | np.bool_):
        yield float(result)
    elif isinstance(result, dict):
        yield from numbers(list(result.values()))
    elif isinstance(result, list | tuple):
        yield from (number for value in result for number in numbers(value))
    elif dataclasses.is_dataclass(result):
        yield from numbers([getattr(result, field.name) for field in dataclasses.fields(result)])


class Narrow:
    """NumPy as it is where its default integers have 32 bits, as far as the models use it.

    Functions that make integers give int32, and those that take numbers of places refuse int64.
    """

    def __getattr__(self, name):
        return getattr(np, name)


def makes_places(function):
    """Let a function of places, whatever it is given, return them as int32."""

    def call(*args, **options):
        found = function(*args, **options)
        if isinstance(found, tuple):
            return tuple(as_place(part) for part in found)
        return as_place(found)

    return call


def as_place(value):
    is_place = isinstance(value, np.ndarray | np.integer) and value.dtype == np.int64
    return value.astype(np.int32) if is_place else value


def makes_defaults(function):
    """Let a function make int32 of Python's integers, unless the type is given."""

    def call(*args, **options):
        kinds = [options.get("dtype"), *(arg for arg in args if isinstance(arg, type))]
        wide = any(kind is not None and kind not in (int, np.int_) for kind in kinds)
        wide |= any(np.asarray(arg).dtype.kind not in "bif" or is_wide(arg) for arg in args)
        found = function(*args, **options)
        fits = isinstance(found, np.ndarray) and found.dtype == np.int64
        if wide or not fits or (found.size and np.abs(found).max() >= 2**31):
            return found
        return found.astype(np.int32)

    return call


def is_wide(value):
    if isinstance(value, list | tuple):
        return any(is_wide(part) for part in value)
    return isinstance(value, np.ndarray | np.generic) and value.dtype.itemsize > 4


def takes_places(function, place):
    """Let a function refuse int64 as its argument number `place`, as NumPy does there."""

    def call(*args, **options):
        given = args[place] if len(args) > place else None
        if isinstance(given, np.ndarray) and given.dtype == np.int64:
            raise TypeError("Cannot cast array data from dtype('int64') to dtype('int32')")
        return as_place(function(*args, **options))

    return call


def narrow():
    """Put `Narrow` in the place of NumPy in every module that is loaded."""
    modules = [m for name, m in list(sys.modules.items()) if name.startswith("analysis")]
    for module in modules:
        if getattr(module, "np", None) is np:
            module.np = NARROW


def narrowed():
    numpy = Narrow()
    places = ("nonzero", "flatnonzero", "argsort", "searchsorted", "lexsort", "argmax", "argmin")
    places += ("argwhere", "argpartition", "indices", "unravel_index", "triu_indices", "digitize")
    for name in places:
        setattr(numpy, name, makes_places(getattr(np, name)))
    makers = ("arange", "full", "array", "asarray", "zeros", "ones", "empty", "cumsum", "append")
    for name in makers:
        setattr(numpy, name, makes_defaults(getattr(np, name)))
    numpy.intp = np.int32
    numpy.bincount, numpy.repeat = takes_places(np.bincount, 0), takes_places(np.repeat, 1)

    def unique(values, **options):
        found = np.unique(values, **options)
        if not isinstance(found, tuple):
            return found
        return found[0], *(as_place(part) for part in found[1:])

    def diff(values, *order, **options):
        found = np.diff(values, *order, **options)
        narrow = getattr(values, "dtype", None) == np.int32 and found.dtype == np.int64
        return found.astype(np.int32) if narrow else found

    numpy.unique, numpy.diff = unique, diff
    return numpy


NARROW = narrowed()
