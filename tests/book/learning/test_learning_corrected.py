"""The corrected scheme: runs are kept, variants share their draws, and the verdict can turn."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from analysis.ephemeral import Sources, four_sources, long_run_cycle
from analysis.learning.scheme.chains import FrozenPolicy
from analysis.learning.scheme.lspe import LspeOptions
from book.learning import learning_corrected as page
from tests.support import assert_all_turn, verdicts

FOUR = four_sources()
OPTIONS = LspeOptions.corrected()
TOP = float(FOUR.u_star.max())


def experiment(**changes):
    given = {
        "options": OPTIONS,
        "initial": page.initial_thresholds(FOUR, 1, 1.0),
        "horizon": 300,
        "replications": 3,
        "of_variants": 2,
        "seed": 1,
    }
    return page.Experiment(FOUR, **{**given, **changes})


def test_verdict_turns_without_budget():
    drawn = experiment().play(1, page.ZERO).engaged
    alone = experiment(options=replace(OPTIONS, selection="independent"))
    free = alone.play(1, page.ZERO).engaged
    assert verdicts(page.claims(drawn, 1)) == {"B-online-choice": "holds under"}
    assert_all_turn(page.claims, (drawn, 1), {"each source on its own": (free, 1)})


def test_variants_share_cached_draws():
    one = experiment()
    run = one.play(1, page.ZERO)
    assert one.play(1, page.ZERO, OPTIONS) is run
    variant = one.play(1, page.ZERO, replace(OPTIONS, limit=1e11))
    assert (len(run.q), len(variant.q)) == (3, 2)
    np.testing.assert_array_equal(variant.expected, run.expected[:2])


def test_bad_start_demotes_crawled_sources():
    initial = page.initial_thresholds(FOUR, 1, 0.5)
    crawled = long_run_cycle(FOUR, "whittle", 1).frequency > 0
    np.testing.assert_array_equal(initial[page.BAD], np.where(crawled, 0.5 * TOP, 0.0))
    assert not initial[page.ZERO].any()


def test_differing_options_are_named():
    table = page.list_differences()
    assert table.loc["reward"].tolist() == ["all", "crawled"]
    assert "limit" not in table.index


def test_variant_reverts_one_correction():
    base, *others = page.list_variants(OPTIONS, TOP).values()
    assert base == OPTIONS
    changed = [
        {name for name, value in o.__dict__.items() if value != OPTIONS.__dict__[name]}
        for o in others
    ]
    assert [len(names) for names in changed] == [1] * 9 + [2]


def test_gradient_needs_both_corrections():
    points = np.random.default_rng(0).normal(0, 0.2, (1, 2, 3))
    two = type(FOUR)(FOUR.arrival_rate[:2], FOUR.mean_utility[:2], FOUR.decay_rate[:2])
    table = page.tabulate_gradient_errors(two, points, OPTIONS)
    errors = table["largest relative error"]
    assert errors["corrected"] < 1e-5 < 0.1 < errors.drop("corrected").min()
    policy = FrozenPolicy(FOUR, OPTIONS, 1, 4)
    q = np.random.default_rng(0).normal(0, 0.2, (4, 3))
    assert page.gradient_error(policy, q, TOP) < 1e-5
    assert page.gradient_error(policy, q, 2 * TOP) > 0.5


def test_tables_have_all_runs(monkeypatch):
    one = experiment()
    chosen = {"corrected": OPTIONS, "c = 0.1": replace(OPTIONS, step=0.1)}
    ablation = page.ablate(one, 1, chosen)
    assert list(ablation.runs) == [3, 3, 2, 2]
    late = one.play(1, page.BAD).late()
    bad = ablation[ablation.start == page.BAD].iloc[0]
    assert (bad.reward, bad.low, bad.high) == (late.value, late.low, late.high)
    table = page.tabulate_ablation(ablation)
    assert list(table.index) == list(chosen)
    assert table.loc["corrected", f"runs, {page.ZERO}"] == 3
    tuned = page.tune_option(one, 1, "step", [0.003, 0.1])
    assert tuned.loc[0.1, page.BAD] == ablation.reward.iloc[3]
    assert tuned[f"{page.BAD}, lowest run"].le(tuned[page.BAD]).all()
    exact = page.evaluate_by_kappa(FOUR, OPTIONS, 1, 3, [10.0])
    assert exact.loc[10.0].is_monotonic_increasing
    left = page.decompose_loss(one, [1], 3)
    column = left[f"M = 1, {page.BAD}"]
    assert column["at the start"] < column["climbed off-line"]
    assert column["learned"] == pytest.approx(late.value)


def test_figures_show_results(monkeypatch):
    kept, values = {}, {}
    monkeypatch.setattr(page, "save_figure", lambda id, *rest, **said: kept.update({id: said}))
    monkeypatch.setattr(page, "save_value", lambda id, value, **_: values.update({id: value}))
    one = experiment()
    runs = {start: one.play(1, start) for start in one.initial}
    page.draw_curves(runs, {"index policy": 260.4, "constant": 250.0}, 1)
    late = runs[page.BAD].late()
    assert (
        f"bad start: {late.value:.1f} ± {late.half_width:.1f}, 3 runs"
        in (kept["learning-corrected-curves"]["alt"])
    )
    monkeypatch.setattr(page, "save_predicates", values.update)
    page.save_learned(runs, {page.ZERO: np.ones(3), page.BAD: np.zeros(3)}, 1.0, 80.0)
    assert values["learns"]
    assert (values["corrected-zero-optimal"], values["corrected-bad-optimal"]) == (3, 0)
    by_step = page.tune_option(one, 1, "step", [0.003])
    exact = page.evaluate_by_kappa(FOUR, OPTIONS, 1, 3, [10.0])
    by_kappa = page.tune_option(one, 1, "kappa", [10.0]).join(exact)
    page.draw_tuning(by_kappa, by_step, 1.0, 1)
    page.save_safe_step(by_step, 1.0)
    assert values["corrected-safe-step"] == 0.003
    assert values["corrected-some-step-is-safe"]


def test_floor_loss_described_exactly():
    assert page.describe_loss(100.0, 100.0) == "less than 0.01%"
    assert page.describe_loss(101.0, 100.0) == "less than 0.01%"
    assert page.describe_loss(97.5, 100.0) == "2.5%"


def test_vanishing_gradient_has_error():
    """With a draw that is as good as certain no threshold moves the reward."""
    pair = FOUR.subset(np.array([0, 3]))
    certain = FrozenPolicy(pair, replace(OPTIONS, kappa=1e6), 1, 6)
    error = page.gradient_error(certain, np.zeros((2, 3)), float(pair.u_star.max()))
    assert 0 <= error < 1e-3


def learning(zero=257.0, bad=255.0, undrawn=260.0, at_bad=80.0):
    kept = {page.ZERO: np.full(3, undrawn), page.BAD: np.full(3, undrawn)}
    return page.collect_learning_predicates(260.0, at_bad, {page.ZERO: zero, page.BAD: bad}, kept)


def test_learning_predicates_turn():
    assert learning() == {"learns": True, "drawing-costs": True}
    assert not learning(bad=80.5)["learns"]
    assert not learning(undrawn=257.5)["drawing-costs"]
    assert not learning(zero=259.5)["drawing-costs"]


def test_climb_predicates_turn():
    assert page.collect_climb_predicates(260.0, 259.9, 257.0) == {
        "climb-is-certain": True,
        "constant-is-less": True,
    }
    assert page.collect_climb_predicates(260.0, 250.0, 250.0) == {
        "climb-is-certain": False,
        "constant-is-less": False,
    }


def test_projected_intervals_may_meet():
    assert page.compare_projected_intervals(FOUR) == (0, 2, True)
    alike = Sources([5.0, 5.0], [1.0, 1.1], [0.5, 0.5])
    assert page.compare_projected_intervals(alike) == (1, 0, False)


def test_wall_costs_between_intervals():
    assert page.wall_costs(True, 200.0, 257.0, 260.0)
    assert not page.wall_costs(False, 200.0, 257.0, 260.0)
    assert not page.wall_costs(True, 256.5, 257.0, 260.0)


@pytest.mark.parametrize(
    ("changed", "silent"),
    [
        ({"climbed": 340.0}, "form-lacks"),
        ({"learned": 336.5}, "steps-too-short"),
        ({"stuck": 337.0}, "steeper-is-stuck"),
    ],
)
def test_second_budget_predicates_turn(changed, silent):
    def said(climbed=337.0, learned=290.0, stuck=327.0):
        columns = {"index policy": 340.0, "climbed off-line": climbed, "learned": learned}
        bad = pd.Series(columns)
        return page.collect_remaining_predicates(
            pd.Series(columns | {"climbed off-line": 330.0}), bad, stuck
        )

    assert set(said().values()) == {True}
    assert not said(**changed)[silent]
