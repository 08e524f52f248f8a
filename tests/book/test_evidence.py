"""No claim is a literal, and pages show the code that leads from model to result."""

import ast
import html
import re

import pytest

from scorecard.pages.theme import only_records
from scorecard.paths import BOOK
from scorecard.running.notebooks import all_notebooks
from tests.book.sources import cells, literal_claims, page_modules, prose_of_claims

#: Longest cell of a page, in lines that are not blank.
LONGEST = 25
LEAST_SHARE = 0.95
WIDEST = 100
#: What belongs into a study or a model: loops, functions and classes.
LOGIC = (ast.For, ast.While, ast.FunctionDef, ast.ClassDef)


@pytest.mark.parametrize(
    "code",
    [
        "Claim('X', True, evidence='words')",
        "Claim('X', not True)",
        "Claim('X', bool(1 == 14))",
        "Claim('X', 1e-5)",
        "Claim('X', -1)",
        "Claim('X', (0, 12))",
        "Claim('X', computed, explained=254.66)",
        "Claim('X', value=False, basis='proved', proof='a')",
        "report.Claim('X', x, alternatives=[1, 2])",
        "claim('X', True)",
        "for row in ('A', 'B'):\n    Claim('X', round(1.5))",
    ],
)
def test_a_literal_claim_is_seen(code):
    assert list(literal_claims(code)) == ["X"]


@pytest.mark.parametrize(
    "code",
    [
        "Claim('X', holds, evidence='words')",
        "Claim('X', len(found) == 4)",
        "Claim('X', x > 1, explained=y)",
        "Claim('X', False, basis='judged', evidence='words')",
        "Claim('X', missing='the law')",
        "Claim('X', context='words')",
        "Claim('X', model.solve().gain)",
        "other('X', True)",
    ],
)
def test_computed_values_are_no_literals(code):
    assert list(literal_claims(code)) == []


def test_no_claim_is_a_literal():
    found = [
        f"{page}: {id}"
        for page, content in cells().items()
        for cell in content
        for id in literal_claims(cell.source)
    ]
    found += [
        f"{path.parent.name}/{path.stem}: {id}"
        for path in page_modules()
        for id in literal_claims(path.read_text(encoding="utf-8"))
    ]
    assert found == []


def shown_share(content):
    lines = sum(len(cell.lines) for cell in content)
    return sum(len(cell.lines) for cell in content if cell.shown) / lines


def is_readable(cell):
    # A parameter is declared in one line, with its unit, its range and what it is.
    widest = 400 if "parameters" in cell.tags else WIDEST
    short = len(cell.lines) <= LONGEST and max(map(len, cell.lines)) <= widest
    return short and not any(isinstance(node, LOGIC) for node in ast.walk(ast.parse(cell.source)))


def test_shown_cells_are_readable():
    hidden = [
        page
        for page, content in cells().items()
        if shown_share(content) < LEAST_SHARE or not all(map(is_readable, content))
    ]
    assert hidden == []


def test_pages_use_own_values():
    """Else a rerun of that page alone would have none in their place."""
    notebooks = all_notebooks()
    strange = []
    for name, notebook in notebooks.items():
        text = notebook.path.read_text(encoding="utf-8")
        for id in re.findall(r"\{value\}`([^`:]+)|\{when\} (?:not )?(\S+)", text):
            given = "".join(id)
            owner = max((n for n in notebooks if given.startswith(f"{n}-")), key=len, default=name)
            strange += [(name, given)] if owner != name else []
    assert strange == []


def test_page_code_stands_in_html(site):
    """In the text of the built page, but for the cells that only record results."""
    short = {}
    for page, content in cells().items():
        path = (site.html / page).with_suffix(".html")
        text = html.unescape(re.sub(r"<[^>]+>", "", path.read_text(encoding="utf-8")))
        lines = [line for cell in content if not only_records(cell.source) for line in cell.lines]
        share = sum(line in text for line in lines) / len(lines)
        if share < LEAST_SHARE:
            short[page] = share
    assert short == {}


def test_captions_do_not_say_left_or_right():
    """Panels stand side by side on a wide screen, and one below the other on a narrow one."""
    place = re.compile(r"\((?:left|right)\)|\b[Oo]n the (?:left|right)\b(?! of)|\b(?:Left|Right):")
    told = {}
    for path in page_modules():
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(call, ast.Call) and ast.unparse(call.func) == "save_figure":
                texts = [ast.unparse(k.value) for k in call.keywords if k.arg in {"caption", "alt"}]
                told |= {ast.unparse(call.args[0]): m[0] for t in texts for m in place.finditer(t)}
    assert told == {}


def words_in_python():
    """Return the modules of pages that answer rows in words, by their path in the book."""
    return {
        path.relative_to(BOOK).as_posix()
        for path in page_modules()
        if any(prose_of_claims(path.read_text(encoding="utf-8")))
    }


@pytest.mark.parametrize(
    "code",
    [
        "def claims(found):\n    return [Claim('X', found.gain)]",
        "report.Claim('X', found.gain)",
        "def claims(found):\n    return [claim('X', found.holds, evidence='some words')]",
        "def claims(found):\n    said = f'{found.n} words'\n    return [claim('X', True, said)]",
        "def claims(found):\n    return [claim('X', found.holds, numbers={'n': 'some words'})]",
    ],
)
def test_words_in_claims_are_found(code):
    assert list(prose_of_claims(code))


@pytest.mark.parametrize(
    "code",
    [
        "def claims(found):\n    return [claim('X', found['the gain'], numbers={'n': found.n})]",
        "def claims(found):\n    'Return the claims.'\n    return [claim('X', found.gain)]",
        "def draw(found):\n    save_figure('x', caption='some words')",
    ],
)
def test_keys_and_docstrings_are_no_words(code):
    assert not list(prose_of_claims(code))


def test_words_of_verdicts_are_data():
    assert words_in_python() == set()
