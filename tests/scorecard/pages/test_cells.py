"""Cells that only record leave their page, and folded cells say what they do."""

import pytest
from docutils import nodes
from docutils.utils import new_document

from scorecard.pages.theme import describe_cell, only_records, remove_recording_cells


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("# Two ways to the same number.\nfirst = 1", "Two ways to the same number"),
        ("budget: int = 1  # sources; [1, N]; how many", "parameters of this page"),
        ("page.save_states(arms)\npage.draw_costs(arms)", "states, costs"),
        ("from scorecard import record_claims\nrecord_claims(study.claims())",
         "claims on the printed rows"),
        ("import numpy as np\nfrom math import pi", "imports"),
        ("exact, found = solve(1), 2\nsecond = 3", "exact, second"),
        ("    1 + 1", "this step"),
    ],
)  # fmt: skip
def test_folded_cell_has_label(code, said):
    assert describe_cell(code) == said


@pytest.mark.parametrize(
    "code",
    [
        'save_value("page-mean", mean)\nsave_values("page", exercises.of_page())',
        "save_table(\n    'page-rewards', table, 'Rewards.', formats='.2f'\n)",
        "if is_document_run():\n    record_claims(study.claims(found))\nnumbers.save_counts(found)",
        "# Solutions.\nexercises.of_the_page()\npage.draw_numbers(cells)",
        "for k in (1, 2):\n    save_value(f'a-{k}', k)",
        "save_figure('a', draw, 'It rises.', 'Up.')",
        "page.save_curve(curve)",
        "if budget == 1:\n    save_value('a', 1)\nelse:\n    save_value('a', 2)",
    ],
)
def test_a_cell_that_only_records_is_known(code):
    assert only_records(code)


@pytest.mark.parametrize(
    "code",
    [
        "",
        "# A comment.",
        "save_value('a', mean)\nmean",
        "mean = 1\nsave_value('a', mean)",
        "from scorecard import save_value\nsave_value('a', 1)",
        "if sources:\n    save_value('a', 1)\nelse:\n    mean = 2",
        "simulate(sources, 'whittle', budget, horizon)",
        "%timeit save_value('a', 1)",
    ],
)
def test_cell_that_computes_or_shows_stays(code):
    assert not only_records(code)


def test_recording_cells_without_output_leave_the_page():
    tree = new_document("page")
    for code, outputs in (("save_value('a', 1)", 0), ("save_value('b', 2)", 1), ("x = 1", 0)):
        parts = [nodes.container("", nodes.literal_block("", code))]
        parts += [nodes.container("", nodes.Text("a warning"))] * outputs
        tree += nodes.container("", *parts, nb_element="cell_code")
    remove_recording_cells(None, tree)
    assert [cell[0].astext() for cell in tree.children] == ["save_value('b', 2)", "x = 1"]
