"""The code of a row: the function of a page that decides it, with its constants."""

import pytest

from scorecard.pages import source_code
from scorecard.pages.source_code import (
    find_deciding_function,
    read_predicate,
    source_path,
    write_sources,
)

PAGE = """
def _numbers():
    def _row():
        return claim("X-inner", 1)
    return [_row(), claim("X-outer", 2)]

def claims() -> list[Claim]:
    return [*_numbers(), *(claim(f"X-{n}", n) for n in range(3))]

def more() -> list[Claim]:
    return []
"""


@pytest.fixture
def book(tmp_path, monkeypatch):
    monkeypatch.setattr(source_code, "ROOT", tmp_path)
    (tmp_path / "book/part").mkdir(parents=True)
    caches = (
        find_deciding_function,
        source_code._index_constants,
        source_code._list_functions,
        source_code._parse,
    )
    for function in caches:
        function.cache_clear()
    yield tmp_path / "book/part"
    for function in caches:
        function.cache_clear()


@pytest.mark.parametrize(
    ("row", "function"), [("X-inner", "_row"), ("X-outer", "_numbers"), ("X-1", "claims")]
)
def test_innermost_function_naming_row(book, row, function):
    (book / "a_page.py").write_text(PAGE)
    assert find_deciding_function("part/a-page", row) == f"book.part.a_page:{function}"


def test_last_function_without_claims(book):
    (book / "a_page.py").write_text(PAGE.replace("def claims", "def rows"))
    assert find_deciding_function("part/a-page", "X-1") == "book.part.a_page:more"


def test_page_without_module(book):
    assert find_deciding_function("part/a-page", "X-1") == ""


def test_source_includes_constants():
    code = read_predicate("book.ephemeral.stochastic_index:_discounted")
    assert code.startswith("LATTICE_SLACK = 0.01\n")
    assert "def _discounted(results: Results)" in code
    assert 'shape["slope above the printed bound"] < LATTICE_SLACK' in code


def test_source_includes_imported_constants():
    code = read_predicate("book.ephemeral.model_and_index:_average")
    assert "ROUNDING = 1e-9" in code.partition("def ")[0]


def test_unknown_function_is_named():
    with pytest.raises(KeyError, match="nowhere"):
        read_predicate("book.robots.robots_open:nowhere")


def test_function_becomes_site_file(tmp_path):
    name = "book.robots.robots_open:claims"
    write_sources({name, ""}, tmp_path)
    (path,) = tmp_path.rglob("*.txt")
    assert path == tmp_path / source_path(name)
    assert read_predicate(name) in path.read_text(encoding="utf-8")
