"""Stand-ins give what grimp, python-flint and pydantic give."""

import random
import sys
from fractions import Fraction

import flint
import pytest

from analysis import fingerprint
from scorecard.browser import stand_ins
from scorecard.browser.stand_ins import Matrix, Polynomial, check_text
from scorecard.values import FILES, ParameterError
from tests.support import read_notebooks

NAMES = ["analysis.learning.random_sets", "analysis.robots.curve.growth"]


@pytest.fixture
def without_grimp(tmp_path, monkeypatch):
    """The graph in a folder of its own, and an interpreter that has no grimp."""
    (tmp_path / stand_ins.GRAPH).write_text(stand_ins.write_imports(fingerprint.PACKAGES))
    monkeypatch.setattr(stand_ins, "ROOT", tmp_path)
    monkeypatch.setattr(stand_ins, "find_spec", lambda name: name != "grimp")
    monkeypatch.delitem(sys.modules, "grimp")
    stand_ins.replace_missing()
    yield sys.modules["grimp"]
    sys.modules.pop("grimp", None)
    fingerprint.forget()


def test_certificates_are_those_of_grimp(monkeypatch, request):
    fingerprint.forget()
    here = [fingerprint.fingerprint([name], ignore_docstrings=True) for name in NAMES]
    monkeypatch.setattr(fingerprint, "grimp", request.getfixturevalue("without_grimp"))
    fingerprint.forget()
    assert [fingerprint.fingerprint([name], ignore_docstrings=True) for name in NAMES] == here


def test_grimp_itself_is_preferred():
    before = sys.modules["grimp"]
    stand_ins.replace_missing()
    assert sys.modules["grimp"] is before


# python-flint, on random systems and polynomials


def draw_sparse(rng, size, width, kind):
    """Return random entries that are not 0 by place: few of them, small, and large ones."""
    largest = rng.choice([3, 10**30])
    return {
        (row, column): kind(rng.randint(-largest, largest))
        for row in range(size)
        for column in range(width)
        if rng.random() < 0.5
    }


def fill(matrix, entries):
    for place, value in entries.items():
        matrix[place] += value
    return matrix


@pytest.mark.parametrize("seed", range(60))
def test_systems_are_solved_as_by_flint(seed):
    rng = random.Random(seed)
    size = rng.randint(1, 7)
    entries, sides = draw_sparse(rng, size, size, int), draw_sparse(rng, size, 2, int)
    ours, right = fill(Matrix(size, size), entries), fill(Matrix(size, 2), sides)
    theirs = fill(flint.fmpz_mat(size, size), entries)
    determinant = int(theirs.det())
    assert ours.det() == determinant
    if not determinant:
        with pytest.raises(ZeroDivisionError):
            ours.solve(right)
        return
    solved = theirs.solve(fill(flint.fmpz_mat(size, 2), sides)).tolist()
    expected = [[Fraction(int(x.numerator), int(x.denominator)) for x in row] for row in solved]
    assert ours.solve(right).tolist() == expected
    assert (ours.solve(right) * determinant).tolist() == [
        [x * determinant for x in row] for row in expected
    ]
    assert all(value.denominator for row in ours.tolist() for value in row)


def test_determinants_of_permutations_alternate():
    swapped = fill(Matrix(3, 3), {(0, 1): 2, (1, 0): 3, (2, 2): 5})
    turned = fill(Matrix(3, 3), {(0, 1): 2, (1, 2): 3, (2, 0): 5})
    assert (swapped.det(), turned.det()) == (-30, 30)


def test_entries_set_to_zero_are_left_out():
    matrix = fill(Matrix(1, 1), {(0, 0): 2})
    matrix[0, 0] += -2
    assert matrix.det() == 0
    assert matrix.rows == [{}]


@pytest.mark.parametrize("seed", range(60))
def test_polynomials_are_those_of_flint(seed):
    rng = random.Random(seed)
    first, second = ([rng.randint(-5, 5) for _ in range(rng.randint(1, 6))] for _ in range(2))
    ours, theirs = map(Polynomial, (first, second)), map(flint.fmpz_poly, (first, second))
    (p, q), (f, g) = ours, theirs
    for mine, other in ((p + q, f + g), (p - q, f - g), (p * q, f * g), (3 * p, 3 * f)):
        assert mine.coeffs() == [*map(int, other.coeffs())]
    assert (p == q, p == 0, p * 0 == 0) == (f == g, f == 0, True)
    if q != 0:
        assert divmod(p * q, q) == (p, 0)
        assert (divmod(p, q)[1] == 0) == (divmod(f, g)[1] == 0)


# pydantic, on all pages that browsers run


TEXTS = (
    "", "1", "2", "-1", "0", "0.5", "1e3", "1e400", "nan", "inf", "x", "2.0", "true", "empty",
    "[]", "[1]", "[1, 1]", "[2, 1, 0.5]", "[a, b]", "[1, x]", "1, 2", "[", "999999999999",
)  # fmt: skip
PAGES = {name: page for name, page in read_notebooks().items() if "crawl/" not in page.page}


def outcome(check, *arguments):
    try:
        return repr(check(*arguments))
    except ParameterError as error:
        return f"refused: {error}"


@pytest.mark.parametrize("page", PAGES)
def test_texts_are_read_as_by_run(page):
    notebook = PAGES[page]
    numbers = {"N": 4} | {name: p.default for name, p in notebook.parameters.items()}
    for name, parameter in notebook.parameters.items():
        written = parameter.default
        texts = [*TEXTS, str(written).lower() if isinstance(written, bool) else str(written)]
        for text in texts if name not in FILES else ():
            read = outcome(check_text, vars(parameter), text, numbers)
            assert read == outcome(parameter.check, text, numbers), (name, text)
