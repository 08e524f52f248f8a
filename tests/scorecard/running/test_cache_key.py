"""What a result depends on: a change that matters changes the key, another one does not."""

import ast
import json
import subprocess
import sys

import pytest

from analysis import fingerprint, kernel_cache
from scorecard.files import ROOT
from scorecard.running import runner
from scorecard.running.notebooks import Notebook, OwnFile
from scorecard.running.preload import LIBRARIES
from tests.scorecard.running.conftest import NOTEBOOK_HEAD
from tests.support import read_notebooks

PAGE = (
    NOTEBOOK_HEAD
    + """# A page

```{code-cell} ipython3
import sample.models.first
from sample.shared import helper
from sample.lazy import first
```
"""
)
SHARED = """
from typing import TYPE_CHECKING
import numpy
if TYPE_CHECKING:
    from sample.typed import value
helper = 1
"""
TREE = {
    "requirements.lock": "numpy==2\n",
    "book/part/page.md": PAGE,
    "book/part/other.md": "# Another page\n",
    "book/published/document.csv": "id,place\n",
    "sample/__init__.py": "",
    "sample/models/__init__.py": "",
    "sample/models/first.py": "from .second import value\nfrom . import third\n",
    "sample/models/second.py": "from sample.data import table\nvalue = 1\n",
    "sample/models/third.py": "def late():\n    from sample.models.fourth import value\n",
    "sample/models/fourth.py": "value = 4\n",
    "sample/models/unrelated.py": "value = 1\n",
    "sample/shared.py": SHARED,
    "sample/data/__init__.py": "table = 1\n",
    "sample/data/rows.csv": "a\n1\n",
    "sample/data/deep/more.csv": "a\n1\n",
    "sample/other/__init__.py": "",
    "sample/other/rows.csv": "a\n1\n",
    "sample/lazy/__init__.py": "",
    "sample/lazy/__init__.pyi": "from .one import first\nfrom .two import second\n",
    "sample/lazy/one.py": "def first():\n    from sample.whole import value\n",
    "sample/lazy/two.py": "second = 2\n",
    "sample/whole/__init__.py": "",
    "sample/whole/__init__.pyi": "from .part import value\n",
    "sample/whole/part.py": "value = 1\n",
    "sample/typed.py": "value = 1\n",
    "README.md": "words\n",
}
NEEDED = [
    "book/published/document.csv",
    "requirements.lock",
    "book/part/page.md",
    "sample/__init__.py",
    "sample/models/__init__.py",
    "sample/models/first.py",
    "sample/models/second.py",
    "sample/models/third.py",
    "sample/models/fourth.py",
    "sample/shared.py",
    "sample/data/__init__.py",
    "sample/data/rows.csv",
    "sample/data/deep/more.csv",
    "sample/lazy/__init__.py",
    "sample/lazy/one.py",
    "sample/whole/__init__.py",
    "sample/whole/part.py",
]


@pytest.fixture
def key(tmp_path, monkeypatch):
    """Return a function that gives the key of the page of a small tree of files."""
    for name, content in TREE.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    monkeypatch.setattr(runner, "ROOT", tmp_path)
    monkeypatch.setattr(runner.prints, "FOLDER", tmp_path / "book/published")
    monkeypatch.setattr(fingerprint, "PACKAGES", ("sample",))
    monkeypatch.syspath_prepend(tmp_path)

    def compute(parameters=None, files=()):
        fingerprint.forget()
        notebook = Notebook(tmp_path / "book/part/page.md")
        return runner.compute_result_key(notebook, parameters or {}, files)

    yield compute
    fingerprint.forget()


@pytest.mark.parametrize("name", NEEDED)
def test_imported_change_changes_key(key, tmp_path, name):
    before = key()
    path = tmp_path / name
    path.write_text(path.read_text() + "\n")
    assert key() != before


@pytest.mark.parametrize("name", [n for n in TREE if n not in NEEDED and ".pyi" not in n])
def test_other_change_keeps_key(key, tmp_path, name):
    before = key()
    (tmp_path / name).write_text("changed = True\n")
    (tmp_path / "sample/new.py").write_text("new = True\n")
    assert key() == before


def test_reexported_name_counts_once(key, tmp_path):
    before = key()
    stub = tmp_path / "sample/lazy/__init__.pyi"
    stub.write_text(stub.read_text() + "from .third import more\n")
    (tmp_path / "sample/lazy/third.py").write_text("more = 1\n")
    assert key() == before
    stub.write_text("from .two import first\n")
    moved = key()
    assert moved != before
    (tmp_path / "sample/lazy/two.py").write_text("first = second = 3\n")
    assert key() != moved


def test_new_import_changes_key(key, tmp_path):
    before = key()
    (tmp_path / "sample/data/new.csv").write_text("a\n2\n")
    with_data = key()
    (tmp_path / "sample/shared.py").write_text("import sample.other\nhelper = 1\n")
    assert len({before, with_data, key()}) == 3


def test_words_and_errata_keep_key(key, tmp_path):
    before = key()
    for name in ("verdicts/a-document.yml", "errata/a-document.csv", "no_erratum.csv"):
        path = tmp_path / "book/published" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("words\n")
    assert key() == before
    (tmp_path / "book/published/other.csv").write_text("a row\n")
    assert key() != before


def test_parameters_change_key(key):
    keys = [key(), key({"a": 1}), key({"a": 2}), key({"a": 1.5}), key({"b": 1})]
    for given in (("sources", "x.csv", b""), ("sources", "x.csv", b"x"), ("trace", "x.csv", b"x")):
        keys.append(key({}, [OwnFile(*given)]))
    assert len(set(keys)) == len(keys)
    assert key({"a": 1, "b": 2}) == key({"b": 2, "a": 1})


def test_circular_import_has_key(key, tmp_path):
    (tmp_path / "sample/models/second.py").write_text("from sample.models import first\n")
    assert len(key()) == 64


#: What all kernels load is loaded once; each page's imports then run in a fork.
IMPORT = """
import importlib, json, os, sys
libraries, pages = json.load(sys.stdin)
for name in libraries:
    importlib.import_module(name)
for name, statements in pages.items():
    if os.fork() == 0:
        exec(statements)
        ours = {"analysis", "scorecard", "book"}
        loaded = [m.__file__ for n, m in sys.modules.items() if n.split(".")[0] in ours]
        print(json.dumps([name, loaded]), flush=True)
        os._exit(0)
    os.wait()
"""


@pytest.fixture(scope="module")
def imports(request):
    """The source of each chosen notebook, and the files of the modules that Python loads for it."""
    chosen = {
        item.callspec.params["name"]
        for item in request.session.items
        if "imports" in getattr(item, "fixturenames", ())
    }
    source = {
        name: "\n".join(
            c.source for c in read_notebooks()[name].content.cells if c.cell_type == "code"
        )
        for name in sorted(chosen)
    }
    statements = {
        name: "\n".join(
            ast.unparse(node)
            for node in ast.walk(ast.parse(text))
            if isinstance(node, ast.Import | ast.ImportFrom)
        )
        for name, text in source.items()
    }
    done = subprocess.run(
        [sys.executable, "-c", IMPORT],
        input=json.dumps([LIBRARIES, statements]),
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    )
    loaded = dict(map(json.loads, done.stdout.splitlines()))
    return {name: (source[name], loaded[name]) for name in source}


@pytest.mark.sampled
@pytest.mark.process
@pytest.mark.parametrize("name", read_notebooks())
def test_closure_holds_loaded_modules(imports, name):
    """Against Python itself: import what the notebook imports and ask what was loaded.

    Numba loads the module that keeps compiled kernels, on which no result depends.
    """
    source, loaded = imports[name]
    names = runner.find_imported_names(source)
    closure = {str(fingerprint.source_file(name)) for name in fingerprint.modules_behind(names)}
    assert loaded
    assert set(loaded) - {kernel_cache.__file__} <= closure
