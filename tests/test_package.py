"""What is installed from the repository: all that the package's own code reads is in it."""

import re
import subprocess
import sys
import zipfile

import pytest

from scorecard.files import ROOT
from tests.support import built_wheel

pytestmark = pytest.mark.process
#: The only modules that may look outside the package: they build the book from its sources.
CHECKOUT = {"scorecard/files.py"}


def test_wheel_is_complete(tmp_path):
    options = ["-z", "--cached", "--others", "--exclude-standard"]
    command = ["git", "ls-files", *options, "analysis", "scorecard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    with zipfile.ZipFile(built_wheel(tmp_path)) as wheel:
        packed = set(wheel.namelist())
    missing = {name for name in listed.stdout.split("\0") if name and (ROOT / name).exists()}
    assert missing - packed == set()


def test_no_module_looks_outside_the_package():
    outside = {
        path.relative_to(ROOT).as_posix()
        for folder in ("analysis", "scorecard")
        for path in (ROOT / folder).rglob("*.py")
        if re.search(r"__file__\).*(\.parents\[|\.parent\.parent)", path.read_text())
    }
    assert outside == CHECKOUT


#: Imports all that is offered without what only tables and pictures need, and names the rest.
CORE = """
import importlib, sys
sys.modules.update(pyarrow=None, matplotlib=None)
for part in ("ephemeral", "restarts", "bandits", "learning", "robots", "mdp", "trace", "joint"):
    offered = importlib.import_module(f"analysis.{part}")
    for name in offered.__all__:
        try:
            getattr(offered, name)
        except ModuleNotFoundError as error:
            print(name, error.name, "[tables]" in str(error))
from analysis.ephemeral import Sources, four_sources, simulate
print(len(simulate(four_sources(), "whittle", 1, 20).reward))
print(len(Sources.from_csv("tests/book/tables/five-sources.csv")))
"""


def test_models_need_neither_pyarrow_nor_matplotlib():
    command = [sys.executable, "-c", CORE]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["20", "5"]


#: Uses a library's extra where all of it is missing.
BARE = """
import sys
sys.modules.update(yaml=None, matplotlib=None, feedparser=None, scrapy=None, pyarrow=None)
for package, name in (("scorecard", "save_figure"), ("analysis.crawl", "read_feed"),
                      ("analysis.ephemeral", "Sources.from_parquet")):
    try:
        module = __import__(package, fromlist=["x"])
        getattr(module, name.split(".")[0])
        if "." in name:
            module.Sources.from_parquet("sources.parquet")
    except ModuleNotFoundError as error:
        print(error)
"""


def test_missing_extra_is_named():
    command = [sys.executable, "-c", BARE]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    extras = [line.split("[")[1] for line in done.stdout.splitlines()]
    assert extras == ["book]'", "crawl]'", "tables]'"]
