"""What a result depends on: a change that matters changes the key, another one does not."""

import json
import subprocess
import sys

import pytest

from analysis.report import dependencies
from analysis.report.notebooks import Notebook, all_notebooks
from analysis.report.paths import ROOT

PAGE = """---
jupytext:
  text_representation: {extension: .md, format_name: myst}
kernelspec: {name: python3, display_name: Python 3, language: python}
---

# A page

```{code-cell} ipython3
import analysis.models.first
from analysis.shared import helper
```
"""
TREE = {
    "requirements.lock": "numpy==2\n",
    "book/part/page.md": PAGE,
    "analysis/__init__.py": "",
    "analysis/models/__init__.py": "",
    "analysis/models/first.py": "from .second import value\nfrom . import third\n",
    "analysis/models/second.py": "from analysis.data import table\nvalue = 1\n",
    "analysis/models/third.py": "def late():\n    from analysis.models.fourth import value\n",
    "analysis/models/fourth.py": "value = 4\n",
    "analysis/models/unrelated.py": "value = 1\n",
    "analysis/shared.py": "import numpy\nhelper = 1\n",
    "analysis/data/__init__.py": "table = 1\n",
    "analysis/data/rows.csv": "a\n1\n",
    "analysis/data/deep/more.csv": "a\n1\n",
    "analysis/other/__init__.py": "",
    "analysis/other/rows.csv": "a\n1\n",
    "README.md": "words\n",
}
NEEDED = [
    "requirements.lock",
    "book/part/page.md",
    "analysis/__init__.py",
    "analysis/models/__init__.py",
    "analysis/models/first.py",
    "analysis/models/second.py",
    "analysis/models/third.py",
    "analysis/models/fourth.py",
    "analysis/shared.py",
    "analysis/data/__init__.py",
    "analysis/data/rows.csv",
    "analysis/data/deep/more.csv",
]


@pytest.fixture
def key(tmp_path, monkeypatch):
    """Return a function that gives the key of the page of a small tree of files."""
    for name, content in TREE.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    monkeypatch.setattr(dependencies, "ROOT", tmp_path)

    def compute(parameters=None, sources=b""):
        dependencies._file_hash.cache_clear()
        dependencies._imports_of.cache_clear()
        notebook = Notebook(tmp_path / "book/part/page.md")
        return dependencies.result_key(notebook, parameters or {}, sources)

    yield compute
    dependencies._file_hash.cache_clear()
    dependencies._imports_of.cache_clear()


@pytest.mark.parametrize("name", NEEDED)
def test_a_change_of_what_is_imported_changes_the_key(key, tmp_path, name):
    before = key()
    path = tmp_path / name
    path.write_text(path.read_text() + "\n")
    assert key() != before


@pytest.mark.parametrize("name", sorted(set(TREE) - set(NEEDED)))
def test_a_change_elsewhere_does_not(key, tmp_path, name):
    before = key()
    (tmp_path / name).write_text("changed = True\n")
    (tmp_path / "analysis/new.py").write_text("new = True\n")
    assert key() == before


def test_a_new_import_or_data_file_changes_the_key(key, tmp_path):
    before = key()
    (tmp_path / "analysis/data/new.csv").write_text("a\n2\n")
    with_data = key()
    (tmp_path / "analysis/shared.py").write_text("import analysis.other\nhelper = 1\n")
    assert len({before, with_data, key()}) == 3


def test_parameters_and_sources_change_the_key(key):
    keys = [key(), key({"a": 1}), key({"a": 2}), key({"a": 1.5}), key({"b": 1}), key({}, b"x")]
    assert len(set(keys)) == len(keys)
    assert key({"a": 1, "b": 2}) == key({"b": 2, "a": 1})


def test_a_package_may_import_itself_in_a_circle(key, tmp_path):
    (tmp_path / "analysis/models/second.py").write_text("from analysis.models import first\n")
    assert len(key()) == 64


@pytest.mark.parametrize("name", all_notebooks())
def test_the_closure_holds_every_module_that_the_notebook_loads(name):
    """Against Python itself: import what the notebook imports and ask what was loaded."""
    source = "\n".join(
        cell.source for cell in all_notebooks()[name].content.cells if cell.cell_type == "code"
    )
    wanted = sorted(dependencies._imported(source))
    program = (
        "import importlib, json, sys\n"
        f"for name in {wanted!r}:\n"
        "    try:\n"
        "        importlib.import_module(name)\n"
        "    except ModuleNotFoundError:\n"
        "        pass\n"  # a name inside a module
        "print(json.dumps([m.__file__ for n, m in sys.modules.items()"
        " if n.split('.')[0] == 'analysis']))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT
    )
    closure = {str(path) for path in dependencies._closure(set(wanted))}
    loaded = json.loads(done.stdout.splitlines()[-1])
    assert loaded
    assert set(loaded) <= closure
