"""Claims of the page on applications: each turns on a false model."""

import pytest

from analysis.restarts import whittle_index
from analysis.restarts.instances import example_queues
from book.restarts import restart_applications as page
from scorecard.verdicts import add_words
from tests.support import verdicts

COSTS = {"optimum": 2.0, "index policy": 2.01, "worst state first": 3.0}


def test_applications_in_context():
    found = page.claims(COSTS, COSTS)
    assert set(verdicts(found).values()) == {"context"}
    said = {claim.id: add_words(claim).context for claim in found}
    assert "0.50% above the exact optimum, worst state first 50.0%" in said["C-app-machine"]


def test_arms_table_has_every_law():
    arms = example_queues(4)[:2]
    table = page.tabulate_arms(arms, ["trickle", "bursts"], "holding", "sending")
    assert len(table) == 2 * (5 + 1)
    row = table.loc[("bursts", "1")]
    assert [row[f"to {y}"] for y in range(5)] == pytest.approx([0, 0.8, 0, 0, 0.2])
    assert table.loc[("bursts", "restart"), "to 0"] == pytest.approx(0.8)
    assert (row["holding"], row["sending"]) == (1, 1)


def test_warning_alone_not_urgent():
    warned, sudden = (
        whittle_index(arm, 0.95, method="definition") for arm in page.make_sensor_machines()
    )
    new, at_risk, failed = warned.index
    assert at_risk == pytest.approx(new)
    assert failed > sudden.index[1]
