"""The check of finished pages sees each fault that it is for."""

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


@pytest.mark.parametrize(
    ("fault", "inside"), [(fault, one) for fault, pages in FAULTS.items() for one in pages]
)
def test_each_fault_is_caught_alone(fault, inside):
    assert kinds(inside) == {fault}
