"""Texts ask for what pages save, in each branch."""

import re

import jinja2
import pytest

from scorecard.files import BOOK
from scorecard.fill import FillError, Text, parse_template, shorten_id
from scorecard.prints import errata, printed_rows
from scorecard.record import read_record
from scorecard.running.notebooks import all_notebooks

TEXTS = {
    path.relative_to(BOOK).with_suffix("").as_posix(): path.read_text(encoding="utf-8")
    for path in sorted([*BOOK.glob("*.md"), *BOOK.glob("[a-z]*/*.md")])
}
PAGES = {notebook.page for notebook in all_notebooks().values()}


def names_asked(text, page):
    """Yield the page and the name of each value that a text asks for."""
    for node in parse_template(text).find_all((jinja2.nodes.Getattr, jinja2.nodes.Getitem)):
        owner, name = node.node, getattr(node, "attr", None) or getattr(node.arg, "value", None)
        if isinstance(owner, jinja2.nodes.Name) and owner.name == "v":
            yield page.rpartition("/")[2], name
        elif isinstance(owner, jinja2.nodes.Getitem):
            yield owner.arg.value, name


def rows_asked(text):
    """Yield the printed rows that a text quotes."""
    for call in parse_template(text).find_all(jinja2.nodes.Call):
        if isinstance(call.node, jinja2.nodes.Name):
            yield call.args[0].value


@pytest.mark.parametrize("page", sorted(PAGES))
def test_pages_use_own_values(page):
    """Else a rerun of that page alone would have none in their place."""
    assert {owner for owner, _ in names_asked(TEXTS[page], page)} <= {page.rpartition("/")[2]}


@pytest.mark.parametrize("page", sorted(TEXTS))
def test_each_branch_is_filled(page):
    asked = [*names_asked(TEXTS[page], page)]
    rows = set(rows_asked(TEXTS[page]))
    assert rows <= printed_rows().keys()
    verdicts, computed = dict.fromkeys(rows, "holds"), dict.fromkeys(rows, 1.5)
    prints = {id: row.printed for id, row in printed_rows().items()}
    for truth, document in ((0, True), (1, True), (0, False), (1, False)):
        values = {owner: {} for owner, _ in asked} | {page.rpartition("/")[2]: {}}
        for owner, name in asked:
            values[owner][name] = {"value": truth, "interval": None}
        texts = Text(values, computed, prints, verdicts, document, for_sphinx=True)
        assert "{{" not in texts.fill(TEXTS[page], page)


def test_missing_value_is_named():
    with pytest.raises(FillError, match=r"part/page, line 2 .*'gain'"):
        Text({"part/page": {}}).fill("Text.\n{{ v.gain }}", "part/page")


#: Values of settings that the quick profile leaves out.
LARGER_PROFILES = {
    *(("learning-trap", name) for name in ("jolt", "jolt_most", "jolts")),
    *(("restart-myopic", name) for name in ("25_1", "25_5", "75_1", "75_5")),
}
EXPLORABLE_VALUES = re.compile(r"^:values: (.*)$", re.MULTILINE)


@pytest.mark.book
def test_values_are_saved_and_read(site):
    """Each value that a text asks for is saved by the page that it names; each saved is read."""
    ids = {
        (page.rpartition("/")[2], shorten_id(page, id)): id
        for page in PAGES
        for id in read_record(site.build / "results" / page)["values"]
    }
    asked = {name for page, text in TEXTS.items() for name in names_asked(text, page)}
    for erratum in errata().values():
        asked |= {*names_asked(f"{erratum.corrected} {erratum.consequence}", "")}
    assert asked - ids.keys() <= LARGER_PROFILES
    given = {
        id for text in TEXTS.values() for id in " ".join(EXPLORABLE_VALUES.findall(text)).split()
    }
    assert {ids[name] for name in ids.keys() - asked} - given == set()
