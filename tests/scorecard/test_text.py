"""A reader's words are text in every language that the book is written in."""

import io
import re
import xml.etree.ElementTree as ET

import pandas as pd
import pytest
import yaml
from docutils import nodes
from docutils.core import publish_doctree
from hypothesis import example, given
from hypothesis import strategies as st
from matplotlib.figure import Figure
from myst_parser.docutils_ import Parser

from scorecard import (
    clean_for_markdown,
    clean_for_mathtext,
    clean_text,
    save_data,
    save_figure,
    save_table,
)
from scorecard.files import BOOK, ROOT
from scorecard.text import LONGEST, escape_cell, escape_tex

NAMES = pd.read_csv(ROOT / "tests/scorecard/odd-names.csv")["name"].tolist()
EXTENSIONS = yaml.safe_load((BOOK / "_config.yml").read_text(encoding="utf-8"))["sphinx"]["config"][
    "myst_enable_extensions"
]
characters = st.characters(codec="utf-8")
words = st.text(characters, max_size=30) | st.text(
    st.sampled_from("$\\_{}`<>[]()!&#;:/.@w|*~^-1\n")
)


def parsed(markdown):
    """Parse Markdown as the book's pages do."""
    settings = {"myst_enable_extensions": EXTENSIONS, "report_level": 5, "smart_quotes": False}
    return publish_doctree(markdown, parser=Parser(), settings_overrides=settings)


def shown(markdown):
    """Return the text of one paragraph, in which there must be nothing but text."""
    (paragraph,) = parsed(markdown).children
    assert isinstance(paragraph, nodes.paragraph)
    assert all(isinstance(node, nodes.Text) for node in paragraph.children), paragraph.pformat()
    return paragraph.astext()


def drawn(text):
    """Return the characters that Matplotlib draws for a text, mathematics apart."""
    artist = Figure().text(0, 0, text)
    cleaned, is_math = artist._preprocess_math(text)
    return "mathematics" if is_math else cleaned


@pytest.mark.parametrize("name", NAMES)
def test_a_name_in_a_caption_is_text(name):
    assert shown(f"An item of {clean_for_markdown(name)} starts highest.") == (
        f"An item of {clean_text(name)} starts highest."
    )


@given(words)
def test_any_words_in_a_caption_are_text(name):
    assert shown(f"The source {clean_for_markdown(name)}.") == f"The source {clean_text(name)}."


@pytest.mark.parametrize("name", NAMES)
def test_name_keeps_mathematics(name):
    (paragraph,) = parsed(f"{clean_for_markdown(name)} at $M = 2$").children
    math = list(paragraph.findall(nodes.math))
    assert [node.astext() for node in math] == ["M = 2"]


@given(words)
def test_any_words_in_a_figure_are_text(name):
    seen = drawn(f"source {clean_for_mathtext(name)}").replace("\u200b", "")
    assert seen == f"source {clean_text(name)}".translate({0x2068: None, 0x2069: None})


@pytest.mark.sampled
@pytest.mark.filterwarnings("ignore:Glyph:UserWarning")
def test_figure_with_odd_names_is_drawn(start_run):
    """Beside mathematics too, in the title, the legend and the tick labels."""
    folder = start_run()
    names = [clean_for_mathtext(name) for name in NAMES]

    def draw(figure):
        axis = figure.subplots()
        for name in names:
            axis.plot([0, 1], label=name)
        axis.set_title("\n".join(f"{name}, $M = 1$" for name in names))
        axis.set_xticks(range(len(names)), names)
        assert len(axis.legend().get_texts()) == len(names)
        return {name: [0, 1] for name in NAMES}

    save_figure("page-curve", draw, clean_for_markdown(NAMES[0]), clean_text(NAMES[0]))
    ET.parse(folder / "figures/page-curve.svg")
    assert list(map(back, pd.read_csv(folder / "figures/page-curve.csv").columns)) == NAMES


@given(words)
def test_clean_text_is_one_line(name):
    plain = clean_text(name)
    assert len(plain) <= LONGEST + 2  # and two marks around what runs from right to left
    assert plain.isprintable() or "\u2068" in plain
    assert "\n" not in plain
    assert not re.search("[\u202a-\u202e\u2066\u2067]", plain)


def test_long_words_are_cut():
    assert clean_text("x" * LONGEST) == "x" * LONGEST
    assert clean_text("x" * (LONGEST + 1)) == "x" * (LONGEST - 1) + "…"


def test_right_to_left_is_isolated():
    assert clean_text("אתר") == "\u2068אתר\u2069"
    assert clean_text("a\u202eb") == "ab"


@given(words)
def test_bibtex_has_no_bare_special(name):
    tex = escape_tex(name)
    bare = re.sub(r"\\text\w+\{\}|\\[&%$#_{}]", "", tex)
    assert not re.search(r"[\\&%$#_{}~^\n]", bare)


def test_plain_names_are_unchanged():
    for name in ("source 1", "news", "2.5", 7):
        assert clean_text(name) == clean_for_mathtext(name) == str(name)
    assert shown(clean_for_markdown("source 1")) == "source 1"


RUN = tuple("=+-@\t\r\n＝＋－＠")


def back(cell):
    """Read a cell as the docstring of `escape_cell` says."""
    return cell[1:] if cell[:1] == "'" and cell.lstrip("'").startswith(RUN) else cell


def is_number(text):
    return bool(re.fullmatch(r"[-+.0-9eE]*[0-9.]", text)) and pd.notna(
        pd.to_numeric(text, errors="coerce")
    )


@given(words | st.text(st.sampled_from("=+-@'\t\r\n1.5eE ＝a"), max_size=9))
@example("=HYPERLINK(1)")
@example("-1.5")
@example("'")
@example("''=1")
def test_no_cell_is_formula(name):
    cell = escape_cell(name)
    assert back(cell) == name
    assert not cell.startswith(RUN) or is_number(cell)
    assert cell == name or not is_number(name)


def test_numbers_are_cells_unchanged():
    assert [escape_cell(value) for value in (-1.5, -2, None, True)] == [-1.5, -2, None, True]


EVIL = ["=1+1", "+x", "-x", "@x", "\t=x", "-1.5", "'=x", "plain"]


def saved(folder, kind):
    """Save names as cells and as heads of columns, and read the file back as text."""
    frame = pd.DataFrame({"name": EVIL, "=x": -1.5, "mixed": [*EVIL[:-1], -2]})
    if kind == "figures":
        save_figure("page-what", lambda figure: frame, "Names.", "Names.")
    elif kind == "tables":
        save_table("page-what", frame.set_index("name"), "Names.")
    else:
        save_data("page-what", frame, "Names.", dict.fromkeys(frame, "a name"))
    text = (folder / f"{kind}/page-what.csv").read_text(encoding="utf-8")
    return pd.read_csv(io.StringIO(text), dtype=str)


@pytest.mark.parametrize("kind", ["figures", "tables", "data"])
def test_files_have_no_formula(start_run, kind):
    kept = saved(start_run(), kind)
    assert list(kept) == ["name", "'=x", "mixed"]
    assert kept["name"].map(back).tolist() == EVIL
    assert kept["mixed"].map(back).tolist() == [*EVIL[:-1], "-2"]
    assert set(kept["'=x"]) == {"-1.5"}
    cells = [*kept["name"], *kept["mixed"], *kept]
    assert [cell for cell in cells if cell.startswith(RUN) and not is_number(cell)] == []


def test_name_is_saved_unchanged(start_run):
    folder = start_run()
    save_figure("page-curve", lambda figure: {"name": NAMES}, "Names.", "Names.")
    text = (folder / "figures/page-curve.csv").read_text(encoding="utf-8")
    assert pd.read_csv(io.StringIO(text))["name"].map(back).tolist() == NAMES
