"""The check of finished pages catches what it is for, and lets pass what looks like it."""

import pytest
from bs4 import BeautifulSoup

from tests.book.finished import LONGEST, faults


def page(inside):
    return BeautifulSoup(f"<article>{inside}</article>", "lxml").select_one("article")


def table(*rows, caption="A table."):
    """Return a numbered table as pages have it: the first row heads the others."""

    def line(cells, tag):
        return "<tr>" + "".join(f"<{tag}>{cell}</{tag}>" for cell in cells) + "</tr>"

    body = "".join(line(row, "td") for row in rows[1:])
    head = line(rows[0], "th")
    inside = f"<table><thead>{head}</thead><tbody>{body}</tbody></table>"
    return f'<figure class="repro-table" id="t"><figcaption>{caption}</figcaption>{inside}</figure>'


def kinds(inside):
    return {line.partition(": ")[0] for line in faults(page(inside))}


FAULTS = {
    "no number": [table(["policy", "loss"], ["index", "nan"])],
    "an infinite number": ["<p>It is inf here.</p>"],
    "an empty list": ['<img alt="which [ ] give">'],
    "a share of nothing": ["<li>0 of the 0 runs.</li>"],
    "a zero with a sign": ["<p>changes by <span class='book-value'>-0.0%</span> here</p>"],
    "a dictionary": ['<img alt="counts {1: 5}">'],
    "one, counted as many": ["<p>who crawl <span>1</span> sources an epoch</p>"],
    "an empty cell": [table(["policy", "loss"], ["index", ""])],
    f"a cell of {LONGEST + 1} letters": [table(["gaps"], ["1" * (LONGEST + 1)])],
    "an interval of width zero": [
        "<p>It earns 2.50 ± 0.00 per epoch.</p>",
        "<p>between 1.0% and 1.0% of it</p>",
        table(["policy", "mean", "95% from", "95% to"], ["index", "1", "0.5", "0.5"]),
        table(["kind", "half-width"], ["sorted", "0.00"]),
    ],
    "a reward above its bound": [
        "<p>It earns 100.4% of the relaxed bound.</p>",
        table(["policy", "of the bound (%)"], ["index", "124.2 ± 9.1"]),
        table(["budget", "reward", "bound"], ["1", "89.095", "88.775"]),
        table(["reward per epoch", "M = 1"], ["relaxed bound", "260.39"], ["index", "260.50"]),
    ],
}
RIGHT = [
    "<p>Nancy found information in finance.</p>",
    "<p>[1, 2] and f([x])</p>",
    "<p>10 of 0.5, 0 of 40, and 0 of 0.5</p>",
    "<p>from -0.05 to -0.004 and 10-0</p>",
    "<p>At M = 1 sources wait; source 1 runs first; 21 epochs; 1 epoch; 0.1 epochs</p>",
    "<p>Fig. 1 draws all; Table 1 points to it</p>",
    "<p>2.50 ± 0.01, ±0.004</p>",
    "<p>from 5 to 50, from 1 to 1.5, between 2 and 2%, from 0.98 to 0.989</p>",
    "<p>The median is 16 at M = 1 and 1 at M = 8, 2.0 and 2.0 of both</p>",
    table(["policy", "of the bound (%)"], ["index", "124.2 ± 55.3"]),
    table(["cost", "machines"], ["relaxed bound", "2.0"], ["optimum", "2.1"], caption="Costs."),
    "<p>99.9% of the relaxed bound, 100% of the bound, 100.0% of its bound</p>",
    '<p><span class="math">[] nan -0 0 of 0</span> and <code>nan []</code></p>',
    '<div class="cell_input"><pre>x = [] # nan</pre></div>',
    '<aside class="book-rerun"><p>gammas = []</p><table><tr><td></td></tr></table></aside>',
    table(["policy", "loss"], ["index", "–"], ["other", "1" * LONGEST]),
    table(["until"], ["inf"]),
    table(["policy", "low", "high"], ["index", "–", "–"], ["other", "0.98", "0.99"]),
    table(["learner", "± (95%)"], ["UCWhittle", "–"], ["index", "0.004"]),
    table(["budget", "reward / bound"], ["M = 1", "1.0000"], ["M = 2", "–"]),
    table(["policy", "% of bound"], ["index", "93.1"], ["all", "100.0"]),
    table(["budget", "reward", "bound"], ["1", "88.7", "88.775"]),
    table(["reward per epoch", "M = 1"], ["relaxed bound", "260.39"], ["fluid formula", "264.1"]),
]


@pytest.mark.parametrize(
    ("fault", "inside"), [(fault, one) for fault, pages in FAULTS.items() for one in pages]
)
def test_each_fault_is_caught_alone(fault, inside):
    assert kinds(inside) == {fault}


@pytest.mark.parametrize("inside", RIGHT)
def test_harmless_text_passes(inside):
    assert kinds(inside) == set()
