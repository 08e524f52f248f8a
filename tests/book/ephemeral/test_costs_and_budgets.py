"""Costs and budgets: verdicts turn on falsified models, and instances keep what they promise."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from analysis.ephemeral import four_sources
from analysis.ephemeral.optimum.costs import FILLS, simulate_costs
from analysis.sweep import sweep
from book.ephemeral import costs_and_budgets as page
from tests.support import assert_all_turn, verdicts


@pytest.fixture(scope="module")
def instances():
    rows = sweep(page.compare_fills, [(3, 4.0)], seed=2, replications=6, jobs=1, progress=False)[0]
    return pd.DataFrame(rows)


def test_verdicts_turn_on_falsified_models(instances):
    four = four_sources()
    dear = replace(four, cost=np.array([2.0, 1.0, 1.5, 1.0]))
    true = page.Results(instances, page.find_differing_budgets(four, (1.0, 2.0, 3.0)))
    within = instances.assign(reach_cost=instances["debt_cost"])
    assert verdicts(page.claims(true)) == {"A-r-thm1-policy": "holds under", "A-r-costs": "context"}
    assert_all_turn(
        page.claims,
        true,
        {
            "costs that differ": replace(true, differ=page.find_differing_budgets(dear, (2.5,))),
            "overshoots that are owed": replace(true, instances=within),
        },
    )
    assert verdicts(page.claims(replace(true, instances=within)))["A-r-thm1-policy"] == "holds"


def test_costs_respect_budget(instances):
    for row in instances.to_dict("records"):
        for fill in set(FILLS) - {"reach", "debt"}:
            assert row[fill] <= 1 + 1e-6
            assert row[f"{fill}_cost"] <= 1 + 1e-9
        assert row["debt"] <= row["bound"] * (1 + 1e-9)
        assert row["debt_cost"] <= 1 + 1e-9
        assert row["reach_cost"] >= 1 - 1e-9


def test_summary_has_mean_and_worst():
    columns = {f: [1.0, 0.8] for f in FILLS} | {f"{f}_cost": [1.0, 1.5] for f in FILLS}
    row = page.summarise_fills(pd.DataFrame(columns)).loc["skip"]
    assert row.tolist() == pytest.approx([0.1, 0.2, 1.25, 1.5])


def test_least_cost_keeps_limit():
    four = four_sources()
    cost, run = page.find_least_cost(four, 0, 3, 2.0)
    assert run.frequency[0] <= 1 / 3 + 1e-12
    costs = np.array([cost - 0.5, 1.0, 1.0, 1.0])
    assert simulate_costs(replace(four, cost=costs), "debt", 2.0).frequency[0] > 1 / 3
    assert page.find_least_cost(four, 0, 1, 2.0)[0] == 1.0
