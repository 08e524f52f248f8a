"""A reader's own sources, refused where a page cannot use them, and tables that pages share."""

import numpy as np
import pytest

from analysis.ephemeral import Arrivals, compare, four_sources
from book.ephemeral import shared
from scorecard.running.runner import make_rerun_job

HEAD = "name,arrival_rate,mean_utility,decay_rate"


@pytest.fixture
def table(tmp_path):
    """Write a table of so many sources, with costs where they are given."""

    def write(size, costs=()):
        rows = [f"feed {n},{n + 1},1.0,0.5" for n in range(size)]
        rows = [f"{row},{cost}" for row, cost in zip(rows, costs, strict=True)] if costs else rows
        path = tmp_path / "my.csv"
        path.write_text("\n".join([HEAD + ",cost" * bool(costs), *rows]))
        return path

    return write


def test_unequal_costs_refused_by_name(table):
    path = table(3, [1, 1.0, 2.5])
    with pytest.raises(ValueError, match=r"my\.csv: cost .*'feed 2'"):
        shared.read_counted_sources(path)
    assert len(shared.read_counted_sources(table(3, [1, 1, 1]))) == 3
    assert shared.read_counted_sources(table(2), 0.5).period == 0.5


@pytest.mark.parametrize(
    ("read", "taken", "refused", "said"),
    [
        (shared.read_sources, (1, 1000), (1001, 100_000), "1 to 1,000 sources on this page, got 1"),
        (shared.read_counted_sources, (1, 24), (25, 1000), "1 to 24 sources on this page, got "),
        (shared.read_compared_sources, (2, 24), (1, 25), "2 to 24 sources on this page, got "),
        (shared.read_few_sources, (2, 5), (1, 6), "2 to 5 sources on this page, got"),
    ],
)
def test_wrong_number_of_sources_refused(table, read, taken, refused, said):
    assert [len(read(table(size))) for size in taken] == list(taken)
    for size in refused:
        with pytest.raises(ValueError, match=said):
            read(table(size))


@pytest.mark.parametrize("rate", ["1e101", "1e300"])
def test_huge_contents_refused(tmp_path, rate):
    path = tmp_path / "huge.csv"
    path.write_text(f"{HEAD}\nsmall,1,1,0.5\nhuge,{rate},5,0.5\n")
    with pytest.raises(ValueError, match="'huge'"):
        shared.read_sources(path)


def test_costs_read_where_used(table):
    assert shared.read_sources(table(3, [1, 2, 3])).cost.tolist() == [1, 2, 3]


def test_empty_sources_refused(tmp_path):
    path = tmp_path / "silent.csv"
    path.write_text(f"{HEAD}\na,0,1,0.5\nb,3,0,0.5\n")
    with pytest.raises(ValueError, match="both be above 0 for one source at least"):
        shared.read_sources(path)
    path.write_text(f"{HEAD}\na,0,1,0.5\nb,3,1,0.5\n")
    assert len(shared.read_sources(path)) == 2


def test_incommensurable_ages_refused_early(tmp_path):
    path, rates = tmp_path / "mine.csv", (10, 8, 6, 5, 4, 3.5, 3, 2.5, 2, 1.8)
    path.write_text("\n".join([HEAD, *(f"feed {n},{r},1,0.1" for n, r in enumerate(rates))]))
    make_rerun_job("many-copies", {"budget": 2}, str(path), runs=tmp_path)
    with pytest.raises(
        ValueError, match=r"mine\.csv: .* 100000 epochs at a budget of 1, got 360360"
    ):
        make_rerun_job("many-copies", {"budget": 1}, str(path), runs=tmp_path)


def test_every_run_is_a_row():
    rng = np.random.default_rng(0)
    arrivals = Arrivals(four_sources())
    plays = {
        law: compare(arrivals, ["whittle", "round-robin"], 1, 30, runs, rng)
        for law, runs in (("few", 2), ("many", 3))
    }
    rows = shared.tabulate_runs(plays, "law").set_index(["law", "replication", "policy"]).reward
    expected = {
        (law, number, policy): reward
        for law, play in plays.items()
        for policy, rewards in play.rewards.items()
        for number, reward in enumerate(rewards)
    }
    assert len(expected) == 2 * (2 + 3)
    assert rows.to_dict() == expected
