"""Cards of links: what has one, what a card leaves out, and which script holds it."""

import json
from types import SimpleNamespace

import pytest

from scorecard.pages.references import find_targets, make_card, mark_links, write_cards

THEOREM = (
    '<div class="proof theorem admonition" id="t-1"><p>Theorem <a href="x.html">1</a></p>'
    '<div id="inner">in <div>it</div></div></div>'
)
FIGURE = (
    '<figure class="repro-figure align-center" id="f-1"><img src="../_images/f.svg" loading="lazy">'
    '<p class="repro-links"><a href="../figures/f.csv">data</a></p></figure>'
)


def test_targets_end_with_their_element():
    page = f'<div>{THEOREM}<div class="other" id="o">no card</div>{FIGURE}</div>'
    assert find_targets(page) == {"t-1": THEOREM, "f-1": FIGURE}


def test_unclosed_target_is_refused():
    with pytest.raises(ValueError, match="page"):
        find_targets(THEOREM.removesuffix("</div>"))


def test_card_has_no_links_and_no_ids():
    card = make_card(THEOREM)
    assert "<a" not in card
    assert "id=" not in card
    assert "Theorem 1" in card
    assert "it</div></div></div>" in card


def test_card_of_figure_has_picture_from_root():
    assert make_card(FIGURE) == (
        '<figure class="repro-figure align-center"><img src="_images/f.svg"></figure>'
    )


@pytest.mark.parametrize(
    ("link", "marked", "elsewhere"),
    [
        ('<a href="#t-1">', 'data-card=""', set()),
        ('<a href="../b/y.html#t-9">', 'data-card="b-y"', {"b/y.html#t-9"}),
        ('<a href="../b/y.html#none">', "", set()),
        ('<a class="headerlink" href="#t-1">', "", set()),
        ('<a href="https://a.example/y.html#t-9">', "", set()),
    ],
)
def test_links_to_targets_are_marked(link, marked, elsewhere):
    targets = {"a/x.html": {"t-1": ""}, "b/y.html": {"t-9": ""}}
    html, found = mark_links("a/x.html", f"{link}<article>{link}</article>", targets)
    assert found == elsewhere
    assert html == f"{link}<article>{link[:-1]}{' ' * bool(marked)}{marked}></article>"


def test_cards_of_other_pages_are_scripts(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a/x.html").write_text('<article><a href="y.html#t-1">see</a></article>')
    (tmp_path / "a/y.html").write_text(f"<article>{THEOREM}{FIGURE}</article>")
    app = SimpleNamespace(outdir=tmp_path, builder=SimpleNamespace(name="html"))
    write_cards(app, None)
    assert 'data-card="a-y">see' in (tmp_path / "a/x.html").read_text()
    (script,) = (tmp_path / "cards").iterdir()
    call = script.read_text(encoding="utf-8")
    assert call.startswith('bookCards("a-y", ')
    cards = json.loads(call.removeprefix('bookCards("a-y", ').removesuffix(");\n"))
    assert cards == {"t-1": make_card(THEOREM)}  # the figure is not referred to
