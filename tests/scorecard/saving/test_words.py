"""The words of a row: read from its document's file, filled with numbers, or refused."""

import dataclasses

import numpy as np
import pytest

from scorecard.prints import documents, printed_rows
from scorecard.running.notebooks import all_notebooks
from scorecard.saving import records, words
from scorecard.saving.words import claim

STATEMENT, SECOND, NUMBER = "C-suboptimal", "C-curse", "C-beta"
FILE = """
# What the book says.
restart-model:
  C-suboptimal:
    condition: costs are positive
    evidence: above the optimum on {beaten} of {systems} systems
"""


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Return a function that writes the words of the restart slides, and forgets what was read."""
    monkeypatch.setattr(words, "FOLDER", tmp_path)

    def write(text):
        (tmp_path / "restarts-slides-2019.yml").write_text(text)
        words.read_entries.cache_clear()

    yield write
    words.read_entries.cache_clear()


def entry(evidence, more=""):
    return f"restart-model:\n  {STATEMENT}:\n    evidence: {evidence}\n{more}"


def test_numbers_stand_in_the_words_of_the_row(write):
    write(FILE)
    said = claim(STATEMENT, True, numbers={"beaten": np.int64(3), "systems": 9})
    assert said.evidence == "above the optimum on 3 of 9 systems"
    assert said.condition == "costs are positive"
    assert said.value is True


def test_a_condition_is_left_out_where_the_study_finds_it_needless(write):
    write(FILE)
    said = claim(STATEMENT, True, condition=False, numbers={"beaten": 3, "systems": 9})
    assert said.condition == ""
    write(entry("words"))
    with pytest.raises(ValueError, match=r"C-suboptimal: condition=False"):
        claim(STATEMENT, True, condition=False)


def test_words_differ_by_outcome(write):
    write(entry("{holds: 'on {n} systems', fails: nowhere, tied: at a tie}"))
    assert claim(STATEMENT, True, numbers={"n": 2}).evidence == "on 2 systems"
    assert claim(STATEMENT, False, numbers={"n": 2}).evidence == "nowhere"
    assert claim(STATEMENT, True, outcome="tied").evidence == "at a tie"
    with pytest.raises(ValueError, match=r"C-suboptimal: outcome must be one of .* got 'odd'"):
        claim(STATEMENT, True, outcome="odd")
    write(entry("words"))
    with pytest.raises(ValueError, match="C-suboptimal: outcome must be"):
        claim(STATEMENT, True, outcome="tied")


def test_a_list_has_a_template_for_each_item(write):
    lists = "    lists:\n      least: {each: '{name} {value:.2f}', between: '; '}\n"
    write(entry("'by generator: {least}'", lists))
    said = claim(STATEMENT, True, numbers={"least": {"lazy": 1.0, "busy": 2.5}}).evidence
    assert said == "by generator: lazy 1.00; busy 2.50"
    write(entry("at {least}", "    lists:\n      least: {each: '{a}/{b}'}\n"))
    pairs = [{"a": 1, "b": 2}, {"a": 3, "b": 4}]
    assert claim(STATEMENT, True, numbers={"least": pairs}).evidence == "at 1/2, 3/4"


def test_rows_share_an_entry(write):
    choices = "    assumes: [a choice of all]\n"
    others = f"  {STATEMENT}:\n    condition: costs are positive\n    assumes: [its own]\n"
    write(entry("words", choices + others).replace(STATEMENT, "C-*", 1))
    said = claim(STATEMENT, True)
    assert (said.condition, said.evidence) == ("costs are positive", "words")
    assert said.assumes == ("a choice of all", "its own")
    assert (claim(SECOND, True).condition, claim(SECOND, True).evidence) == ("", "words")
    write(entry("of both").replace(STATEMENT, f"{STATEMENT} {SECOND}"))
    assert claim(STATEMENT, True).evidence == claim(SECOND, True).evidence == "of both"


def test_an_asterisk_fits_rows_of_the_document_alone(write):
    write(entry("words").replace(STATEMENT, "C-*"))
    slides = {id for id, row in printed_rows().items() if row.document == "restarts-slides-2019"}
    assert words.read_entries("restarts-slides-2019").keys() == {i for i in slides if i[:2] == "C-"}


@pytest.mark.parametrize(
    ("template", "number", "said"),
    [
        ("'{n:.0%}'", 0.5, "50%"),
        ("'{n:pluralise arm}'", 1, "1 arm"),
        ("'{n:pluralise story stories}'", 2, "2 stories"),
        ("'{n:range .1f}'", (1, 2), "1.0 to 2.0"),
        ("'{n:plus_minus}'", (2.5, 0.031), "2.50 ± 0.03"),
        ("'{n:plus_minus 1}'", (2.5, 0.31), "2.5 ± 0.3"),
        ("set {{{n}}}", 3, "set {3}"),
    ],
)
def test_numbers_are_written_as_the_template_says(write, template, number, said):
    write(entry(template))
    assert claim(STATEMENT, True, numbers={"n": number}).evidence == said


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"beaten": 3}, "C-suboptimal: a template names 'systems', which is not given"),
        ({"beaten": 3, "systems": 9, "x": 1}, "C-suboptimal: no template names the number 'x'"),
        ({"beaten": "a sentence " * 5, "systems": 9}, "must be a number or a short name"),
        ({"beaten": {1, 2}, "systems": 9}, "must be a number or a short name"),
        ({"beaten": ["a sentence " * 5], "systems": 9}, "must be a number or a short name"),
        ({"beaten": 3, "systems": " "}, "must be a number or a short name"),
    ],
)
def test_numbers_and_templates_fit_each_other(write, given, message):
    write(FILE)
    with pytest.raises(ValueError, match=message):
        claim(STATEMENT, True, numbers=given)


def test_a_row_that_needs_words_has_some(write):
    write(FILE)
    with pytest.raises(ValueError, match=r"C-curse: a claim needs words in .*/restarts-slides"):
        claim(SECOND, True)
    assert claim(NUMBER, 0.95).evidence == ""
    with pytest.raises(ValueError, match="id must name a row"):
        claim("C-none", True)


@pytest.mark.parametrize("field", [f for f in words.WORDS if f != "condition"])
def test_words_from_a_study_are_refused(write, field):
    write(FILE)
    with pytest.raises(ValueError, match=f"C-suboptimal: {field} belongs in a file"):
        claim(STATEMENT, True, numbers={"beaten": 3, "systems": 9}, **{field: "words"})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (FILE.replace("C-suboptimal", "C-none"), "restarts-slides-2019 has no row C-none"),
        (FILE.replace("C-suboptimal", "A-r-eq1"), "restarts-slides-2019 has no row A-r-eq1"),
        (
            FILE + "restart-myopic:\n  C-suboptimal:\n    evidence: x\n",
            "C-suboptimal occurs twice, under the page",
        ),
        (FILE + "  C-suboptimal:\n    evidence: x\n", "C-suboptimal is given twice"),
        (entry("''"), "C-suboptimal: a template must be one line of text"),
        (entry(""), "C-suboptimal: a template must be one line of text"),
        (entry("' words'"), "a template must be one line"),
        (entry("{holds: ''}"), "a template must be one line"),
        (entry("{}"), "a template must be one line"),
        (entry("1.5"), "a template must be one line"),
        (entry("|\n      two\n      lines"), "a template must be one line"),
        (entry("on {n of them"), "C-suboptimal: "),
        (entry("on {n.real} of them"), "C-suboptimal: a field must be a plain name"),
        (entry("on {} of them"), "a field must be a plain name"),
        (entry("on {n!r} of them"), "a field must be a plain name"),
        (entry("words", "    evidnce: words\n"), "C-suboptimal: a field must be one of"),
        (entry("words", "    assumes: a choice\n"), "assumes must be a list"),
        (entry("words", "    assumes: ['']\n"), "a template must be one line"),
        (entry("words", "    lists: {n: {each: '{value}'}}\n"), "no template names the list 'n'"),
        (
            entry("a {n}", "    lists: {n: {item: '{value}'}}\n"),
            "a list needs .each. and ",
        ),
        (
            entry("words").replace("suboptimal", "*-none"),
            r"2019 has no row C-\*-none",
        ),
        (
            entry("words").replace("C-suboptimal", "A-r-*"),
            r"2019 has no row A-r-\*",
        ),
        (
            entry("words", "  C-subopt*:\n    evidence: x\n"),
            "evidence of C-suboptimal occurs twice",
        ),
        (entry("x").replace("C-sub", "C-none C-sub"), "restarts-slides-2019 has no row C-none"),
        (entry("x").replace(STATEMENT, f"{STATEMENT} {STATEMENT}"), "C-suboptimal occurs twice"),
        (FILE + "restart-myopic:\n  C-sub*:\n    context: x\n", "C-sub.* under the page restart-m"),
        ("restart-model:\n  C-suboptimal: {}\n", "must be 'name: value' lines"),
        ("restart-model:\n", "must be 'name: value' lines"),
        (
            "'restart-model':\n  C-suboptimal:\n    evidence: x\n",
            "the line of a page",
        ),
        ("restart-model: {C-suboptimal: {evidence: x}}\n", "the line of a page"),
    ],
)
def test_a_file_with_a_fault_is_refused(write, text, message):
    write(text)
    with pytest.raises(ValueError, match=message):
        words.read_entries("restarts-slides-2019")


def test_words_are_recorded_on_the_page_under_which_they_stand(write, tmp_path, monkeypatch):
    write(FILE)
    said = claim(STATEMENT, True, numbers={"beaten": 3, "systems": 9})
    monkeypatch.setenv("BOOK_RUN_DIR", str(tmp_path / "run"))
    monkeypatch.setattr(records, "_records", {})
    monkeypatch.setattr(records, "run_facts", lambda: {"notebook": "restarts/restart-myopic"})
    with pytest.raises(ValueError, match="C-suboptimal are filed under the page restart-model"):
        records.record_claims([said])
    monkeypatch.setattr(records, "run_facts", lambda: {"notebook": "restarts/restart-model"})
    records.record_claims([said])


def test_a_page_depends_on_its_own_words_alone(write):
    write(FILE)
    before = {page: words.read_page_words(page) for page in ("restart-model", "restart-myopic")}
    write(FILE.replace("positive", "negative"))
    after = {page: words.read_page_words(page) for page in before}
    assert after["restart-model"] != before["restart-model"]
    assert after["restart-myopic"] == before["restart-myopic"]
    write(FILE + "restart-myopic:\n  C-curse:\n    evidence: words\n")
    assert words.read_page_words("restart-model") == before["restart-model"]
    assert "words" in words.read_page_words("restart-myopic")


def test_all_files_can_be_read_and_name_pages_of_the_book():
    files = {path.stem for path in words.FOLDER.glob("*.yml")}
    assert files
    assert files <= set(documents())
    pages = {entry.page for document in files for entry in words.read_entries(document).values()}
    assert pages <= set(all_notebooks())


@pytest.mark.parametrize("document", sorted(documents()))
def test_each_row_that_needs_words_has_an_entry(document):
    rows = {id for id, row in printed_rows().items() if row.document == document}
    wanted = {id for id in rows if printed_rows()[id].kind in words.KINDS_WITH_WORDS}
    assert wanted - words.read_entries(document).keys() == set()


def test_a_row_has_an_entry_of_plain_words():
    fields = {field.name for field in dataclasses.fields(words.Claim)}
    assert set(words.WORDS) <= fields
