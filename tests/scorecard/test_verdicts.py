"""Each rule of the scorecard, and the words of rows."""

import dataclasses
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scorecard import verdicts as words
from scorecard.collate import CollationError, collate
from scorecard.prints import KINDS, Printed, documents, printed_rows
from scorecard.record import WORDS, Claim, claim, record_claims
from scorecard.running.notebooks import all_notebooks
from scorecard.verdicts import VERDICTS, RecordError, add_words, classify_erratum, judge


def row(printed, kind="number", unit=None):
    return Printed("X-1", "document", "section 1", kind, printed, unit)


def verdict(printed, value=None, *, kind="number", unit=None, **fields):
    if isinstance(value, tuple):
        value = list(value)
    return judge(row(printed, kind, unit), Claim("X-1", value, **fields)).verdict


# Numbers.


@pytest.mark.parametrize(
    ("printed", "value", "expected"),
    [
        ("254.66", 254.66, "matches"),
        ("254.66", 254.6649, "matches"),
        ("254.66", 254.6651, "differs"),
        ("254.66", 254.67, "differs"),
        ("254.66", 254.65, "differs"),
        ("254.66", 254.6551, "matches"),
        ("254.66", -254.66, "differs"),
        ("-0.5", -0.46, "matches"),
        ("250", 250.4, "matches"),
        ("250", 250.6, "differs"),
        ("250", 250, "matches"),
        ("1.0", 1.04, "matches"),
        ("1.0", 1.06, "differs"),
        ("1.00", 1.04, "differs"),
        ("1.5e3", 1540.0, "matches"),
        ("1.5e3", 1560.0, "differs"),
        ("5e-3", 0.0054, "matches"),
        ("5e-3", 0.0056, "differs"),
        ("5.0e-3", 0.0054, "differs"),
        ("0", 0, "matches"),
    ],
)
def test_number_matches_printed_digits(printed, value, expected):
    assert verdict(printed, value) == expected
    assert verdict(printed, value, kind="table-cell") == expected


@given(
    st.integers(-(10**6), 10**6),
    st.integers(0, 6),
    st.floats(-0.499, 0.499),
    st.sampled_from([-1, 1]),
)
def test_rounding_decides(whole, digits, inside, side):
    unit = 10.0**-digits
    printed = f"{whole * unit:.{digits}f}"
    assert verdict(printed, float(printed) + inside * unit) == "matches"
    assert verdict(printed, float(printed) + side * unit) == "differs"  # one off in the last digit


def test_approximate_print_has_unit():
    """ "Around 160" is 160 in units of ten: 155 to 165."""
    assert verdict("160", 164.0, unit=10) == "matches"
    assert verdict("160", 166.0, unit=10) == "differs"
    assert verdict("160", 164.0) == "differs"
    assert verdict("1", 0.6, unit=1) == "matches"
    assert verdict("160", 161.0, unit=0.5) == "differs"  # a unit may be finer than the digits


def test_interval_decides():
    fields = {"interval": [9.8, 10.2], "replications": 100}
    assert verdict("10.1", 10.0, **fields) == "within the interval"
    assert verdict("10.0", 10.0, **fields) == "matches"
    assert verdict("12.0", 10.0, **fields) == "differs"
    assert verdict("10.24", 10.0, **fields) == "differs"


@pytest.mark.parametrize(
    ("printed", "interval", "expected"),
    [
        # A print stands for all that rounds to it: 11.0 is any number from 10.95 to 11.05.
        ("11.0", [10.7, 10.96], "within the interval"),
        ("11.0", [10.7, 10.94], "differs"),
        ("11.0", [11.04, 11.4], "within the interval"),
        ("11.0", [11.06, 11.4], "differs"),
        ("-11.0", [-10.96, -10.7], "within the interval"),
        ("-11.0", [-10.94, -10.7], "differs"),
        ("-11.0", [-11.4, -11.04], "within the interval"),
        ("-11.0", [-11.4, -11.06], "differs"),
    ],
)
def test_print_covers_half_unit(printed, interval, expected):
    assert verdict(printed, 12.0, interval=interval, replications=9) == expected


def test_wide_interval_is_undetermined():
    assert verdict("100", 101.0, interval=[98.0, 103.0], replications=9) == "within the interval"
    assert verdict("100", 101.0, interval=[98.0, 103.1], replications=9) == "not determined"
    assert verdict("100", 101.0, interval=[100.6, 1e6], replications=9) == "differs"
    # At zero a share says nothing: the rounding unit is the greatest width.
    assert verdict("0.0", 0.06, interval=[0.02, 0.12], replications=9) == "within the interval"
    assert verdict("0.0", 0.06, interval=[0.01, 0.12], replications=9) == "not determined"
    said = judge(row("100"), Claim("X-1", 101.0, interval=[1.0, 200.0], replications=9)).reason
    assert "too wide" in said


def test_narrow_interval_keeps_match():
    """A value that rounds to the print matches, however well it is known."""
    for half in (1.0, 0.01, 1e-6, 0.0):
        interval = [10.04 - half, 10.04 + half]
        assert verdict("10.0", 10.04, interval=interval, replications=5) == "matches"


@given(st.floats(-1e4, 1e4), st.floats(0, 100), st.floats(0, 100), st.floats(0, 50))
def test_wider_interval_never_contradicts(value, below, above, more):
    order = ["differs", "not determined", "within the interval", "matches"]
    near = verdict("12.5", value, interval=[value - below, value + above], replications=9)
    wide = [value - below - more, value + above + more]
    found = verdict("12.5", value, interval=wide, replications=9)
    assert order.index(found) >= min(order.index(near), 1)


def test_range_takes_worse_end():
    assert verdict("[95.5, 100]", (95.52, 100.0)) == "matches"
    assert verdict("[95.5, 100]", (95.4, 100.0)) == "differs"
    assert verdict("[95.5, 100]", (95.5, 99.4)) == "differs"
    assert verdict("[95.5, 100]", (100.0, 95.5)) == "differs"


def test_range_ends_have_intervals():
    ends = {"interval": [[95.0, 96.0], [99.9, 100.0]], "replications": 50}
    assert verdict("[95.5, 100]", (95.7, 100.0), **ends) == "within the interval"
    assert verdict("[94.5, 100]", (95.7, 100.0), **ends) == "differs"
    # The wide interval of the lower end does not excuse the upper one.
    assert verdict("[95.5, 98]", (95.5, 100.0), **ends) == "differs"


def test_the_number_of_ends_must_agree():
    for printed, value, fields in [
        ("[1, 2]", 1.0, {}),
        ("1", (1.0, 2.0), {}),
        ("[1, 2]", (1.0, 2.0, 3.0), {}),
        ("[1, 2]", (1.0, 5.0), {"interval": [0.0, 6.0], "replications": 9}),
        ("1", 2.0, {"interval": [[0.0, 1.0], [2.0, 3.0]], "replications": 9}),
    ]:
        with pytest.raises(RecordError, match="X-1"):
            verdict(printed, value, **fields)


def test_cause_explains_print():
    cause = {"explained": 254.6649, "because": "a transient"}
    assert verdict("254.66", 260.39, independent=260.392, **cause) == "explained"
    assert verdict("254.66", 260.39, independent=260.40, **cause) == "differs"
    assert verdict("254.66", 208.33, independent=260.39, **cause) == "differs"
    with pytest.raises(RecordError, match="independent"):
        verdict("254.66", 260.39, **cause)
    with pytest.raises(RecordError, match="because"):
        verdict("254.66", 260.39, explained=254.66)
    with pytest.raises(RecordError, match="explains nothing"):
        verdict("254.66", 260.39, independent=260.39, **cause | {"explained": 254.67})


def test_what_matches_needs_no_explanation():
    assert verdict("254.66", 254.66, explained=1.0, because="never looked at") == "matches"


@pytest.mark.parametrize("value", [None, True])
def test_a_number_needs_a_number(value):
    with pytest.raises(RecordError, match="X-1"):
        verdict("254.66", value)


@pytest.mark.parametrize(
    "printed", ["infinity", "95.5 %", "3^100", "ticks 1 2", "", "1,000", "1 2"]
)
def test_words_are_no_number(printed):
    with pytest.raises(RecordError, match="can only be missing"):
        verdict(printed, 1.0)
    assert verdict(printed, missing="what it measures") == "not determined"


@given(
    st.sampled_from(["254.66", "[95.5, 100]", "160"]), st.floats(-1e9, 1e9), st.floats(-1e9, 1e9)
)
def test_every_number_gets_one_known_verdict(printed, low, high):
    value = (low, high) if printed.startswith("[") else low
    assert verdict(printed, value) in {"matches", "differs"}


# Choices that the document does not print.


UNDER = {"assumes": ("the start is zero",), "alternatives": [2.0, 3.04, 3.06]}


def test_choice_gives_conditional_match():
    assert verdict("3.0", 3.0, **UNDER) == "matches under"
    assert verdict("3.0", 3.0, kind="table-cell", **UNDER) == "matches under"
    assert verdict("3.0", 3.0) == "matches"
    assert verdict("3.0", 4.0, **UNDER) == "differs"
    near = {"interval": [2.98, 3.1], "replications": 9}
    assert verdict("3.0", 3.07, **near) == "within the interval"
    assert verdict("3.0", 3.07, **near, **UNDER) == "matches under"


def test_alternatives_are_counted():
    found = judge(row("3.0"), Claim("X-1", 3.0, because="a cause", **UNDER))
    assert found.reason == "Of 3 other choices 1 give the printed digits. a cause"
    assert found.assumes == ("the start is zero",)
    ends = {"assumes": ["a"], "alternatives": [(1, 2), (1, 3), (0, 2)]}
    found = judge(row("[1, 2]"), Claim("X-1", (1, 2), **ends))
    assert found.reason == "Of 3 other choices 1 give the printed digits."
    with pytest.raises(RecordError, match="as many ends"):
        verdict("[1, 2]", (1, 2), assumes=["a"], alternatives=[1, 2])


def test_a_choice_without_alternatives_is_refused():
    with pytest.raises(RecordError, match=r"the start is zero.*alternatives"):
        verdict("3.0", 3.0, assumes=["the start is zero"])


def test_explanation_lists_choices():
    cause = {"explained": 3.0, "because": "a cause", "assumes": ["the start is zero"]}
    cause["independent"] = 4.0
    found = judge(row("3.0"), Claim("X-1", 4.0, **cause))
    assert (found.verdict, found.assumes) == ("explained", ("the start is zero",))


# What may be said of which kind.


@pytest.mark.parametrize("kind", KINDS)
def test_context_kinds(kind):
    claim = Claim("X-1", context="a premise")
    if kind in {"claim", "premise", "reference"}:
        found = judge(row("words", kind), claim)
        assert (found.verdict, found.reason) == ("context", "a premise")
    else:
        with pytest.raises(RecordError, match=f"X-1: a {kind} never is set in context"):
            judge(row("words", kind), claim)


@pytest.mark.parametrize("kind", KINDS)
def test_inputs_and_announced_work_are_never_undetermined(kind):
    claim = Claim("X-1", missing="the initial state")
    if kind in {"number", "table-cell", "figure", "statement", "claim"}:
        assert judge(row("words", kind), claim).verdict == "not determined"
    else:
        with pytest.raises(RecordError, match=f"X-1: a {kind} never is left undetermined"):
            judge(row("words", kind), claim)


@pytest.mark.parametrize("kind", ["number", "table-cell", "parameter", "figure"])
def test_numbers_are_not_judged(kind):
    claim = Claim("X-1", 1, basis="judged", evidence="it looks right")
    with pytest.raises(RecordError, match=f"X-1: a {kind} never is judged"):
        judge(row("1", kind), claim, {""})


def test_what_a_person_judges_says_why():
    found = judge(row("words", "claim"), Claim("X-1", True, basis="judged", evidence="because"))
    assert (found.verdict, found.basis, found.reason) == ("holds", "judged", "because")
    with pytest.raises(RecordError, match="evidence"):
        judge(row("words", "claim"), Claim("X-1", True, basis="judged"))


@pytest.mark.parametrize("kind", ["parameter", "figure", "future"])
def test_only_numbers_and_statements_rest_on_choices(kind):
    claim = Claim("X-1", True, evidence="words", assumes=["a choice"])
    with pytest.raises(RecordError, match=f"X-1: a {kind} never rests on choices"):
        judge(row("words", kind), claim, {""})


def test_a_proof_is_kept_with_the_verdict():
    found = judge(row("words", "claim"), Claim("X-1", True, evidence="x", proof="the-theorem"))
    assert (found.verdict, found.basis, found.proof) == ("holds", "proved", "the-theorem")


# Statements.


@pytest.mark.parametrize("kind", ["statement", "claim", "algorithm"])
def test_statements_hold_or_not(kind):
    assert verdict("words", True, kind=kind, evidence="a proof") == "holds"
    assert verdict("words", False, kind=kind, evidence="a case") == "does not hold"
    said = {"evidence": "a proof", "condition": "costs are positive"}
    assert verdict("words", True, kind=kind, **said) == "holds under"
    assert verdict("words", False, kind=kind, **said) == "does not hold"


def test_statement_needs_evidence():
    with pytest.raises(RecordError, match="evidence"):
        verdict("words", True, kind="claim")
    for value in (None, 1, 0.0):
        with pytest.raises(RecordError, match="True or False"):
            verdict("words", value, kind="claim", evidence="a proof")


def test_a_condition_is_data_beside_the_reason():
    record = Claim("X-1", True, condition="costs are positive", evidence="a proof")
    found = judge(row("words", "claim"), record)
    assert (found.verdict, found.condition, found.reason) == (
        "holds under",
        "costs are positive",
        "a proof",
    )
    both = replace(record, assumes=("time is whole", "the start is zero"))
    found = judge(row("words", "claim"), both)
    assert found.condition == "costs are positive; time is whole; the start is zero"
    false = replace(record, value=False)
    assert judge(row("words", "claim"), false).condition == ""
    found = judge(row("3.0"), Claim("X-1", 3.0, **UNDER))
    assert (found.verdict, found.condition) == ("matches under", "the start is zero")


@pytest.mark.parametrize(
    ("verdict", "typo", "kind"),
    [
        ("does not hold", False, "false"),
        ("does not hold", True, "typo"),
        ("holds under", False, "missing condition"),
        ("holds under", True, "typo"),
        ("matches under", False, "missing condition"),
        ("explained", False, "wrong number"),
        ("differs", True, "typo"),
        ("holds", False, ""),
        ("holds", True, ""),
        ("not determined", False, ""),
    ],
)
def test_erratum_kind_follows_verdict(verdict, typo, kind):
    assert classify_erratum(verdict, typo) == kind


def test_verdict_has_reason():
    for fields in ({"missing": "a law"}, {"value": False, "evidence": "a case"}):
        assert judge(row("words", "claim"), Claim("X-1", **fields)).reason
    with pytest.raises(RecordError, match="needs"):
        judge(row("words", "future"), Claim("X-1", False))


# Figures, parameters, announced work, prose, and rows nobody speaks of.


def test_redrawn_figure_must_exist():
    record = Claim("X-1", figure="four-sources-states", leaves_open="the horizon")
    found = judge(row("a picture", "figure"), record, {"four-sources-states": {}})
    assert (found.verdict, found.reason) == ("redrawn", "the horizon")
    for figures, name in [((), "four-sources-states"), (("other",), "")]:
        with pytest.raises(RecordError, match="no figure"):
            judge(row("a picture", "figure"), Claim("X-1", figure=name), figures)


def test_a_lost_image_is_never_redrawn():
    lost = replace(row("a picture", "figure"), lost="the picture")
    claim = Claim("X-1", figure="states", leaves_open="the horizon")
    found = judge(lost, claim, {"states"})
    assert (found.verdict, found.computed) == ("not determined", "states")
    expected = "lost: the picture. what is drawn in its place leaves open: the horizon"
    assert found.reason == expected
    with pytest.raises(RecordError, match="no figure"):
        judge(lost, claim, {"other"})
    nothing = judge(lost, Claim("X-1", missing="what it shows"))
    assert nothing.reason == "lost: the picture. what it shows"


def test_parameter_numbers_are_used():
    assert verdict("M = 1", 1, kind="parameter") == "used"
    assert verdict("M = 1", 2, kind="parameter") == "differs"
    assert verdict("K = 5, gamma = 0.2", (5, 0.2), kind="parameter") == "used"
    assert verdict("K = 5, gamma = 0.2", (0.2, 5), kind="parameter") == "differs"
    assert verdict("K = 5, gamma = 0.2", 5, kind="parameter") == "differs"


def test_a_parameter_in_words_needs_evidence():
    said = {"kind": "parameter", "evidence": "Table 1"}
    assert verdict("four sources", True, **said) == "used"
    assert verdict("four sources", False, **said) == "does not hold"
    with pytest.raises(RecordError, match="evidence"):
        verdict("four sources", True, kind="parameter")
    with pytest.raises(RecordError, match="True or False"):
        verdict("four sources", **said)


def test_parameter_needs_its_numbers():
    with pytest.raises(RecordError, match="M = 1"):
        verdict("M = 1", kind="parameter", evidence="throughout")


def test_announced_work_is_done_or_open():
    assert verdict("words", True, kind="future", evidence="chapter 4") == "done"
    assert verdict("words", False, kind="future", evidence="not in this book") == "open"
    with pytest.raises(RecordError, match="evidence"):
        verdict("words", True, kind="future")
    with pytest.raises(RecordError, match="True or False"):
        verdict("words", kind="future", evidence="forgotten")


def test_context_excuses_no_computed_value():
    """A value that differs cannot hide behind words."""
    with pytest.raises(RecordError, match="X-1: context is for prose, but 1 was computed"):
        verdict("words", 1, kind="claim", context="only prose")


def test_a_row_without_a_record_is_missing():
    assert judge(row("254.66"), None).verdict == "missing"


# What the scorecard shows of the computed value.


@pytest.mark.parametrize(
    ("printed", "value", "shown"),
    [
        ("254.66", 260.385599, "260.3856"),
        ("250", 250, "250"),
        ("250", 250.4, "250.40"),
        ("[95.5, 100]", [95.52, 100.0], "[95.520, 100.000]"),
        ("1", 1.23456e8, "1.23456e+08"),
    ],
)
def test_computed_value_has_more_digits(printed, value, shown):
    assert judge(row(printed), Claim("X-1", value)).computed == shown


@pytest.mark.parametrize(("value", "shown"), [(True, "yes"), (False, "no"), (None, "")])
def test_open_claim_shows_value(value, shown):
    claim = Claim("X-1", value, missing="what good means")
    assert judge(row("words", "claim"), claim).computed == shown


def test_interval_is_shown():
    number = Claim("X-1", 10.0, interval=[9.0, 11.0], replications=7)
    assert judge(row("10.5"), number).interval == (9.0, 11.0)
    both = Claim("X-1", [95.5, 100.0], interval=[[95.0, 96.0], [99.0, 100.0]], replications=7)
    assert judge(row("[95.5, 100]"), both).interval == (95.0, 100.0)


def test_every_verdict_is_one_of_the_list():
    """A verdict that no list names would have no badge and no filter."""
    cases = [
        (row("1"), Claim("X-1", 1)),
        (row("words", "claim"), Claim("X-1", True, evidence="x", condition="y")),
        (row("words", "future"), Claim("X-1", False, evidence="x")),
        (row("M = 1", "parameter"), Claim("X-1", 1)),
        (row("1"), None),
    ]
    assert all(judge(*case).verdict in VERDICTS for case in cases)


def test_a_record_survives_its_file():
    """What `record.json` holds makes the same claim again."""
    record = Claim("X-1", [1.0, 2.0], interval=[[0.5, 1.5], [1.5, 2.5]], replications=3)
    assert Claim(**record.as_dict()) == record


# The words of a row: read from its document's file, filled with numbers, or refused


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
    with pytest.raises(ValueError, match=r"^id "):
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
        (entry("{holds: x, tied: y}"), "holds and fails"),
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
