"""The rows of the two tables: the choices behind them, and verdicts that turn on false models."""

from dataclasses import replace

import pytest

from analysis.robots.control import RobotControl
from analysis.robots.printed import STEP, TOLERANCE
from book.robots import exercises
from book.robots import robots_tables as page
from scorecard.prints import printed_rows
from tests.support import assert_all_turn, assert_turns, verdicts

FEW = [key for key in page.list_printed_rows() if key[1] == "0.1"]


def solved(monkeypatch):
    """Return results of the rows with lambda = 0.1 only."""
    monkeypatch.setattr(page, "list_printed_rows", lambda: FEW)
    return page.solve_tables(FEW)


@pytest.mark.parametrize("gamma", ["0.4", "1.13", "2.4"])
def test_rows_agree_with_each_other(gamma):
    weight = page.read_gamma(gamma, 15)
    capped, free = page.solve_table_1_row(0.1, 15, weight), page.solve_table_2_row(0.1, 15, weight)
    assert capped.cells["C_s"] == free.cells["C_s"]
    assert free.optimal_cost < capped.optimal_cost < capped.cells["C_s"]
    assert capped.cells["C_d"] == pytest.approx(capped.optimal_cost, abs=1e-4)
    assert capped.cells["N_min"] < capped.cells["Nbar"] < capped.cells["N_s"]


def test_requested_cap_is_kept():
    row = page.solve_table_2_row(0.1, 5, 1.4, cap=lambda best, _: best)
    assert row.robots == row.cells["N_s"] == 10
    assert row.optimal_cost == RobotControl(10, 0.1, 1.0, 5, 1.4).solve().gain


def test_all_rows_are_printed_rows():
    keys = page.list_printed_rows()
    assert len(keys) == 45
    assert keys[0] == ("t1", "0.01", "5", "0.4")


def test_cells_match_under_assumptions(monkeypatch):
    found = solved(monkeypatch)
    said = verdicts(page.claims(found))
    cells = [page.cell_id(key, name) for key in FEW for name in page.COLUMNS[key[0]]]
    assert {said[id] for id in cells} == {"matches", "matches under"}
    assert said["D-t1-0.1-5-1.4-N_s"] == "matches"
    assert said["D-t1-0.1-5-1.4-N_iter"] == "matches under"
    assert said["D-t2-0.1-5-1.4-N_max"] == "matches under"
    assert said["D-t1-0.1-15-1.13-C_s"] == "matches under"
    assert said["D-mu05"] == "does not hold"


def test_misprints_explained_by_neighbours(monkeypatch):
    keys = [("t2", "0.05", "10", "1.2"), ("t2", "0.05", "10", "2.4"), ("t1", "0.05", "10", "2.4")]
    rows = {
        key: (page.solve_table_1_row if key[0] == "t1" else page.solve_table_2_row)(
            0.05, 10, float(key[3])
        )
        for key in keys
    }
    second = {key: page.solve_on_all_states(key) for key in page.MISPRINTED}
    found = page.Results(rows, {}, [rows], 1.0, STEP, TOLERANCE, 43, second)
    said = verdicts(page.claims(found))
    for key in keys[:2]:
        assert said[page.cell_id(key, "C_d")] == "explained"
        assert said[page.cell_id(key, "N_s")] == "matches"
    counted: dict[str, int] = {}
    monkeypatch.setattr(page, "save_value", counted.__setitem__)
    page.save_counts(page.claims(found))
    assert counted["robots-tables-explained"] == 2
    wrong = {key: page.solve_table_2_row(0.05, 10, 1.8) for key in page.MISPRINTED}
    said = verdicts(page.claims(replace(found, rows=rows | wrong)))
    assert {said[page.cell_id(key, "C_d")] for key in keys[:2]} == {"differs"}


def test_verdicts_turn_on_falsified_models(monkeypatch):
    found = solved(monkeypatch)
    with_spare = {
        key: page.solve_table_1_row(float(key[1]), int(key[2]), float(key[3]), spare=1)
        for key in FEW
        if key[0] == "t1"
    }
    lone = {
        key: page.solve_table_2_row(float(key[1]), int(key[2]), float(key[3]), cap=lambda *_: 1)
        for key in FEW
        if key[0] == "t2"
    }
    assert_all_turn(
        page.claims,
        found,
        {
            "one robot more than N_s": replace(found, rows=found.rows | with_spare),
            "control of one robot alone": replace(found, rows=found.rows | lone),
        },
        # A claim of it is refused where the rate that is printed would be the one that was used.
        stands={"D-mu05"},
    )
    fleet = int(next(iter(found.rows.values())).cells["N_s"])
    assert_turns(
        page.claims,
        found,
        replace(found, step=0.9, tolerance=1e-3, service_rate=0.5, half_rate_robots=fleet),
        ["D-tau", "D-tol", "D-t1-caption", "D-t2-caption", "D-mu05"],
    )


def row_of_another_model(key, rate=1.0, places=0, weight=1.0):
    """Return a row of its own table with another arrival rate, queue or weight of starvation."""
    row = page.solve_table_1_row if key[0] == "t1" else page.solve_table_2_row
    gamma = page.read_gamma(key[3], int(key[2]))
    return row(rate * float(key[1]), int(key[2]) + places, weight * gamma)


@pytest.mark.parametrize(
    ("arrival_rate", "capacity"),
    [
        ("0.1", "5"),
        *(pytest.param(*some, marks=pytest.mark.slow) for some in (("0.1", "10"), ("0.1", "15"))),
        *(
            pytest.param(rate, capacity, marks=pytest.mark.slow)
            for rate in ("0.01", "0.05")
            for capacity in ("5", "10", "15")
        ),
    ],
)
def test_every_cell_turns_on_falsified_table(monkeypatch, arrival_rate, capacity):
    keys = [key for key in page.list_printed_rows() if key[1:3] == (arrival_rate, capacity)]
    assert keys
    monkeypatch.setattr(page, "list_printed_rows", lambda: keys)
    found = page.solve_tables(keys)
    right = verdicts(page.claims(found))
    turned = set()
    for other in ({"rate": 1.5}, {"places": 3}, {"weight": 100.0}):
        rows = {key: row_of_another_model(key, **other) for key in keys}
        wrong = verdicts(page.claims(replace(found, rows=rows)))
        turned |= {id for id in right if wrong[id] != right[id]}
    cells = {page.cell_id(key, name) for key in keys for name in page.COLUMNS[key[0]]}
    assert cells <= turned


def test_choices_give_printed_counts(monkeypatch):
    found = solved(monkeypatch)
    assert page.find_common_references(found) == [(1, 1, 1), (2, 1, 2), (3, 0, 0)]
    counts = page.tabulate_references(found, document=True)
    assert (counts["N_iter as printed"] >= 3).all()
    assert (counts["N_iter as printed"] < 0.1 * counts["reference states"]).all()


def test_table_shown_printed_and_computed(monkeypatch):
    found = solved(monkeypatch)
    computed = page.tabulate_computed(found, "t1", document=True)
    assert list(computed.columns[:4]) == ["C_s", "N_s", "C_d", "optimum"]
    assert computed.loc[("0.1", "5", "1.4"), "N_s"] == 10
    gaps = page.tabulate_differences(found, "t1")
    assert (gaps == "0").all(axis=None)
    assert page.tabulate_printed(found, "t2").loc[("0.1", "5", "1.4"), "N_max"] == "16"


def test_columns_have_draft_decimals():
    for key in page.list_printed_rows():
        for column in page.COLUMNS[key[0]]:
            digits = printed_rows()[page.cell_id(key, column)].printed.partition(".")[2]
            assert len(digits) == page.DECIMALS.get(column, 0)


def test_own_rows_replace_printed():
    assert page.list_own_rows([], 0, []) == page.list_printed_rows()
    rows = page.list_own_rows([], 30, [0.7])
    assert {(key[2], float(key[3])) for key in rows} == {("30", 0.7)}
    assert [key[:2] for key in rows].count(("t2", "0.01")) == 1
    critical = page.list_own_rows([0.2], 4, [])[1]
    assert page.find_middle_row([critical]) == (0.2, 4, pytest.approx(1.5))
    # A weight of a reader's own is not taken for gamma(K), as a printed one is.
    (own, _) = page.list_own_rows([0.1], 15, [1.13])
    assert page.find_middle_row([own]) == (0.1, 15, 1.13)
    with pytest.raises(ValueError, match=r"^K "):
        page.list_own_rows([], 1, [])
    # Thousands of robots would take hours.
    with pytest.raises(ValueError, match=r"^service_rate "):
        page.list_own_rows([], 0, [], 27.1)
    assert page.list_own_rows([5.0], 0, [], 27.1)


def test_own_rows_are_solved():
    rows = page.list_own_rows([0.5], 3, [0.7])
    found = page.solve_tables(rows, tolerance=1e-9)
    assert page.saves_more_uncapped(found)
    worse = {key: replace(row, optimal_cost=2.0) for key, row in found.rows.items()}
    assert not page.saves_more_uncapped(replace(found, rows=worse))
    table = page.tabulate_references(found, document=False)
    assert list(table.index) == [("0.5", "3", "0.7")]
    assert (table["C_d is the optimum"] == table["reference states"]).all()
    assert "remark" not in page.tabulate_computed(found, "t2", document=False)


def test_solutions_match_exercise_tables():
    table = exercises.tabulate_rounding()
    assert exercises.find_other_minima() == [(0.01, 5), (0.05, 5), (0.1, 10)]
    assert list(table.index[table["control saves least"] == "no"]) == exercises.find_other_minima()
    rounding = table["excess"]
    assert set(rounding[rounding > 0.2].index) == {(0.01, 5), (0.05, 5), (0.1, 10), (0.01, 15)}
    assert rounding[rounding > 0.2].drop((0.01, 15)).between(0.2, 0.445).all()
    numbers = exercises.tabulate_larger_queues().unstack()
    assert (numbers["N_s, K = 30", "0.4"] > numbers["N_s, K = 15", "0.4"]).all()
    assert list(numbers["N_s, K = 30", "2.4"] - numbers["N_s, K = 15", "2.4"]) == [-3, 0, -1]
    assert (numbers["N_s, K = 30", "γ(K)"] == numbers["N_s, K = 15", "γ(K)"]).all()
