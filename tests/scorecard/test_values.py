"""What a reader types: texts on the command line and in files, read or refused in one line."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from scorecard.values import ParameterError, parse_assignments, read_texts

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
