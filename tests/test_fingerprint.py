"""A fingerprint changes with any code that a result is computed from, and with nothing else."""

import json
import shutil
import subprocess
import sys

import pytest

from analysis.fingerprint import modules_behind, statements
from scorecard.files import ROOT

LEARNING = {"losses", "kernel", "learning-trap"}
CURVE = {"curve", "robots-growth"}
#: An edit of a module below `analysis`, old and new text, and the certificates that it changes.
EDITS = [
    ("ephemeral/kernels.py", "age[i] += 1", "age[i] += 2", LEARNING),
    ("robots/curve/growth.py", "return", "return  ", CURVE),
    ("checks.py", "import", "import ", LEARNING | CURVE),
    ("joint/index.py", "return", "return  ", set()),
]
#: Prints the certificates of recorded experiments, a kernel's stamp and the keys of two notebooks:
#: as the code stands, and after each edit alone.
PRINT_CERTIFICATES = """
import json, pathlib, sys
sys.path.insert(0, str(pathlib.Path.cwd()))
from analysis.fingerprint import fingerprint, forget
from analysis.learning import random_sets
from scorecard.running.runner import compute_result_key
from scorecard.running.notebooks import all_notebooks
from analysis.robots.curve import growth
books = all_notebooks()

def certificates():
    for cached in (forget, random_sets.code_hash.cache_clear, growth.code_hash.cache_clear):
        cached()
    return {
        "losses": random_sets.code_hash(),
        "curve": growth.code_hash(),
        "kernel": fingerprint(["analysis.learning.loop"]),
        "learning-trap": compute_result_key(books["learning-trap"], {}),
        "robots-growth": compute_result_key(books["robots-growth"], {}),
    }

found = [certificates()]
for module, old, new in json.loads(sys.argv[1]):
    path = pathlib.Path("analysis", module)
    source = path.read_text()
    assert old in source
    path.write_text(source.replace(old, new, 1))
    found.append(certificates())
    path.write_text(source)
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    """Certificates in a copy of the package and of the book's text, by the edited module."""
    folder = tmp_path_factory.mktemp("checkout")
    unwanted = shutil.ignore_patterns("__pycache__", "_build")
    for name in ("analysis", "scorecard", "book"):
        shutil.copytree(ROOT / name, folder / name, ignore=unwanted)
    shutil.copy(ROOT / "requirements.lock", folder)
    edits = json.dumps([edit[:3] for edit in EDITS])
    command = [sys.executable, "-P", "-c", PRINT_CERTIFICATES, edits]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    return dict(zip(["", *(edit[0] for edit in EDITS)], json.loads(done.stdout), strict=True))


@pytest.mark.parametrize(("module", "changed"), [(edit[0], edit[3]) for edit in EDITS])
def test_deep_module_changes_each_certificate(certificates, module, changed):
    before, after = certificates[""], certificates[module]
    assert {name for name in before if before[name] != after[name]} == changed


@pytest.mark.parametrize(
    "name", ["analysis.checkss", "analysis.checks.check_integr", "analysis.ephemeral.x", "numpy"]
)
def test_unknown_names_are_refused(name):
    with pytest.raises(ValueError, match=name):
        modules_behind(["analysis.checks", name])


def test_docstrings_and_comments_do_not_count():
    source = 'def f(x):\n    """Double."""\n    # why\n\n    return x\n'
    assert statements(source) == "def f(x):\n    return x\n"
    assert statements(source.replace("Double", "Double\n\n    it")) == statements(source)
    assert statements(source.replace("return x", "return 2")) != statements(source)


def test_code_beside_docstrings_counts():
    assert statements('def f(): "Double."; return 1\n') == "def f(): ; return 1\n"
    text = 'KERNEL = """\n# not a comment\n\n"""\n'
    assert statements(text) == text
    assert statements('async def f():\n    """Wait."""\n    return 1\n').count("\n") == 2
