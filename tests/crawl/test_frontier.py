"""Ages, failures, politeness and budgets, without any transport."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.crawl import Frontier, Outcome, read_feed
from analysis.crawl.frontier import FAILED, FORBIDDEN, FOUND, from_line, to_line
from analysis.ephemeral import RoundRobinPolicy, WhittlePolicy, simulate
from analysis.ephemeral.policies import SingleSourcePolicy
from analysis.learning import CertaintyEquivalence
from analysis.report.paths import ROOT
from tests.crawl.support import some_site, some_sources


def frontier(policy=None, hosts=range(4), budget=1, **options):
    policy = policy or RoundRobinPolicy()
    return Frontier(policy, list(hosts), budget, rng=np.random.default_rng(0), **options)


def run(crawl, epochs, kind=lambda epoch, source: FOUND, delay=0.0):
    """Let epochs pass; return the sources of each."""
    fetched = []
    for _ in range(epochs):
        epoch = crawl.epoch
        arms = crawl.choose().tolist()
        fetched.append(arms)
        for source in arms:
            crawl.settle(Outcome(source, kind(epoch, source), delay=delay))
    return fetched


def test_without_trouble_the_sources_are_those_of_the_simulated_policy():
    sources = some_sources(7)
    policy = WhittlePolicy(sources)
    fetched = run(frontier(policy, range(7), 2), 60)
    crawled = simulate(sources, policy, 2, 60, initial_state="fresh").crawled
    assert fetched == [np.flatnonzero(column).tolist() for column in crawled.T]


def test_the_loop_that_the_page_shows_crawls_a_site():
    text = (ROOT / "book" / "crawl" / "crawler.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```python\n(frontier = .*?)```", text, re.DOTALL)
    site = some_site(5)
    names = {
        "Frontier": Frontier,
        "Outcome": Outcome,
        "read_feed": read_feed,
        "site": site,
        "policy": WhittlePolicy(site.sources),
        "size": 5,
        "budget": 2,
        "epochs": 15,
        "rng": np.random.default_rng(0),
    }
    exec(block, names)
    crawled = simulate(site.sources, "whittle", 2, 15, initial_state="fresh").crawled
    ages = [15 - np.flatnonzero(row).max() for row in crawled]
    assert names["frontier"].age.tolist() == ages


def test_the_age_of_a_failed_source_goes_on_and_it_is_left_alone_ever_longer():
    crawl = frontier(SingleSourcePolicy(0), range(1), patience=4)
    fetched = run(crawl, 16, lambda epoch, source: FAILED)
    assert np.flatnonzero([len(arms) for arms in fetched]).tolist() == [0, 1, 3, 7, 11, 15]
    assert crawl.age.tolist() == [17]


def test_a_success_ends_the_waiting():
    crawl = frontier(SingleSourcePolicy(0), range(1))
    fetched = run(crawl, 8, lambda epoch, source: FAILED if epoch < 3 else FOUND)
    assert [len(arms) for arms in fetched] == [1, 1, 0, 1, 1, 1, 1, 1]
    assert (crawl.failures[0], crawl.age[0]) == (0, 1)


def test_a_failed_fetch_teaches_nothing_and_the_place_in_the_budget_is_gone():
    taught = []

    class Taught(RoundRobinPolicy):
        def update(self, arms, rewards):
            taught.extend(arms.tolist())

    policy = Taught()
    fetched = run(frontier(policy, budget=2), 2, lambda epoch, source: (FAILED, FOUND)[source % 2])
    assert fetched == [[0, 1], [2, 3]]  # the turn goes on; 0 is met again when it comes round
    assert taught == [1, 3]


def test_a_forbidden_source_is_not_asked_again_and_others_take_its_place():
    crawl = frontier(budget=2)
    fetched = run(crawl, 6, lambda epoch, source: FORBIDDEN if source == 1 else FOUND)
    assert sum(arms.count(1) for arms in fetched) == 1
    assert all(len(arms) == 2 for arms in fetched)


def test_a_learner_that_must_try_every_source_does_not_wait_for_a_forbidden_one():
    crawl = frontier(CertaintyEquivalence(4), budget=2)
    fetched = run(crawl, 30, lambda epoch, source: FORBIDDEN if source == 1 else FOUND)
    assert all(len(arms) == 2 for arms in fetched)


@pytest.mark.parametrize(("delay", "gap"), [(3.0, 3), (2.5, 3), (1.0, 1)])
def test_a_crawl_delay_is_a_minimal_age_of_the_host(delay, gap):
    """Host 0 has two sources; T = 1."""
    fetched = run(frontier(hosts=[0, 0, 1], budget=3), 30, delay=delay)
    times = [epoch for epoch, arms in enumerate(fetched) if set(arms) & {0, 1}]
    assert set(np.diff(times)) == {gap}
    assert all(len(set(arms) & {0, 1}) <= 1 for arms in fetched)
    assert {0, 1} <= {arm for arms in fetched for arm in arms}  # both have their turn


def test_a_short_crawl_delay_bounds_the_fetches_of_a_host_in_an_epoch():
    fetched = run(frontier(hosts=[0] * 4, budget=4), 10, delay=0.4)
    assert len(fetched[0]) == 1  # the rules are not known yet
    assert {len(arms) for arms in fetched[1:]} == {2}


def test_a_crawl_that_goes_on_from_its_state_does_what_it_would_have_done():
    def fresh():
        return frontier(CertaintyEquivalence(5), range(5), 2)

    def kind(epoch, source):
        return FAILED if (epoch + source) % 7 == 0 else FOUND

    one, other = fresh(), fresh()
    run(one, 20, kind)
    other.restore(one.state())
    assert run(other, 20, kind) == run(one, 20, kind)
    assert {name: array.tobytes() for name, array in one.state().items()} == {
        name: array.tobytes() for name, array in other.state().items()
    }


def test_a_state_of_something_else_is_refused():
    state = frontier().state()
    with pytest.raises(ValueError, match="5 sources"):
        frontier(hosts=range(5)).restore(state)
    with pytest.raises(ValueError, match="CertaintyEquivalence"):
        frontier(CertaintyEquivalence(4)).restore(state)

    class Forgetful(RoundRobinPolicy):
        def update(self, arms, rewards):
            pass

    with pytest.raises(ValueError, match=r"state\(\) and restore\(\)"):
        frontier(Forgetful()).state()


def test_a_source_is_settled_once_and_only_if_it_was_chosen():
    crawl = frontier(budget=2)
    crawl.choose()
    with pytest.raises(ValueError, match=r"one of \[0, 1\] in epoch 0, got 3"):
        crawl.settle(Outcome(3, FOUND))
    crawl.settle(Outcome(0, FOUND))
    with pytest.raises(ValueError, match="got 0"):
        crawl.settle(Outcome(0, FOUND))
    for call in (crawl.choose, crawl.state, lambda: crawl.skip(1)):
        with pytest.raises(RuntimeError, match="not over"):
            call()


def test_skipped_epochs_count_in_the_ages():
    crawl = frontier()
    crawl.skip(5)
    assert (crawl.epoch, crawl.age.tolist()) == (5, [6] * 4)


@given(
    st.integers(0, 99),
    st.sampled_from([FOUND, FAILED, FORBIDDEN]),
    st.integers(0, 599),
    st.floats(0, 1e300),
    st.text(),
    st.none() | st.floats(0, 1e9),
)
def test_an_outcome_comes_back_from_its_line(source, kind, status, reward, memory, delay):
    outcome = Outcome(source, kind, status, reward, 3, memory, delay)
    line = to_line(outcome, 7)
    assert line.count("\n") == 1
    assert from_line(line) == (7, outcome)


@settings(max_examples=25)
@given(st.data())
def test_never_more_than_the_budget_and_never_a_source_that_rests(data):
    size = data.draw(st.integers(1, 8))
    hosts = data.draw(st.lists(st.integers(0, 2), min_size=size, max_size=size))
    budget = data.draw(st.integers(1, size))
    crawl = frontier(WhittlePolicy(some_sources(size)), hosts, budget)
    delays = data.draw(st.lists(st.sampled_from([0.0, 0.5, 3.0]), min_size=3, max_size=3))
    last = {}
    for epoch in range(15):
        arms = crawl.choose().tolist()
        assert len(set(arms)) == len(arms) <= budget
        for source in arms:
            if source in last:
                assert epoch - last[source] >= max(1, delays[hosts[source]])
            last[source] = epoch
            kind = data.draw(st.sampled_from([FOUND, FAILED]))
            crawl.settle(Outcome(source, kind, delay=delays[hosts[source]]))
