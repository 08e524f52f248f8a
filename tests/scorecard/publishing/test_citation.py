"""Citations with and without an address: BibTeX, CITATION.cff and permalinks."""

import json
import re
import subprocess
from pathlib import Path

import jsonschema
import pytest
import yaml

from analysis import __version__
from scorecard.files import ROOT
from scorecard.publishing import citation
from scorecard.publishing.citation import (
    Edition,
    base_address,
    convert_title_to_tex,
    format_bibtex,
    format_book_bibtex,
    format_citation,
    permalink,
    repository_address,
    strip_title_markup,
    write_citation,
)
from scorecard.publishing.release import check_edition

# The schema of CFF 1.2.0, https://github.com/citation-file-format/citation-file-format, CC BY 4.0.
SCHEMA = Path(__file__).with_name("cff-schema-1.2.0.json")
FIGURE = {
    "id": "first-curve",
    "notebook": "part/first",
    "caption": r"Rewards of *all* 1.5 sources at $M = 2$, for `x_y` \& more. Not the rest.",
    "parameters": {"initial_state": "50%", "costs": [1, 2]},
}
HERE = Edition("abc123", "2026-11-22", "")
THERE = Edition("abc123", "2026-11-22", "https://a.example/book/")


def fields(entry):
    """Return the fields of a BibTeX entry, whose braces must be balanced."""
    assert entry.count("{") == entry.count("}")
    return dict(re.findall(r"^  (\w+) = \{(.*)\},$", entry, re.M))


def test_figure_citation_has_commit():
    entry = format_bibtex(FIGURE, HERE)
    assert entry.startswith("@misc{first-curve,")
    found = fields(entry)
    title = r"Rewards of \emph{all} 1.5 sources at $M = 2$, for \texttt{x\_y} \& more"
    assert found["title"] == f"{{{title}}}"
    assert found["author"] == "{The book's contributors}"
    assert (found["year"], found["version"]) == ("2026", __version__)
    assert found["note"] == f"Version {__version__}, commit abc123"
    assert found["howpublished"].startswith(r"Figure \texttt{first-curve} in \emph{Which source")
    assert "url" not in found
    assert "Table" in fields(format_bibtex(FIGURE, HERE, product_kind="tables"))["howpublished"]


def test_own_file_is_cited():
    file = {"name": "my_feeds.csv", "shipped": "sources.csv", "sha256": "ab" * 32}
    product = FIGURE | {"parameters": {"sources": "sources.csv"}, "files": {"sources": file}}
    said = fields(format_bibtex(product, HERE, document=False))["note"]
    assert said.endswith(rf"sources = my\_feeds.csv (SHA-256 {'ab' * 32})")


def test_citation_links_figure():
    assert fields(format_bibtex(FIGURE, THERE))["url"] == (
        "https://a.example/book/part/first.html#first-curve"
    )
    assert fields(format_book_bibtex(THERE))["url"] == "https://a.example/book/"
    assert "url" not in fields(format_book_bibtex(HERE))


def test_rerun_citation_has_parameters():
    """In characters that LaTeX takes."""
    found = fields(format_bibtex(FIGURE, THERE, document=False))
    assert "url" not in found
    assert r"initial\_state = 50\%, costs = [1, 2]" in found["note"]
    evil = FIGURE | {"parameters": {"law": "\\input{x}~^"}}
    assert r"law = \textbackslash{}input\{x\}\textasciitilde{}\textasciicircum{}" in format_bibtex(
        evil, HERE, document=False
    )


@pytest.mark.parametrize(
    ("caption", "text", "tex"),
    [
        ("One. Two.", "One", "One"),
        ("At 1.5 of $a. b$ it ends. More.", "At 1.5 of a. b it ends", "At 1.5 of $a. b$ it ends"),
        ("No stop", "No stop", "No stop"),
        (
            r"A 5% loss \_ *of* `f.g`.",
            "A 5% loss _ of f.g",
            r"A 5\% loss \_ \emph{of} \texttt{f.g}",
        ),
        ("Ends; then. ", "Ends; then", "Ends; then"),
    ],
)
def test_title_is_first_sentence(caption, text, tex):
    assert strip_title_markup(caption) == text
    assert convert_title_to_tex(caption) == tex


# The book's address.


@pytest.fixture
def configured(tmp_path, monkeypatch):
    """Return a function that sets the address in the configuration and in the environment."""
    monkeypatch.setattr(citation, "BOOK", tmp_path)

    def configure(config, variable=None):
        (tmp_path / "_config.yml").write_text(f"html: {{baseurl: '{config}'}}\n")
        monkeypatch.delenv("BASEURL", raising=False)
        if variable is not None:
            monkeypatch.setenv("BASEURL", variable)

    return configure


@pytest.mark.parametrize(
    ("config", "variable", "base"),
    [
        ("", None, ""),
        ("https://a.example/book", None, "https://a.example/book/"),
        ("", "https://b.example", "https://b.example/"),
        ("https://a.example/book", "https://b.example/", "https://b.example/"),
        ("https://a.example/book/", "", "https://a.example/book/"),
    ],
)
def test_address_may_be_given(configured, config, variable, base):
    configured(config, variable)
    assert base_address() == base
    assert permalink(FIGURE, base) == f"{base}part/first.html#first-curve"
    assert permalink(FIGURE, base, document=False) == "first.html#first-curve"


@pytest.mark.parametrize("given", ["example.org", "file:///x", "https://a b", 'https://a"', "-"])
def test_what_is_no_address_is_refused(configured, given):
    configured("", given)
    with pytest.raises(ValueError, match=r"BASEURL .* must be an address such as"):
        base_address()


def test_repository_is_configured(configured, tmp_path, monkeypatch):
    configured("")
    monkeypatch.delenv("REPOSITORY", raising=False)
    assert repository_address() == ""
    (tmp_path / "_config.yml").write_text("html: {repository: https://a.example/us/book/}\n")
    assert repository_address() == "https://a.example/us/book"
    monkeypatch.setenv("REPOSITORY", "git@a.example:us/book")
    with pytest.raises(ValueError, match=r"REPOSITORY .* must be an address such as"):
        repository_address()


# CITATION.cff.


def errors(path):
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    validator = jsonschema.Draft7Validator(json.loads(SCHEMA.read_text(encoding="utf-8")))
    return [error.message for error in validator.iter_errors(json.loads(json.dumps(content)))]


def test_citation_file_is_valid():
    assert errors(ROOT / "CITATION.cff") == []
    content = citation.read_cff()
    assert content["version"] == __version__
    assert content["license"] == "MIT"  # of the code: one, for converters; the message says more
    assert "CC BY 4.0" in content["message"]
    assert "url" not in content


@pytest.mark.parametrize("change", [{"license": ["MIT", "none"]}, {"date-released": "soon"}])
def test_wrong_citation_file_is_refused(tmp_path, change):
    wrong = tmp_path / "CITATION.cff"
    wrong.write_text(yaml.safe_dump(citation.read_cff() | change))
    assert errors(wrong)


@pytest.mark.parametrize("edition", [HERE, THERE])
def test_the_published_citation_follows_commit_and_address(tmp_path, edition):
    write_citation(tmp_path, edition)
    assert errors(tmp_path / "CITATION.cff") == []
    content = yaml.safe_load((tmp_path / "CITATION.cff").read_text(encoding="utf-8"))
    assert content["commit"] == "abc123"
    assert content.get("url", "") == edition.address
    assert (tmp_path / "citation.bib").read_text(encoding="utf-8") == format_book_bibtex(edition)


def test_doi_is_cited(monkeypatch):
    assert "doi" not in fields(format_book_bibtex(THERE))
    known = citation.read_cff() | {"doi": "10.5281/zenodo.1"}
    monkeypatch.setattr(citation, "read_cff", lambda: known)
    found = fields(format_book_bibtex(THERE))
    assert (found["doi"], found["url"]) == ("10.5281/zenodo.1", THERE.address)
    assert format_citation(THERE).endswith(" https://doi.org/10.5281/zenodo.1")


def test_citation_file_converts():
    title = citation.read_cff()["title"]
    found = fields(format_book_bibtex(HERE))
    assert found["title"] == f"{{{title}}}"
    assert found["author"] == "{The book's contributors}"
    line = format_citation(THERE)
    assert line == (
        f"The book's contributors (2026). {title} (Version {__version__}, commit abc123) "
        "[Computer software]. https://a.example/book/"
    )
    assert format_citation(HERE).endswith("[Computer software].")


# The commit.


def test_commit_unknown_without_git(monkeypatch, tmp_path):
    monkeypatch.setattr(citation, "ROOT", tmp_path)
    citation.read_cff()  # of this repository, read before
    assert "unknown" in citation.commit_name()
    assert citation.read_edition().date == citation.release_date()


@pytest.fixture
def repository(monkeypatch, tmp_path):
    """A clean tree of one commit, with the file that makes it a book."""
    citation.read_cff()  # of this repository, read before
    monkeypatch.setattr(citation, "ROOT", tmp_path)
    identity = ["-c", "user.name=n", "-c", "user.email=e"]
    (tmp_path / "CITATION.cff").write_text("1")
    (tmp_path / ".gitignore").write_text("built/\n")
    for command in (["init", "-q"], ["add", "."], [*identity, "commit", "-qm", "first"]):
        subprocess.run(["git", "-C", str(tmp_path), *command], check=True)
    return tmp_path


@pytest.mark.parametrize("name", ["CITATION.cff", "new.md", "folder/new.md"])
def test_changed_tree_is_marked(repository, name):
    clean = citation.commit_name()
    assert re.fullmatch("[0-9a-f]{12}", clean)
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", citation.read_edition().date)
    (repository / "built").mkdir()
    (repository / "built/page.html").touch()  # ignored, as all that a build leaves
    tag = citation.release_tag()
    identity = ["-c", "user.name=A", "-c", "user.email=a@a.example"]
    command = ["git", "-C", repository, *identity, "tag", "-a", tag, "-m", "The first"]
    assert citation.tags_of_commit() == []
    subprocess.run(command, check=True)
    assert citation.commit_name() == clean
    check_edition(citation.read_edition(), citation.tags_of_commit())
    subprocess.run(["git", "-C", repository, "config", "status.showUntrackedFiles", "no"])
    (repository / name).parent.mkdir(exist_ok=True)
    (repository / name).write_text("2")
    assert citation.commit_name() == f"{clean} (with uncommitted changes)"
    with pytest.raises(RuntimeError, match="commit first"):
        check_edition(citation.read_edition(), [tag])


def test_unreadable_tree_is_not_clean(repository, monkeypatch):
    known = citation._git
    monkeypatch.setattr(citation, "_git", lambda *a: None if a[0] == "status" else known(*a))
    assert citation.commit_name().endswith(" (with uncommitted changes)")


def test_foreign_repository_gives_no_commit(repository, monkeypatch):
    (repository / "unpacked").mkdir()
    (repository / "unpacked/CITATION.cff").touch()
    monkeypatch.setattr(citation, "ROOT", repository / "unpacked")
    assert citation.commit_name() == "unknown (no git history)"
    assert citation.read_edition().date == citation.release_date()
