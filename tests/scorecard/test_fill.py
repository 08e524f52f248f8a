"""Texts of pages with their numbers and conditions."""

import nbformat
import pytest

from scorecard.fill import FillError, Text, fill_notebook

VALUES = {
    "page-reward": {"value": 2.456, "interval": [2.4, 2.512], "replications": 8},
    "page-alike": {"value": 2.456, "interval": [2.456, 2.456], "replications": 8},
    "page-exact": {"value": 2.456, "interval": None, "replications": None},
    "page-small": {"value": 2e-4, "interval": None, "replications": None},
    "page-list": {"value": [1.0, 2.5], "interval": None, "replications": None},
    "page-rises": {"value": True, "interval": None, "replications": None},
    "page-2-5": {"value": 3, "interval": None, "replications": None},
    "page-total": {"value": 12, "interval": None},
    "page-none-of": {"value": 0, "interval": None},
    "page-one": {"value": 1, "interval": None},
}
OTHERS = {"page-other-gain": {"value": -1.5, "interval": None}}


def make_texts(**fields):
    computed, printed = {"X-1": 260.3856}, {"X-1": "254.66"}
    values = {"part/page": VALUES, "part/page-other": OTHERS}
    return Text(values, computed, printed, {"X-1": "explained"}, **fields)


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("{{ v.reward | fmt('.1f') }}", "2.5"),
        ("{{ v.reward | fmt('±2') }}", "2.46 ± 0.06"),
        ("{{ v.alike | fmt('±2') }}", "2.46"),
        ("{{ v.exact | fmt('±3') }}", "2.456"),
        ("{{ v.list | fmt('.1f') }}", "[1.0, 2.5]"),
        ("{{ v.small | fmt('.0e') }}", "2\u00a0×\u00a010⁻⁴"),
        ("{{ v['2_5'] }}", "3"),
        ("{{ v.none_of | among(v.total) }} sets", "none of 12 sets"),
        ("{{ v['2_5'] | among(v.total) }} sets", "3 of 12 sets"),
        ("{{ v.total | among(v.total, 'set') }}", "all 12 sets"),
        ("{{ v.none_of | among(v.one, 'long set') }}", "0 of 1 long set"),
        ("{{ v['2_5'] | to(v.total, 'd') }} sets", "3 to 12 sets"),
        ("{{ v.total | to(v.total, 'd') }} sets", "12 sets"),
        ("{{ pages['page-other'].gain | fmt('.2f') }}", "-1.50"),
        ("{{ computed('X-1', '.2f') }}, {{ printed('X-1') }}", "260.39, 254.66"),
        ("{{ verdict('X-1') }}", "explained"),
        ("{{ v.reward | sets('explore-it', 'M', '.1f') }}", "2.5"),
        ("{% if v.rises and v.reward > 2 %}\nA.\n{% else %}\nB.\n{% endif %}\n", "A.\n"),
        ("{% if document %}a{% endif %}b", "ab"),
    ],
)  # fmt: skip
def test_numbers_and_conditions_are_filled(template, text):
    assert make_texts().fill(template, "part/page") == text


@pytest.mark.parametrize(
    ("template", "source"),
    [
        ("{{ v.reward | fmt('.1f') }}", "2.5 <value page-reward:.1f>"),
        ("{{ computed('X-1', '.2f') }}", "260.39 <computed X-1:.2f>"),
        ("{{ printed('X-1') }}", "254.66 <printed X-1>"),
        ("{{ v.exact | follows('explore-it', 'gain', '.3f') }}",
         "2.456 <follows page-exact:.3f explore-it gain>"),
    ],
)  # fmt: skip
def test_numbers_for_sphinx_name_their_source(template, source):
    text = make_texts(for_sphinx=True).fill(template, "part/page")
    assert text == f"{{number}}`{source}`"


@pytest.mark.parametrize(
    "template",
    [
        "{{ v.none | fmt('.1f') }}",
        "{{ v.none }}",
        "{{ v.reward | fmt('±') }}",
        "{{ v.reward | fmt('q') }}",
        "{{ printed('X-2') }}",
        "{{ pages['page-none'].gain }}",
        "{% if v.none %}a{% endif %}",
        "{{ v.reward",
        "{% if v.rises %}",
        "{{ v.reward | odd }}",
    ],
)
def test_missing_or_malformed_number_is_refused(template):
    with pytest.raises(FillError, match=r"part/page, line 2 of its text"):
        make_texts().fill(f"A line.\n{template}", "part/page")


def test_page_is_filled_from_its_record():
    texts = Text({"part/page": VALUES}, {"X-1": 260.3856}, {"X-1": "254.66"}, document=False)
    template = (
        "{{ v.reward | fmt('.1f') }}, {{ computed('X-1', '.0f') }}{% if document %}!{% endif %}"
    )
    assert texts.fill(template, "part/page") == "2.5, 260"
    assert texts.filled == {"page-reward:.1f": "2.5", "X-1:.0f": "260"}


def test_condition_spans_cells():
    make = nbformat.v4
    notebook = make.new_notebook(
        cells=[
            make.new_markdown_cell("# A page\n{% if v.rises %}\nIt rises."),
            make.new_code_cell("f'{{x}}'"),
            make.new_markdown_cell("{% else %}\nIt falls."),
            make.new_code_cell("1"),
            make.new_markdown_cell("{% endif %}\nAlways."),
        ]
    )
    filled = fill_notebook(make_texts(), notebook, "part/page")
    sources = [cell.source for cell in filled.cells]
    assert sources == ["# A page\nIt rises.", "f'{{x}}'", "Always."]
