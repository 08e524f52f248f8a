import numpy as np
import pytest

from analysis.ephemeral.sources import four_sources
from analysis.learning.comparison import LearningCurves
from analysis.learning.studies.learners import page as study


def curves(loss, spread=0.001, runs=4, horizon=400):
    """Runs that lose a share of a reward of 1 at every epoch, each a little more than the last."""
    shares = loss + spread * (np.arange(runs) - (runs - 1) / 2)
    expected = np.repeat(1 - shares[:, None], horizon, axis=1)
    crawls = np.zeros((runs, 4), dtype=int)
    return LearningCurves(
        expected, expected.mean(axis=1), np.ones_like(expected), crawls, (), np.ones(horizon)
    )


def both(first, second, **settings):
    ucb, thompson = study.SHORT["ce"], study.SHORT["thompson"]
    return {ucb: curves(first, **settings), thompson: curves(second, **settings)}


@pytest.fixture
def saved(monkeypatch):
    values = {}
    monkeypatch.setattr(
        study, "save_value", lambda name, value, **more: values.update({name: value})
    )
    return values


def test_all_learners_meet_the_same_arrivals_at_every_budget():
    runs = study.compare(four_sources(), [1, 2], horizon=40, replications=2, seed=1)
    assert set(runs[1]) == set(runs[2]) == set(study.STYLES) == set(study.SHORT.values())
    assert all(c.expected.shape == (2, 40) for row in runs.values() for c in row.values())


def test_who_leads_follows_the_losses():
    one = study.leaders({"few": {1: both(0.02, 0.05)}})
    assert one == "- few, $M = 1$: **certainty equivalence, UCB** loses least, 2%."
    other = study.leaders({"few": {1: both(0.05, 0.02)}})
    assert "**certainty equivalence, Thompson** loses least" in other
    rng = np.random.default_rng(0)
    noisy = curves(0.02)
    noisy.expected[:] += 0.01 * rng.standard_normal(4)[:, None]
    tied = study.leaders({"few": {1: {"one": curves(0.02), "two": noisy}}})
    assert "not significantly more" in tied


def test_the_table_shows_loss_with_half_its_interval():
    cells = study.table(both(0.02, 0.6))
    assert cells.loc["certainty equivalence, UCB", "loss (%)"] == pytest.approx(2.0)
    assert cells.loc["certainty equivalence, UCB", "± (95%)"] == pytest.approx(0.205, abs=1e-3)
    assert cells.loc["certainty equivalence, UCB", "epochs to 95%"] == "0"  # no interval
    assert cells.loc["certainty equivalence, Thompson", "epochs to 95%"] == "never"


def test_a_loss_above_the_limit_is_not_within():
    rows = study.within({1: both(0.0002, 0.002, spread=1e-5)}, 0.1)
    assert list(rows["within 0.1%"]) == [True, False]


def test_numbers_of_the_page(saved):
    few, many = {1: both(0.02, 0.05), 2: both(0.05, 0.02)}, {1: both(0.1, 0.2), 3: both(0.1, 0.2)}
    for row in few.values():
        row[study.SHORT["lspe"]] = curves(0.4)
    study.report(four_sources(), few, four_sources(), many)
    assert saved["learners-lspe-ran"] is True
    assert saved["learners-adaptive-leads"] is True
    assert saved["learners-ce-loss"] == pytest.approx(2.0)
    assert saved["learners-thompson-second-loss"] == pytest.approx(2.0)
    assert saved["learners-many-thompson-gain"] == pytest.approx(-10.0)
    assert (saved["learners-ce-ahead"], saved["learners-comparisons"]) == (3, 4)
    assert saved["learners-all-runs"] == 40
    assert saved["learners-used"] == 2
    assert saved["learners-robin-second-loss"] > saved["learners-myopic-second-loss"] > 0


def test_crawls_of_the_same_source_are_counted(saved):
    few = four_sources()
    alone, index = np.full((2, 50), few.u[0]), np.full(50, few.u_star[0] / 2)
    study.report_repeated(
        few, {"age-blind UCB1": LearningCurves(alone, alone[:, 0], alone, alone, (), index)}
    )
    assert (saved["learners-blind-again"], saved["learners-index-again"]) == (1.0, 0.0)


def test_the_loss_is_saved_as_drawn(monkeypatch):
    kept = {}
    monkeypatch.setattr(
        study,
        "save_figure",
        lambda id, fig, data, caption, alt, **more: kept.update({id: (data, caption)}),
    )
    late = curves(0.0, spread=0.0)
    late.expected[:, 200:] = 0.5
    monkeypatch.setattr(study, "save_data", lambda *given: kept.update(runs=given[1]))
    study.save_loss("id", {1: both(0.05, 0.2) | {"LSPE(0), corrected": late}}, 4)
    data, caption = kept["id"]
    ends = data.groupby("learner")["mean"].last()
    assert ends[study.SHORT["ce"]] == pytest.approx(5.0)
    assert ends["LSPE(0), corrected"] == pytest.approx(25.0)
    assert data[data.epoch <= 200].groupby("learner")["high"].max()["LSPE(0), corrected"] == 0
    assert len(kept["runs"]) == 12
    assert kept["runs"].groupby("learner").late_loss.mean()["LSPE(0), corrected"] == pytest.approx(
        50
    )
    assert "The least at the end: certainty equivalence, UCB at $M = 1$" in caption


def test_the_scheme_of_2019_may_lead_or_diverge(saved):
    lspe = study.SHORT["lspe"]
    few, many = {1: both(0.02, 0.05) | {lspe: curves(0.01)}}, {1: both(0.1, 0.2)}
    study.report(four_sources(), few, four_sources(), many)
    assert saved["learners-adaptive-leads"] is False
    few[1][lspe] = curves(0.01, runs=1)
    study.report(four_sources(), few, four_sources(), many)
    assert saved["learners-lspe-ran"] is False
