"""Notebooks repeat themselves: run again by nbval, strictly, with another number of threads."""

import os
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

from scorecard.collate import PRODUCTS
from scorecard.publishing.comparison import THREADS
from scorecard.running.kernels import kernel_environment
from scorecard.running.notebooks import all_notebooks
from tests.support import sample

#: Number of notebooks that are run again at each commit; `make proofs` runs all.
REPEATS = 4


def repeat(folders, report):
    """Run nbval on the notebooks in run folders; return the failed cells by notebook."""
    command = [sys.executable, "-m", "pytest", "--nbval", "--nbval-current-env", "-q"]
    command += ["-p", "no:cacheprovider", "-p", "no:randomly", f"--junitxml={report}"]
    command += ["-n", "2", "--dist", "loadfile"] if len(folders) > REPEATS else []
    environment = {**os.environ, **kernel_environment(THREADS)}
    environment["JUPYTER_DEFAULT_PROVISIONER_NAME"] = "warm-provisioner"
    environment.pop("PYTEST_ADDOPTS", None)
    done = subprocess.run(
        [*command, *(str(folder / "notebook.ipynb") for folder in folders)],
        cwd=report.parent,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert report.exists(), done.stdout + done.stderr
    failed, cells = {}, 0
    for case in ET.parse(report).getroot().iter("testcase"):
        cells += 1
        wrong = [*case.iter("failure"), *case.iter("error")]
        if wrong:
            failed.setdefault(case.get("classname"), []).append(
                f"{case.get('name')}: {wrong[0].text or wrong[0].get('message')}"
            )
    assert cells > len(folders), done.stdout
    assert bool(failed) == (done.returncode != 0), done.stdout
    return failed


def copied(site, page, target):
    """Copy a run as it stood before its kernel started, with the outputs that it then gave."""
    folder = target / Path(page).name
    source = site.build / "results" / page
    folder.mkdir(parents=True)
    for name in ("notebook.ipynb", "run.json", "sources.csv"):
        if (source / name).exists():
            shutil.copyfile(source / name, folder / name)
    return folder


def test_notebooks_repeat_with_other_threads(site, tmp_path):
    pages = sample((notebook.page for notebook in all_notebooks().values()), REPEATS)
    folders = {page: copied(site, page, tmp_path) for page in pages}
    assert repeat(list(folders.values()), tmp_path / "report.xml") == {}
    for page, folder in folders.items():
        # What nbval does not look at: records, figures with the data behind them, tables and data.
        first = site.build / "results" / page
        products = [path for part in PRODUCTS for path in sorted(first.glob(f"{part}/*"))]
        for path in [first / "record.json", *products]:
            if path.exists():
                again = folder / path.relative_to(first)
                assert again.read_bytes() == path.read_bytes(), f"{page}: {path.name}"
