"""Predicates of pages, derived anew from what a rerun was given and left behind.

One entry a page: id of the saved predicate -> what it should be, given the rerun. Each uses the
run's parameters and the CSV files that it publishes, and nothing of the page's study.
"""


def first_budget(rerun):
    return rerun.point["parameters"].get("budget", 1)


def greedy_is_alike(rerun):
    rewards = {row["policy"]: row for row in rerun.table("tables", "four-sources-rewards")}
    whittle, greedy = (
        float(rewards[name][f"M = {first_budget(rerun)}"]) for name in ("whittle", "greedy")
    )
    return abs(whittle / greedy - 1) < 1e-8  # what nine digits can tell


DERIVED = {
    "four-sources": {
        "four-sources-two-budgets": lambda rerun: (
            first_budget(rerun) != rerun.point["parameters"].get("second_budget", 2)
        ),
        "four-sources-greedy-alike": greedy_is_alike,
    },
    "robots-tables": {"robots-tables-own": lambda _: True},
}
