"""Pages as plain Markdown, and notebooks that need nothing but the package."""

import base64
import subprocess
import sys

import nbformat
import pytest
from markdown_it import MarkdownIt

from analysis import __version__
from scorecard.portable import MarkdownConverter, write_notebooks

ID = "A-r-25466"
DATA = {
    "verdicts": {
        ID: {"verdict": "explained", "page": "part/page", "computed": "260.39", "reason": "a|b $c"}
    },
    "tables": {
        "page-rows": {"caption": "Two.", "header": ["a", "$b$"], "rows": [["x|y", "1"], ["z", "2"]]}
    },
    "figures": {"page-line": {"alt": "A [rising] line.", "caption": "A *line*."}},
}
TARGETS = {
    "ref": {"model": ["part/model", "model", "The model"]},
    "numref": {
        "page-line": ["part/page", "page-line", "Fig. 3"],
        "page-rows": ["part/page", "page-rows", "Table 2"],
    },
    "eq": {"eq-cost": ["part/model", "equation-eq-cost", "(12)"]},
    "prf": {"thm-first": ["part/model", "thm-first", "Theorem 5"]},
    "doc": {"part/model": ["part/model", "", "The model"]},
}
BIBLIOGRAPHY = """@article{one,
  author = {Avrachenkov, Konstantin E. and Borkar, Vivek S.}, title = {A {Whittle} index},
  journal = {A journal}, year = {2015}}
@misc{two, author = {One, A. and Two, B. and Three, C.}, title = {Words}, year = {2016}}
"""


@pytest.fixture
def page(tmp_path):
    (tmp_path / "references.bib").write_text(BIBLIOGRAPHY)

    def make(address="", **data):
        index = {"targets": TARGETS, "address": address}
        return MarkdownConverter("part/page", DATA | data, index, tmp_path / "references.bib")

    return make


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("see {ref}`model`", "see The model"),
        ("see {ref}`the words <model>`", "see the words"),
        ("by {eq}`eq-cost` and {prf:ref}`thm-first`", "by (12) and Theorem 5"),
        ("{numref}`page-line`, {doc}`model`", "Fig. 3, The model"),
        ("{ref}`nowhere`", "nowhere"),
        ("as {cite:t}`one` say {cite:p}`two`",
         "as Avrachenkov and Borkar (2015) say (One et al., 2016)"),
        ("(label)=\n# Title", "# Title"),
        ("```{math}\n:label: eq-cost\na = 1\n```", "$$\na = 1\n\\tag{12}\n$$"),
        ("```{math}\na = 1\n```", "$$\na = 1\n$$"),
        ("```{prf:theorem} Named\n:label: thm-first\nIt is 260.\n```",
         "> **Theorem 5** (Named)\n>\n> It is 260."),
        ("```{prf:proof}\nClear.\n```", "> *Proof.*\n>\n> Clear."),
        ("````{dropdown} Solution\n```{math}\nb\n```\n````",
         "<details><summary>Solution</summary>\n\n$$\nb\n$$\n\n</details>"),
        ("```{repro-table} page-rows\n```",
         "**Table 2** Two.\n\n| a | $b$ |\n| --- | --- |\n| x\\|y | 1 |\n| z | 2 |"),
        (":::{note}\nMind.\n:::", "> Mind."),
        ("```{explorable} page-line\n```", ""),
        ("```\nmake run NB=page\n```", "```\nmake run NB=page\n```"),
    ],
)  # fmt: skip
def test_markdown_becomes_plain(page, text, plain):
    assert page().plain(text) == plain


def test_references_become_links(page):
    text = page("https://book.example").plain("{ref}`model`, {eq}`eq-cost`, {ref}`w <model>`")
    there = "https://book.example/part/model.html"
    assert (
        text == f"[The model]({there}#model), [(12)]({there}#equation-eq-cost), [w]({there}#model)"
    )


def test_figure_is_attached(page):
    page = page()
    text = page.plain("```{repro-figure} page-line\n```")
    assert text == "![A \\[rising\\] line.](attachment:page-line.png)\n\n**Fig. 3** A *line*."
    assert page.figures == ["page-line"]


@pytest.mark.parametrize(
    "name", ["<img src=x>", "a & b &lt;", "`x`", "*b* _i_ __", "$x$", "\\[x\\]"]
)
def test_alt_text_is_text(page, name):
    figure = {"alt": f"A line of {name}.", "caption": "A line."}
    text = page(figures={"page-line": figure}).plain("```{repro-figure} page-line\n```")
    (shown, *_) = MarkdownIt().parse(text)[1].children
    assert shown.type == "image"
    assert {child.type for child in shown.children} <= {"text", "text_special"}
    assert "".join(child.content for child in shown.children) == figure["alt"]
    assert "$" not in text.replace("\\$", "")  # Jupyter looks for mathematics before Markdown


def test_caption_role_is_text(page):
    """A source may be named like a role; it is no number of the book."""
    named = {"alt": "A line.", "caption": "The source {ref}`no-such` rises."}
    plain = page(figures={"page-line": named}).plain("```{repro-figure} page-line\n```")
    assert "{ref}`no-such` rises" in plain


def test_rows_become_table(page):
    head, line, row = page().plain("```{verdicts}\n```").split("\n")
    assert head.count("|") == line.count("|") == 6
    assert "explained" in row
    assert r"a\|b \$c" in row
    assert page(verdicts={}).plain("```{verdicts}\n```") == ""


def test_cited_works_are_listed(page):
    page = page()
    page.plain("{cite:p}`one` and {cite:t}`one`")
    assert page.references() == (
        "- Avrachenkov, Konstantin E., Borkar, Vivek S. A Whittle index. A journal. 2015"
    )


# Downloaded notebooks stand alone: pictures inside, the package named first, and they run


PICTURE = b"\x89PNG\r\n"
SOURCE = """# A page

It earns {{ v.gain | fmt('.1f') }}.

```{repro-figure} page-line
```"""
CODE = "assert analysis.__version__\nprint(6 * 7)"
FILE = {"name": "my feeds.csv", "shipped": "sources.csv", "sha256": "ab" * 32}
RESULTS = {
    "document": True,
    "edition": {"commit": "abc123"},
    "runs": {
        "part/page": {"files": {"sources": FILE}, "parameters": {"budget": 1, "costs": [1.0]}}
    },
    "values": {"page-gain": {"value": 2.0, "page": "part/page"}},
    "records": {},
    "verdicts": {},
    "figures": {"page-line": {"alt": "A line.", "caption": "A line."}},
}
NO_TARGETS = {"targets": {kind: {} for kind in TARGETS}, "address": ""}


@pytest.fixture
def path(tmp_path):
    """Write one notebook as a site has it, and return where it is."""
    (tmp_path / "site/notebooks").mkdir(parents=True)
    (tmp_path / "site/figures").mkdir()
    (tmp_path / "site/figures/page-line.png").write_bytes(PICTURE)
    make = nbformat.v4
    cells = [make.new_markdown_cell(SOURCE, id="a"), make.new_code_cell(CODE, id="b")]
    cells.append(make.new_markdown_cell("(label)=\n", id="c"))
    path = tmp_path / "site/notebooks/page.ipynb"
    nbformat.write(make.new_notebook(cells=cells), path)
    (tmp_path / "site/notebooks/sources.csv").write_text("name\n")
    write_notebooks(RESULTS, NO_TARGETS, tmp_path / "site")
    return path


def test_download_names_package(path):
    notebook = nbformat.read(path, 4)
    nbformat.validate(notebook)
    first, words, code = notebook.cells  # nothing is left of the label, and its cell is gone
    assert "import analysis" in first.source
    assert __version__ in first.source
    assert "abc123" in first.source
    assert first.source.endswith("\nDOCUMENTS_PARAMETERS = {'budget': 1, 'costs': [1.0]}")
    assert words.source.startswith(
        "# A page\n\nIt earns 2.0.\n\n![A line.](attachment:page-line.png)"
    )
    (bundle,) = words.attachments.values()
    assert base64.b64decode(bundle["image/png"]) == PICTURE
    assert code.source == CODE


def script(path):
    return "\n".join(c.source for c in nbformat.read(path, 4).cells if c.cell_type == "code")


def run_alone(path, folder, **options):
    """Run a notebook's code without the packages of this environment."""
    command = [sys.executable, "-S", "-c", script(path)]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, **options)


def test_download_explains_missing_package(path, tmp_path):
    said = run_alone(path, tmp_path, env={})
    assert said.returncode == 1
    assert "make lab" in said.stderr
    assert "abc123" in said.stderr
    assert "Traceback" not in said.stderr


@pytest.mark.parametrize("version", [__version__, "9.9"])
def test_download_reports_other_version(path, tmp_path, version):
    (tmp_path / "analysis.py").write_text(f'__version__ = "{version}"\n')
    (tmp_path / "book.py").touch()
    said = run_alone(path, tmp_path)
    assert f"sources.csv, SHA-256 {FILE['sha256']}" in script(path)
    assert said.returncode == 1
    assert "put it beside the notebook" in said.stderr
    assert "Traceback" not in said.stderr
    (tmp_path / "sources.csv").touch()
    lines = run_alone(path, tmp_path).stdout.splitlines()
    assert lines[-1] == "42"
    assert ("9.9" in lines[0]) is (version == "9.9")
