import pytest

from analysis.ephemeral.scheduler.machines.sizing import cluster_plan


def test_cluster_on_paper():
    plan = cluster_plan(1e10, 0.01, 100, 42.0, 1e10, 0.5)
    assert plan["sources"] == 1e8
    assert plan["memory"] == pytest.approx(4.2e9)
    assert plan["seconds"] == pytest.approx(0.5 * 1e8 * 32 / 1e10)
    assert (plan["messages"], plan["bytes"]) == (400, 3200)
    with pytest.raises(ValueError, match="machines"):
        cluster_plan(1e10, 0.01, 0, 42.0, 1e10, 0.5)
