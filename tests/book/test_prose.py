"""A sentence of the book holds few numbers, so that it can be followed when it is read aloud."""

import re

import pytest
from markdown_it import MarkdownIt
from mdit_py_plugins.colon_fence import colon_fence_plugin
from mdit_py_plugins.dollarmath import dollarmath_plugin
from mdit_py_plugins.front_matter import front_matter_plugin
from mdit_py_plugins.myst_role import myst_role_plugin

from scorecard.paths import BOOK

#: More numbers than this belong in a table.
MOST = 3

#: Directives whose content is text; what stands in any other is code, data or mathematics.
OF_TEXT = re.compile(
    r"\{(document-only|when|dropdown|prf:[a-z]+|note|tip|warning|grid(-item-card)?|tab-(set|item))\}"
)
#: Roles that print a number.
OF_NUMBERS = {"value", "computed", "printed", "sets", "follows"}
#: Mathematics that is a number and no more: $0.05$, $10^{-4}$, $2 \times 10^6$.
A_NUMBER = re.compile(r"[-+]?[\d.,]+\s*(\\(times|cdot)\s*10)?(\^\{?-?\d+\}?)?")
#: How a number of the page is marked in the text that is counted.
MARK = "#"
NUMBER = re.compile(r"#|(?<![\w.])\d[\d,.]*(?<![,.])")
#: Numbers that name a thing and measure nothing: a source, a place in a document, a year.
NAMES = re.compile(
    r"\b(?i:table|figure|fig\.|theorem|lemma|corollary|corollarie|proposition|remark|algorithm|"
    r"instance|section|chapter|exercise|page|slide|statement|condition|part|step|source|state|row|"
    r"type|box|case|age)(?:e?s)?\s\d+(\.\d+)?((,| and| or| to|, and)\s\d+(\.\d+)?)*"
    r"|\(\d+\)|\b(19|20)\d\d\b(?!\.\d)|CC BY 4\.0"
)
#: The error of an estimate, which counts with it as one number.
ERRORS = re.compile(
    r"\s?±\s?[\d.#]+%?|\b\d\d(\.\d)?% intervals?( (from )?[\d.#]+%? to [\d.#]+%?)?"
    r"|\s\([\d.#]+%? to [\d.#]+%?\)"
)
END = re.compile(r"(?<=[.?!])[)*\"”]*\s+(?=[^a-z])")

PAGES = sorted([*BOOK.glob("*.md"), *BOOK.glob("[a-z]*/*.md")])
READ = MarkdownIt("commonmark").enable("table")
for plugin in (front_matter_plugin, dollarmath_plugin, myst_role_plugin, colon_fence_plugin):
    READ.use(plugin)


def plain(inline):
    """Return the text of a paragraph with its numbers as they are or marked."""
    said = []
    for token in inline.children:
        if token.type == "myst_role":
            said.append(MARK if token.meta["name"] in OF_NUMBERS else "…")
        elif token.type == "math_inline":
            said.append(MARK if A_NUMBER.fullmatch(token.content.strip()) else "…")
        elif token.type in {"softbreak", "hardbreak"}:
            said.append(" ")
        else:
            said.append("…" if token.type == "code_inline" else token.content)
    return "".join(said)


def sentences(page):
    """Yield the sentences of a page's paragraphs and lists, those within directives too."""
    in_table = False
    for token in READ.parse(page):
        in_table = token.type == "table_open" or (in_table and token.type != "table_close")
        if token.type in {"fence", "colon_fence"} and OF_TEXT.match(token.info.strip()):
            yield from sentences(re.sub(r"\A(:[\w-]+:.*\n)+", "", token.content))
        elif token.type == "inline" and not in_table:
            yield from END.split(plain(token))


def numbers(sentence):
    """Return the numbers of a sentence, typed or from a record, but for errors and names."""
    return NUMBER.findall(NAMES.sub("…", ERRORS.sub("", sentence)))


@pytest.mark.parametrize(
    ("text", "most"),
    [
        ("One has 3 and {value}`a:d`, the other $0.5$ and {printed}`B-x`.", 4),
        ("It is 3.5, 1,000 or 2. Then 7.", 3),
        ("It is $x = 3$ in `a[3]`, Table 1, (3), sources 1 to 4, since 1999.", 0),
        ("It is 3 ± 2 and $4$ (95% interval {value}`a:d` to 5).", 2),
        ("It is 3 (2 to 4), and 5 (4 to 6) there.", 2),
        ("- one of 4\n- two of 5 and 6", 2),
        ("| 1 | 2 |\n|---|---|\n| 3 | 4 |", 0),
        (":::{when} a-b\nOne of 4.\n:::", 1),
        ("````{dropdown} Solution\n:name: a-1\n\n```{prf:proof}\nOne of 4.\n```\n````", 1),
        ("```{code-cell} ipython3\na = [1, 2, 3, 4]\n```", 0),
        ("---\na: 1\n---\n$$ 1 + 2 $$", 0),
    ],
)
def test_numbers_of_a_sentence_are_counted(text, most):
    assert max((len(numbers(sentence)) for sentence in sentences(text)), default=0) == most


def asked_titles():
    """Return what links to a page whose title is a question, as roles name it."""
    found = set()
    for path in PAGES:
        page = path.read_text(encoding="utf-8")
        if re.search(r"^# .*\?$", page, re.MULTILINE):
            found |= {path.stem, *re.findall(r"^\(([\w-]+)\)=\n# ", page, re.MULTILINE)}
    return found


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_sentences_have_few_numbers(path):
    found = list(sentences(path.read_text(encoding="utf-8")))
    assert [said for said in found if len(numbers(said)) > MOST] == []


def test_question_titles_have_no_full_stop():
    asked = asked_titles()
    assert {"how-good", "which-policy"} <= asked
    ends = re.compile(r"\{(?:ref|doc)\}`(?:[\w/.-]*/)?([\w-]+)`[.,;:]")
    said = [
        f"{path.stem}: {match[0]}"
        for path in PAGES
        for match in ends.finditer(path.read_text(encoding="utf-8"))
        if match[1] in asked
    ]
    assert said == []
