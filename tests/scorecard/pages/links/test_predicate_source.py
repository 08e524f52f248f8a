"""The code of a row: the function of a study that decides it, with its cut-offs."""

import pytest

from book.robots import robots_open as page
from scorecard import Claim
from scorecard.pages.links.predicate_source import (
    predicate_source,
    source_path,
    write_sources,
)


def test_a_claim_names_the_function_of_the_study_that_decides_it():
    (claim,) = page.claims({"a step": True}, [2])
    assert claim.code == "book.robots.robots_open:claims"
    assert Claim("X-1", 1.5).code == ""


def test_the_code_comes_with_the_constants_that_it_reads():
    code = predicate_source("book.ephemeral.stochastic_index:_discounted")
    assert code.startswith("LATTICE_SLACK = 0.01\n")
    assert "def _discounted(results: Results)" in code
    assert 'shape["slope above the printed bound"] < LATTICE_SLACK' in code


def test_constants_of_another_module_of_the_package_are_found():
    code = predicate_source("book.ephemeral.model_and_index:_average")
    assert "ROUNDING = 1e-9" in code.partition("def ")[0]


def test_a_function_that_is_not_there_is_named():
    with pytest.raises(KeyError, match="nowhere"):
        predicate_source("book.robots.robots_open:nowhere")


def test_each_function_is_a_file_of_the_site(tmp_path):
    name = "book.robots.robots_open:claims"
    write_sources({name, None, ""}, tmp_path)
    (path,) = tmp_path.rglob("*.txt")
    assert path == tmp_path / source_path(name)
    assert predicate_source(name) in path.read_text(encoding="utf-8")
