"""What a reader types, and relations of parameters: read, or refused in one line."""

from functools import cache
from pathlib import Path

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from scorecard.files import ROOT
from scorecard.running import runner
from scorecard.running.runner import make_rerun_job
from scorecard.values import ParameterError, Relation, parse_assignments, read_texts
from tests.support import read_notebooks

REFUSED = [
    "[1", "'a", "\x00", "@a", "`a`", "%a: b: c", "&a [*a]", "[&a 1, *a]", "{? [1] : 2}",
    "{a: 1, a: 2}", "{[1]: 2}", "a: b: c", "[" * 3000, "{a: " * 3000, "\ud800",
]  # fmt: skip


@pytest.mark.parametrize("text", REFUSED, ids=lambda text: ascii(text[:20]))
def test_malformed_file_is_refused(tmp_path, text):
    path = tmp_path / "mine.yml"
    path.write_bytes(f"budget: {text}\n".encode(errors="surrogatepass"))
    with pytest.raises(ParameterError) as refused:
        read_texts(path)
    assert str(refused.value).startswith(f"{path}: ")
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 400


@pytest.mark.parametrize(
    "text", ["1:30", "1_0", "010", "on", "~", "2020-01-02", "1e3", ".inf", "!!x 5"]
)
def test_file_values_stay_texts(tmp_path, text):
    path = tmp_path / "mine.yml"
    path.write_text(f"budget: {text}\ncosts: [{text}]\n")
    assert read_texts(path) == {
        "budget": text[-1:] if "!!" in text else text,
        "costs": [text[-1:] if "!!" in text else text],
    }


PIECES = [*REFUSED[:10], "[", "]", "{", "}", ",", ": ", "? ", "- ", "&a ", "*a", "|", ">", "5"]


@given(st.lists(st.sampled_from([*PIECES, " ", "\n", "\t", "#", "'", '"', "!!", "%"])).map("".join))
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


# Relations of parameters


POINTS = yaml.safe_load((ROOT / "tests" / "book" / "points.yml").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("text", "holds", "fails"),
    [
        ("a + 2 * b <= 10", {"a": 4, "b": 3}, {"a": 5, "b": 3}),
        ("a - b != 1", {"a": 4, "b": 4}, {"a": 5, "b": 4}),
        ("1 < a < b", {"a": 2, "b": 3}, {"a": 3, "b": 3}),
        ("a >= b > 0.5", {"a": 1.0, "b": 1.0}, {"a": 1.0, "b": 0.5}),
        ("len(x) == 2", {"x": [1, 2]}, {"x": [1]}),
        ("len(x) == len(y)", {"x": [1], "y": [2]}, {"x": [1], "y": []}),
        ("max(x) + min(x) < sum(x)", {"x": [1, 2, 3]}, {"x": [1, 2]}),
        ("falling(x)", {"x": [3, 2, 0]}, {"x": [3, 3]}),
        ("rising(x)", {"x": [1, 2]}, {"x": [1, 3, 2]}),
    ],
)
def test_relation_holds_or_names_values(text, holds, fails):
    relation = Relation.parse(text, "of a reason")
    relation.check(holds)
    with pytest.raises(ParameterError) as refused:
        relation.check(fails)
    assert str(refused.value).startswith(f"{text} must hold (of a reason), got ")
    assert all(f"{name} = {value!r}" in str(refused.value) for name, value in fails.items())
    assert set(relation.names) == fails.keys()


@pytest.mark.parametrize(
    "text",
    [
        "a",
        "a + b",
        "len(x)",
        "a <= ",
        "a <= b and b <= c",
        "not a < b",
        "a in x",
        "a is b",
        "a < 'b'",
        "a < True",
        "a < b ** b",
        "a < x[0]",
        "a < x.real",
        "len([a]) < 2",
        "len(x, key=a) < 2",
        "print(x) < 2",
        "__import__('os') < 2",
        "len < 2",
        "falling(x) == 1",
        "(a := 1) < 2",
        "a < (lambda: 1)()",
        "a < 1j",
    ],
)
def test_nothing_else_is_a_relation(text):
    with pytest.raises(ParameterError, match="a relation must compare"):
        Relation.parse(text, "why")


@pytest.fixture(scope="module")
def make_job():
    """`make_rerun_job`, which reads each page and the profile once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runner, "find_notebook", read_notebooks().__getitem__)
        patch.setattr(runner, "profile_parameters", cache(runner.profile_parameters))
        yield make_rerun_job


@pytest.mark.parametrize(("page", "notebook"), read_notebooks().items())
def test_each_relation_of_a_page_acts(make_job, page, notebook, tmp_path):
    """Points that the page refuses violate each of its relations; the others satisfy all.

    What is refused is so before anything runs, in a line with the name and value of a parameter.
    """
    entry = POINTS.get(page, {"points": []})
    reasons = []
    for changes in entry.get("refused", []):
        with pytest.raises(ValueError, match="|".join(changes)) as refused:
            make_job(page, changes, runs=tmp_path)
        reasons.append(str(refused.value))
        numbers = [str(value).removesuffix(".0") for value in changes.values()]
        assert any(number in reasons[-1] for number in numbers), reasons[-1]
        assert "\n" not in reasons[-1]
    unused = [r.text for r in notebook.relations if not any(s.startswith(r.text) for s in reasons)]
    assert unused == []
    for point in entry["points"]:
        files = [
            str(Path(ROOT, "tests", "book", "tables", point[name])) if name in point else ""
            for name in ("sources", "trace")
        ]
        make_job(page, point["parameters"], *files, runs=tmp_path)


def test_no_parameter_goes_without_a_range():
    """But one whose value is a reader's own file: its range is the word for what reads the file."""
    free = [
        (page, parameter.name)
        for page, notebook in read_notebooks().items()
        for parameter in notebook.parameters.values()
        if parameter.allowed == "any" and parameter.unit != "path"
    ]
    assert free == []
