"""What a reader types is the core schema of YAML 1.2: each text is read right, or refused."""

import json
import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from scorecard.values import (
    MAX_DEPTH,
    ParameterError,
    parse_assignments,
    parse_value,
    read_values,
)

#: Texts that the core schema reads, most of them otherwise than YAML 1.1.
READ = {
    "1:30": "1:30", "190:20:30": "190:20:30", "1_0": "1_0", "1_000.5": "1_000.5", "010": 10,
    "-007": -7, "0o10": 8, "0x1F": 31, "0b11": "0b11", "+12": 12, "08": 8,
    "on": "on", "yes": "yes", "no": "no", "off": "off", "y": "y", "Yes": "Yes",
    "true": True, "False": False, "TRUE": True, "tRUE": "tRUE",
    "~": None, "null": None, "": None, "NULL": None, "nil": "nil",
    ".5": 0.5, "5.": 5.0, "1e3": 1e3, "1E+3": 1e3, "-1.5e-3": -1.5e-3, "1e": "1e", ".": ".",
    "-": [None], "+.inf": math.inf, "-.INF": -math.inf, "inf": "inf", ".Inf": math.inf,
    "2020-01-02": "2020-01-02", "2020-99-99": "2020-99-99", "=": "=", "<<": "<<", "٣": "٣",
    "'5'": "5", '"5"': "5", "!!str 5": "5", "!!float 5": 5.0, "!!int '5'": 5, "!!bool true": True,
    "[1, [on, .5]]": [1, ["on", 0.5]], "{a: 1, 2: b}": {"a": 1, "2": "b"}, "!!seq [1]": [1],
    "{<<: {a: 1}}": {"<<": {"a": 1}},
}  # fmt: skip
REFUSED = [
    "!!float y", "!!float 1_0", "!!int 1:30", "!!int 1.5", "!!bool on", "!!timestamp x",
    "!!timestamp 2020-01-01", "!!binary aGk=", "!!set {a}", "!!omap [a: 1]", "!!python/name:os.x",
    "!!python/object/apply:os.system [ls]", "!mine 3", "! 12", "!!str [1]", "!!seq 3", "!!map 3",
    "9" * 5000, "[1, " + "9" * 5000 + "]", "1e999", "-1e400", "[" * 3000, "{a: " * 3000,
    "[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1), "&a [*a]", "[&a 1, *a]", "{? [1] : 2}",
    "{a: 1, a: 2}", "{[1]: 2}", "a: b: c", "[1", "'a", "\x00", "@a", "`a`", "%a", "--- 1\n--- 2",
    "\ud800",
]  # fmt: skip


@pytest.mark.parametrize("text", READ)
def test_words_mean_what_the_core_schema_says(text):
    value = parse_value(text)
    assert (value, type(value)) == (READ[text], type(READ[text]))


def test_no_number_is_no_number():
    assert math.isnan(parse_value(".nan"))
    assert parse_value("nan") == "nan"


@pytest.mark.parametrize("text", REFUSED, ids=lambda text: ascii(text[:20]))
def test_meaningless_value_is_refused(tmp_path, text):
    quoted = "'" + text.replace("'", "'\\''") + "'"
    with pytest.raises(ParameterError) as refused:
        parse_assignments(f"budget={quoted}")
    said = str(refused.value)
    assert said.startswith("budget must be a YAML value, got ")
    assert "\n" not in said
    assert len(said) < 400
    path = tmp_path / "mine.yml"
    path.write_bytes(f"budget: {text}\n".encode(errors="surrogatepass"))
    with pytest.raises(ParameterError) as refused:
        read_values(path)
    assert str(refused.value).startswith(f"{path}: ")
    assert "\n" not in str(refused.value)


PLAIN = st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\u2028\u2029\ufeff")
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(PLAIN)
)
NESTED = st.recursive(
    SCALARS, lambda inside: st.lists(inside) | st.dictionaries(st.text(PLAIN, max_size=20), inside),
    max_leaves=9,
)  # fmt: skip


@given(NESTED)
@example(1e22)
@example([-0.0])
def test_json_is_read_as_json(value):
    """JSON is a part of YAML 1.2: another reader says what each of its texts means."""
    text = json.dumps(value, ensure_ascii=False)
    read = parse_value(text)
    assert json.dumps(read) == json.dumps(json.loads(text))


WORDS = [*READ, *REFUSED[:20], "[", "]", "{", "}", ",", ": ", "? ", "- ", "&a ", "*a", "|", ">"]


@given(st.lists(st.sampled_from([*WORDS, " ", "\n", "\t", "#", "'", '"', "!!", "%"])).map("".join))
@example("x=!!float")
@example("@")
@example("@\x00")
@example("@" + "a" * 5000)
def test_any_text_is_read_or_refused(text):
    for written in (text, f"budget={text}"):
        said = ""
        try:
            assert all(isinstance(name, str) for name in parse_assignments(written))
        except ParameterError as refused:
            said = str(refused)
        assert "\n" not in said
