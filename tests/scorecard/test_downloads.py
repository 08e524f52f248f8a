"""Downloaded notebooks stand alone: pictures inside, the package named first, and they run."""

import base64
import subprocess
import sys

import nbformat
import pytest

from analysis import __version__
from scorecard.portable import write_notebooks

PICTURE = b"\x89PNG\r\n"
SOURCE = """# A page

It earns {{ v.gain | fmt('.1f') }}.

```{repro-figure} page-line
```"""
CODE = "assert analysis.__version__\nprint(6 * 7)"
FILE = {"name": "my feeds.csv", "shipped": "sources.csv", "sha256": "ab" * 32}
DATA = {
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
INDEX = {"targets": {kind: {} for kind in ("ref", "numref", "eq", "prf", "doc")}, "address": ""}


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
    write_notebooks(DATA, INDEX, tmp_path / "site")
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


def test_download_explains_missing_package(path, tmp_path):
    said = subprocess.run(
        [sys.executable, "-S", "-c", script(path)], cwd=tmp_path, capture_output=True, text=True,
        env={},
    )  # fmt: skip
    assert said.returncode == 1
    assert "make lab" in said.stderr
    assert "abc123" in said.stderr
    assert "Traceback" not in said.stderr


def test_download_reports_other_version(path, tmp_path):
    (tmp_path / "analysis.py").write_text('__version__ = "9.9"\n')
    (tmp_path / "book.py").touch()
    (tmp_path / "sources.csv").touch()
    said = subprocess.run(
        [sys.executable, "-S", "-c", script(path)], cwd=tmp_path, capture_output=True, text=True
    )
    assert said.stdout.splitlines()[-1] == "42"
    assert "9.9" in said.stdout.splitlines()[0]


def test_download_names_its_file(path, tmp_path):
    assert f"sources.csv, SHA-256 {FILE['sha256']}" in script(path)
    (tmp_path / "analysis.py").write_text(f'__version__ = "{__version__}"\n')
    (tmp_path / "book.py").touch()
    said = subprocess.run(
        [sys.executable, "-S", "-c", script(path)], cwd=tmp_path, capture_output=True, text=True
    )
    assert said.returncode == 1
    assert "put it beside the notebook" in said.stderr
    assert "Traceback" not in said.stderr
