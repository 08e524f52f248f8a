"""The words of a row: read from its document's file, filled with numbers, or refused."""

import dataclasses

import numpy as np
import pytest

from scorecard import verdicts as words
from scorecard.collate import CollationError, collate
from scorecard.prints import documents, printed_rows
from scorecard.record import WORDS, Claim, claim, record_claims
from scorecard.running.notebooks import all_notebooks
from scorecard.verdicts import add_words

STATEMENT, SECOND, NUMBER = "C-suboptimal", "C-curse", "C-beta"
FILE = """
# What the book says.
restart-model:
  C-suboptimal:
    condition: costs are positive
    evidence: above the optimum on {{ beaten }} of {{ systems }} systems
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


def worded(*args, **fields):
    return add_words(claim(*args, **fields))


def entry(evidence, more=""):
    return f"restart-model:\n  {STATEMENT}:\n    evidence: {evidence}\n{more}"


def test_words_contain_numbers(write):
    write(FILE)
    said = worded(STATEMENT, True, numbers={"beaten": np.int64(3), "systems": 9})
    assert said.evidence == "above the optimum on 3 of 9 systems"
    assert said.condition == "costs are positive"
    assert said.value is True


def test_needless_condition_is_omitted(write):
    write(FILE)
    said = worded(STATEMENT, True, condition=False, numbers={"beaten": 3, "systems": 9})
    assert said.condition == ""
    write(entry("words"))
    with pytest.raises(ValueError, match=r"C-suboptimal: condition=False"):
        worded(STATEMENT, True, condition=False)


def test_words_differ_by_outcome(write):
    write(entry("{holds: 'on {{ n }} systems', fails: nowhere}"))
    assert worded(STATEMENT, True, numbers={"n": 2}).evidence == "on 2 systems"
    assert worded(STATEMENT, False, numbers={"n": 2}).evidence == "nowhere"
    write(entry("""'{% if outcome == "tied" %}at a tie{% else %}elsewhere{% endif %}'"""))
    assert worded(STATEMENT, True, outcome="tied").evidence == "at a tie"
    assert worded(STATEMENT, True, outcome="odd").evidence == "elsewhere"


def test_lists_and_mappings_are_written_out(write):
    loop = "{% for item in least %}{{ item.name }} {{ item.value | fmt('.2f') }}; {% endfor %}"
    write(entry(f'"by generator: {loop}"'))
    words_of = worded(STATEMENT, True, numbers={"least": {"lazy": 1.0, "busy": 2.5}}).evidence
    assert words_of == "by generator: lazy 1.00; busy 2.50; "
    write(entry("""at {{ ends | map("fmt", ".1f") | join(" and ") }}"""))
    assert worded(STATEMENT, True, numbers={"ends": np.arange(2)}).evidence == "at 0.0 and 1.0"


def test_rows_share_an_entry(write):
    choices = "    assumes: [a choice of all]\n"
    others = f"  {STATEMENT}:\n    condition: costs are positive\n    assumes: [its own]\n"
    write(entry("words", choices + others).replace(STATEMENT, "C-*", 1))
    said = worded(STATEMENT, True)
    assert (said.condition, said.evidence) == ("costs are positive", "words")
    assert said.assumes == ("a choice of all", "its own")
    assert (worded(SECOND, True).condition, worded(SECOND, True).evidence) == ("", "words")
    write(entry("of both").replace(STATEMENT, f"{STATEMENT} {SECOND}"))
    assert worded(STATEMENT, True).evidence == worded(SECOND, True).evidence == "of both"


def test_asterisk_matches_own_document(write):
    write(entry("words").replace(STATEMENT, "C-*"))
    slides = {id for id, row in printed_rows().items() if row.document == "restarts-slides-2019"}
    assert words.read_entries("restarts-slides-2019").keys() == {i for i in slides if i[:2] == "C-"}


@pytest.mark.parametrize(
    ("template", "number", "said"),
    [
        ("'{{ n | fmt(\".0%\") }}'", 0.5, "50%"),
        ("'{{ n | pluralise(\"arm\") }}'", 1, "1 arm"),
        ('\'{{ n | pluralise("story", "stories") }}\'', 2, "2 stories"),
        ("'{{ n[0] | to(n[1], \".1f\") }}'", (1, 2), "1.0 to 2.0"),
        ("'{{ n | tuples }}'", (1, 2), "(1, 2)"),
        ("'{{ n | tuples }}'", [(1, 2), (3, 4)], "[(1, 2), (3, 4)]"),
        ("'{{ n | tuples }}'", "none", "none"),
        ("'{{ n | plus_minus }}'", (2.5, 0.031), "2.50 ± 0.03"),
        ("'{{ n | plus_minus(1) }}'", (2.5, 0.31), "2.5 ± 0.3"),
    ],
)
def test_numbers_are_written_as_the_template_says(write, template, number, said):
    write(entry(template))
    assert worded(STATEMENT, True, numbers={"n": number}).evidence == said


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"beaten": 3}, "C-suboptimal: 'systems' is undefined"),
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
        worded(STATEMENT, True, numbers=given)


def test_a_row_that_needs_words_has_some(write):
    write(FILE)
    with pytest.raises(ValueError, match=r"C-curse: a claim needs words in .*/restarts-slides"):
        worded(SECOND, True)
    assert worded(NUMBER, 0.95).evidence == ""
    with pytest.raises(ValueError, match="id must name a row"):
        claim("C-none", True)


@pytest.mark.parametrize("field", [f for f in WORDS if f != "condition"])
def test_words_from_a_study_are_refused(write, field):
    write(FILE)
    with pytest.raises(ValueError, match=f"C-suboptimal: {field} belongs in a file"):
        worded(STATEMENT, True, numbers={"beaten": 3, "systems": 9}, **{field: "words"})


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
        (entry("|\n      two\n      lines"), "a template must be one line"),
        (entry("on {{ n of them"), "C-suboptimal: "),
        (entry("on {{ n | odd }} of them"), "C-suboptimal: No filter named 'odd'"),
        (entry("{holds: x, tied: y}"), "texts are told apart as holds and fails"),
        (entry("words", "    evidnce: words\n"), "C-suboptimal: a field must be one of"),
        (entry("words", "    assumes: a choice\n"), "assumes must be a list"),
        (entry("words", "    assumes: ['']\n"), "a template must be one line"),
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
    ],
)
def test_a_file_with_a_fault_is_refused(write, text, message):
    write(text)
    with pytest.raises(ValueError, match=message):
        words.read_entries("restarts-slides-2019")


def test_words_stand_under_their_page(write, start_run):
    write(FILE)
    said = claim(STATEMENT, True, numbers={"beaten": 3, "systems": 9})
    right = start_run("right", notebook="restarts/restart-model")
    record_claims([said])
    wrong = start_run("wrong", notebook="restarts/restart-myopic")
    record_claims([said])
    collation = collate([right], profile="quick", complete=False)
    assert collation.records[STATEMENT]["evidence"] == "above the optimum on 3 of 9 systems"
    with pytest.raises(CollationError, match="filed under the page restart-model, not restarts/r"):
        collate([wrong], profile="quick", complete=False)


def test_word_files_name_pages():
    files = {path.stem for path in words.FOLDER.glob("*.yml")}
    assert files
    assert files <= set(documents())
    pages = {entry.page for document in files for entry in words.read_entries(document).values()}
    assert pages <= set(all_notebooks())


@pytest.mark.parametrize("document", sorted(documents()))
def test_rows_have_entries(document):
    rows = {id for id, row in printed_rows().items() if row.document == document}
    wanted = {id for id in rows if printed_rows()[id].kind in words.KINDS_WITH_WORDS}
    assert wanted - words.read_entries(document).keys() == set()


def test_entry_has_plain_words():
    fields = {field.name for field in dataclasses.fields(Claim)}
    assert set(WORDS) <= fields
