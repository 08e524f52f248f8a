"""All learners on the same arrivals, the hard cases, and sources met at one age."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from analysis.ephemeral.arrivals import Utility
from analysis.ephemeral.instances import random_sources
from analysis.ephemeral.sources import four_sources
from analysis.learning.comparison import LearningCurves, compare_learners
from analysis.learning.hard_cases import CASES, INFORMED, LEARNERS
from book.learning import learners as page
from tests.support import assert_turns, verdicts


def curves(loss, spread=0.001, runs=4, horizon=400):
    """Runs that lose a share of a reward of 1 at every epoch, each a little more than the last."""
    shares = loss + spread * (np.arange(runs) - (runs - 1) / 2)
    expected = np.repeat(1 - shares[:, None], horizon, axis=1)
    crawls = np.zeros((runs, 4), dtype=int)
    return LearningCurves(
        expected, expected.mean(axis=1), np.ones_like(expected), crawls, (), np.ones(horizon)
    )


def both(first, second, **settings):
    ucb, thompson = page.SHORT["ce"], page.SHORT["thompson"]
    return {ucb: curves(first, **settings), thompson: curves(second, **settings)}


@pytest.fixture
def saved(monkeypatch):
    values = {}
    monkeypatch.setattr(
        page, "save_value", lambda name, value, **more: values.update({name: value})
    )
    return values


def test_learners_share_arrivals():
    runs = page.compare_by_budget(four_sources(), [1, 2], horizon=40, replications=2, seed=1)
    assert set(runs[1]) == set(runs[2]) == set(page.STYLES) == set(page.SHORT.values())
    assert all(c.expected.shape == (2, 40) for row in runs.values() for c in row.values())


def test_adaptive_verdict_follows_loss(monkeypatch):
    ucb, blind = page.SHORT["ce"], page.SHORT["blind"]
    every = page.list_learners

    def two(sources, budget):
        return {name: every(sources, budget)[name] for name in (ucb, blind)}

    monkeypatch.setattr(page, "list_learners", two)
    true = page.compare_by_budget(four_sources(), [1], horizon=2000, replications=4, seed=1)
    assert verdicts(page.claims(true)) == {"A-r-fut-adaptive": "done"}
    assert_turns(page.claims, (true,), ({1: {ucb: true[1][blind]}},), ["A-r-fut-adaptive"])


def test_leader_follows_losses():
    one = page.describe_leaders({"few": {1: both(0.02, 0.05)}})
    assert one == "- few, *M* = 1: **certainty equivalence, UCB** loses least, 2%."
    other = page.describe_leaders({"few": {1: both(0.05, 0.02)}})
    assert "**certainty equivalence, Thompson** loses least" in other
    rng = np.random.default_rng(0)
    noisy = curves(0.02)
    noisy = replace(noisy, expected=noisy.expected + 0.01 * rng.standard_normal(4)[:, None])
    tied = page.describe_leaders({"few": {1: {"one": curves(0.02), "two": noisy}}})
    assert "not significantly more" in tied


def test_table_shows_half_width():
    cells = page.tabulate_losses(both(0.02, 0.6))
    assert cells.loc["certainty equivalence, UCB", "loss (%)"] == pytest.approx(2.0)
    assert cells.loc["certainty equivalence, UCB", "± (95%)"] == pytest.approx(0.205, abs=1e-3)
    assert cells.loc["certainty equivalence, UCB", "epochs to 95%"] == "0"  # no interval
    assert cells.loc["certainty equivalence, Thompson", "epochs to 95%"] == "never"


def test_loss_above_limit_not_within():
    rows = page.check_within_limit({1: both(0.0002, 0.002, spread=1e-5)}, 0.1)
    assert list(rows["within 0.1%"]) == [True, False]


def test_numbers_of_the_page(saved):
    few, many = {1: both(0.02, 0.05), 2: both(0.05, 0.02)}, {1: both(0.1, 0.2), 3: both(0.1, 0.2)}
    for row in few.values():
        row[page.SHORT["lspe"]] = curves(0.4)
    page.save_comparisons(four_sources(), few, four_sources(), many)
    assert saved["learners-lspe-ran"] is True
    assert saved["learners-adaptive-leads"] is True
    assert saved["learners-ce-loss"] == pytest.approx(2.0)
    assert saved["learners-ce-second-loss"] == pytest.approx(5.0)
    assert saved["learners-many-thompson-loss"] == pytest.approx(20.0)
    assert saved["learners-many-thompson-gain"] == pytest.approx(-10.0)
    assert (saved["learners-ce-ahead"], saved["learners-comparisons"]) == (3, 4)
    assert saved["learners-all-runs"] == 40
    assert saved["learners-many-used"] == 2
    assert saved["learners-robin-loss"] > saved["learners-myopic-second-loss"] > 0


def test_repeated_crawls_are_counted(saved):
    few = four_sources()
    alone, index = np.full((2, 50), few.u[0]), np.full(50, few.u_star[0] / 2)
    page.save_repeated(
        few, {"age-blind UCB1": LearningCurves(alone, alone[:, 0], alone, alone, (), index)}
    )
    assert (saved["learners-blind-again"], saved["learners-index-again"]) == (1.0, 0.0)


def test_loss_saved_as_drawn(monkeypatch):
    kept = {}
    monkeypatch.setattr(
        page,
        "save_figure",
        lambda id, draw, caption, alt, **more: kept.update({id: (draw(Figure()), caption)}),
    )
    late = curves(0.0, spread=0.0)
    late = replace(late, expected=np.where(np.arange(400) < 200, late.expected, 0.5))
    monkeypatch.setattr(page, "save_data", lambda *given: kept.update(runs=given[1]))
    page.draw_loss("id", {1: both(0.05, 0.2) | {"LSPE(0), corrected": late}}, 4)
    data, caption = kept["id"]
    ends = data.groupby("learner")["mean"].last()
    assert ends[page.SHORT["ce"]] == pytest.approx(5.0)
    assert ends["LSPE(0), corrected"] == pytest.approx(25.0)
    assert data[data.epoch <= 200].groupby("learner")["high"].max()["LSPE(0), corrected"] == 0
    assert len(kept["runs"]) == 12
    assert kept["runs"].groupby("learner").late_loss.mean()["LSPE(0), corrected"] == pytest.approx(
        50
    )
    assert "The least at the end: certainty equivalence, UCB at $M = 1$" in caption


def test_scheme_may_lead_or_diverge(saved):
    lspe = page.SHORT["lspe"]
    few, many = {1: both(0.02, 0.05) | {lspe: curves(0.01)}}, {1: both(0.1, 0.2)}
    page.save_comparisons(four_sources(), few, four_sources(), many)
    assert saved["learners-adaptive-leads"] is False
    few[1][lspe] = curves(0.01, runs=1)
    page.save_comparisons(four_sources(), few, four_sources(), many)
    assert saved["learners-lspe-ran"] is False


@pytest.mark.parametrize("budget", [1, 2])
def test_every_learner_plays(budget):
    made = page.list_learners(four_sources(), budget)
    assert len(made) == 8
    curves = compare_learners(
        four_sources(),
        made,
        budget,
        horizon=300,
        replications=2,
        seed=1,
        utility=Utility("deterministic"),
    )
    assert all((c.engaged == budget).all() and not c.diverged for c in curves.values())
    assert curves["certainty equivalence, UCB"].loss.value < curves["joint Q-learning"].loss.value


def test_many_sources_drop_large_learners():
    many = random_sources(20, np.random.default_rng(1))
    made = page.list_learners(many, 3)
    assert "joint Q-learning" not in made
    scheme = made["LSPE(0), corrected"]()
    assert (scheme.options.threshold, scheme.options.features) == ("constant", "linear")
    curves = compare_learners(many, made, 3, horizon=200, replications=2, seed=1)
    assert all((c.engaged == 3).all() for c in curves.values())


def regrets(lost, half=0.001, limit=0.1):
    """Regret of each learner, the same in every case but for what `lost` says by case and name."""
    rows = []
    for case in CASES:
        for number, learner in enumerate([INFORMED, *LEARNERS]):
            regret = lost.get((case, learner), 0.01 * (min(number, 7) + 1))
            ends = (regret - half, regret + half)
            rows.append((case, learner, regret, *ends, regret, ends[1], ends[1] <= limit))
    columns = ["case", "learner", "regret", "low", "high", "excess", "excess_high", "holds"]
    return pd.DataFrame(rows, columns=columns)


def test_sentences_follow_the_numbers():
    easy = page.describe_hard_cases(regrets({}), 0.1)
    assert easy.count("UCB loses least, 2.0%") == len(CASES)
    assert easy.count("all stay within 10%") == len(CASES)
    assert easy.endswith("index policy in every case.")
    hard = page.describe_hard_cases(regrets({("drifting", name): 0.3 for name in LEARNERS}), 0.1)
    assert "no learner stays within" in hard
    assert hard.endswith("of the informed index policy but in drifting.")
    one = regrets({("drifting", "UCB"): 0.3})
    assert "all stay but UCB within" in page.describe_hard_cases(one, 0.1)
    assert page.find_most_robust(one) == "Thompson"
    assert page.list_held_cases(one)["UCB"] == [case for case in CASES if case != "drifting"]


def test_overlapping_intervals_described():
    assert "intervals of Thompson overlap" in page.describe_hard_cases(regrets({}, half=0.006), 0.1)


def test_table_marks_failing_learners():
    cells = page.tabulate_regrets(regrets({("drifting", "UCB"): 0.3}))
    assert cells.loc["UCB", "drifting"] == "30.0 ± 0.1 (does not hold)"
    assert cells.loc["UCB", "empty start"] == "2.0 ± 0.1"
    assert list(cells.columns) == list(CASES)
    assert cells.shape == (len(LEARNERS) + 1, len(CASES))


def test_memory_cost_follows_regrets():
    assert page.memory_costs(regrets({}))
    for case in ("empty start", "sparse and heavy"):
        assert not page.memory_costs(regrets({(case, "UCB"): 0.2}))


@pytest.fixture(scope="module")
def confirmed():
    return page.run_at_one_age(4000, 4, 0)


def test_optimism_keeps_wrong_estimate(confirmed):
    rows = page.tabulate_one_age(confirmed)
    assert rows.loc["UCB", "largest (%)"] > 3
    assert rows.loc["UCB", "mean (%)"] > 2 * rows.loc["Thompson", "mean (%)"]
    assert rows.loc["Thompson", "largest (%)"] < 1


def test_saved_values_match_losses(confirmed, monkeypatch):
    saved, tables = {}, {}
    monkeypatch.setattr(page, "save_value", lambda name, value: saved.update({name: value}))
    monkeypatch.setattr(
        page, "save_table", lambda name, rows, *text, **more: tables.update({name: rows})
    )
    page.save_one_age(confirmed)
    rows = tables["learners-locked"]
    assert saved["learners-locked-ucb-worst"] == rows.loc["UCB", "largest (%)"]
    assert saved["learners-locked-thompson"] == rows.loc["Thompson", "mean (%)"]
    assert (saved["learners-locked-rarest"], saved["learners-locked-most"]) == (6, 33)
