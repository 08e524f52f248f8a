"""A fingerprint changes with any code that a result is computed from, and with nothing else."""

import json
import shutil
import subprocess
import sys

import pytest

from analysis.fingerprint import statements
from scorecard.paths import ROOT

#: Prints the certificates of recorded experiments, a kernel's stamp and the keys of two notebooks.
PRINT_CERTIFICATES = """
import json
from analysis.fingerprint import fingerprint
from analysis.learning.regret import recorded
from scorecard.running.runner import compute_result_key
from scorecard.running.notebooks import all_notebooks
from analysis.robots.curve import check
books = all_notebooks()
print(json.dumps({
    "losses": recorded.code(),
    "curve": check.code_hash(),
    "kernel": fingerprint(["analysis.learning.loop"]),
    "learning-trap": compute_result_key(books["learning-trap"], {}),
    "robots-growth": compute_result_key(books["robots-growth"], {}),
}))
"""


LEARNING = {"losses", "kernel", "learning-trap"}
CURVE = {"curve", "robots-growth"}


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """A copy of the package and of the book's text."""
    folder = tmp_path_factory.mktemp("checkout")
    unwanted = shutil.ignore_patterns("__pycache__", "_build")
    for name in ("analysis", "scorecard", "book"):
        shutil.copytree(ROOT / name, folder / name, ignore=unwanted)
    shutil.copy(ROOT / "requirements.lock", folder)
    return folder


def certificates(folder):
    command = [sys.executable, "-P", "-c", f"import sys; sys.path[:0] = [{str(folder)!r}]\n"
               + PRINT_CERTIFICATES]  # fmt: skip
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    ("module", "old", "new", "changed"),
    [
        ("ephemeral/kernels.py", "age[i] += 1", "age[i] += 2", LEARNING),
        ("robots/curve/growth.py", "return", "return  ", CURVE),
        ("checks.py", "import", "import ", LEARNING | CURVE),
        ("joint/prices.py", "return", "return  ", set()),
    ],
)
def test_deep_module_changes_each_certificate(checkout, module, old, new, changed):
    before = certificates(checkout)
    path = checkout / "analysis" / module
    source = path.read_text()
    assert old in source
    path.write_text(source.replace(old, new, 1))
    try:
        after = certificates(checkout)
    finally:
        path.write_text(source)
    assert {name for name in before if before[name] != after[name]} == changed


def test_docstrings_and_comments_do_not_count():
    source = 'def f(x):\n    """Double."""\n    # why\n\n    return x\n'
    assert statements(source) == "def f(x):\n    return x\n"
    assert statements(source.replace("Double", "Double\n\n    it")) == statements(source)
    assert statements(source.replace("return x", "return 2")) != statements(source)
