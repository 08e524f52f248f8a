"""The import contracts of `pyproject.toml` catch the imports that they are there to forbid."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

#: A module, and what it must not import: one for each kind of wall.
FORBIDDEN = [
    ("analysis.ephemeral.index", "analysis.report"),
    ("analysis.ephemeral.scheduler.core", "analysis.ephemeral.scheduler.machines.partition"),
    (
        "analysis.ephemeral.scheduler.calendar.buckets",
        "analysis.ephemeral.scheduler.calendar.epoch",
    ),
    (
        "analysis.ephemeral.scheduler.machines.partition",
        "analysis.ephemeral.scheduler.machines.cluster",
    ),
    ("analysis.robots.curve.ends", "analysis.published"),
    ("analysis.trace.trace", "analysis.trace.studies"),
    ("analysis.learning.comparison", "analysis.ephemeral.studies"),
    ("analysis.crawl.frontier.frontier", "analysis.crawl.studies"),
    ("analysis.crawl.feeds.reply", "analysis.crawl.feeds.parsing"),
    ("analysis.crawl.fetching.hosts", "analysis.crawl.fetching.requests"),
    ("analysis.crawl.storage.store", "analysis.crawl.fetching.hosts"),
    ("analysis.restarts.arm", "analysis.restarts.whittle.index"),
    ("analysis.restarts.whittle.envelope", "analysis.restarts.whittle.elimination"),
    ("analysis.published", "analysis.report.collate"),
    ("analysis.report.scorecard", "analysis.robots.static"),
    ("analysis.ephemeral.studies.experiment", "analysis.crawl.local.site"),
    ("analysis.joint.prices", "analysis.joint.optimum"),
    ("analysis.results", "analysis.mdp"),
    ("analysis.report.collate", "analysis.report.pages.collated"),
    ("analysis.report.publishing.metadata.address", "analysis.report.publishing.site"),
    ("analysis.report.pages.links.terms", "analysis.report.pages.rerun"),
]


def source(tree, module):
    """Return the file of a module in a copy of the package."""
    path = tree.joinpath(*module.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """Plant every forbidden import in a copy of the package and return what the linter says."""
    tree = tmp_path_factory.mktemp("planted")
    shutil.copytree(ROOT / "analysis", tree / "analysis", ignore=shutil.ignore_patterns("__pyc*"))
    shutil.copy(ROOT / "pyproject.toml", tree)
    for importer, imported in FORBIDDEN:
        with source(tree, importer).open("a", encoding="utf-8") as module:
            module.write(f"\nimport {imported}\n")
    (tree / "analysis" / "ephemeral" / "unlisted.py").write_text('"""In no layer."""\n')
    command = [Path(sys.executable).with_name("lint-imports"), "--no-logo", "--no-cache"]
    done = subprocess.run(command, cwd=tree, capture_output=True, text=True)
    assert done.returncode == 1
    return " ".join(done.stdout.split())


@pytest.mark.parametrize(("importer", "imported"), FORBIDDEN)
def test_a_forbidden_import_is_caught(report, importer, imported):
    assert f"{importer} -> {imported} (l." in report


def test_a_module_in_no_layer_is_caught(report):
    assert "unlisted" in report
