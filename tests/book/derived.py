"""Predicates of pages, derived anew from what a rerun was given and left behind.

One entry a page: id of the saved predicate -> what it should be, given the rerun. Each uses the
run's parameters and the CSV files that it publishes, and nothing of the page's study.
"""

from pathlib import Path


def first_budget(rerun):
    return rerun.point["parameters"].get("budget", 1)


def greedy_is_alike(rerun):
    rewards = {row["policy"]: row for row in rerun.table("tables", "four-sources-rewards")}
    whittle, greedy = (
        float(rewards[name][f"M = {first_budget(rerun)}"]) for name in ("whittle", "greedy")
    )
    given = rerun.point.get("sources")
    path = Path(__file__).parent / "tables" / str(given)
    size = len(path.read_text(encoding="utf-8").splitlines()) - 1 if given else 4
    # There is a choice, and nine digits tell no difference.
    return first_budget(rerun) < size and abs(whittle / greedy - 1) < 1e-8


def learning_costs(rerun):
    rows = rerun.table("tables", "signals-that-lie-factors-table")
    return any(float(row["learnt"]) < float(row["known"]) for row in rows)


def learning_gains(rerun):
    rows = rerun.table("tables", "signals-that-lie-factors-table")
    return any(float(row["learnt"]) > float(row["known"]) for row in rows)


def fresh_is_fresher(rerun):
    rows = rerun.table("tables", "signals-that-lie-rivals")
    alike = [row for row in rows if "alike" in row["policy"]]
    return all(float(row["up to date"]) > float(row["index up to date"]) for row in alike)


def learner_stays_above(rerun):
    rows = rerun.table("tables", "whom-to-trust-hubs")
    return all(float(row["learnt"]) >= 1 for row in rows)


DERIVED = {
    "four-sources": {
        "four-sources-two-budgets": lambda rerun: (
            first_budget(rerun) != rerun.point["parameters"].get("second_budget", 2)
        ),
        "four-sources-greedy-alike": greedy_is_alike,
    },
    "signals-that-lie": {
        "signals-that-lie-learning-costs": learning_costs,
        "signals-that-lie-learning-gains": learning_gains,
        "signals-that-lie-fresh-is-fresher": fresh_is_fresher,
        "signals-that-lie-own-signals": lambda rerun: "signals" in rerun.point,
    },
    "whom-to-trust": {"whom-to-trust-learnt-never-below": learner_stays_above},
    "robots-tables": {"robots-tables-own": lambda _: True},
}
