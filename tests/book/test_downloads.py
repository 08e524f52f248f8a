"""The notebooks that readers take with them, as the built book has them."""

import os
import re
import shutil
import subprocess
import sys

import nbformat
import pytest

from scorecard.running.notebooks import all_notebooks
from tests.support import built_wheel

RAW = re.compile(r"\{[a-z:-]+\}`|^[`:]{3,}\{|^\([\w-]+\)=$", re.MULTILINE)


def test_downloads_are_plain_notebooks(site):
    for name in all_notebooks():
        notebook = nbformat.read(site.html / f"notebooks/{name}.ipynb", 4)
        nbformat.validate(notebook)
        words = [cell.source for cell in notebook.cells if cell.cell_type == "markdown"]
        assert [match[0] for text in words for match in RAW.finditer(text)] == [], name


def test_downloads_contain_their_figures(site):
    for name, own in all_notebooks().items():
        notebook = nbformat.read(site.html / f"notebooks/{name}.ipynb", 4)
        attached = {file for cell in notebook.cells for file in cell.get("attachments", {})}
        figures = {f["id"] for f in site.figures if f["notebook"] == own.page}
        assert attached == {f"{id}.png" for id in figures}, name


@pytest.fixture(scope="session")
def installed(tmp_path_factory):
    """The package as it is installed, outside the repository."""
    folder = tmp_path_factory.mktemp("installed")
    shutil.unpack_archive(built_wheel(folder), folder / "site", "zip")
    return folder / "site"


@pytest.mark.sampled
@pytest.mark.parametrize("name", ["robots-open", "your-trace", "at-scale"])
def test_download_runs_with_installed_package(site, installed, tmp_path, name):
    """From its archive, as Jupyter would; it leaves what it makes in its folder."""
    path = tmp_path / f"{name}.ipynb"
    shutil.unpack_archive(site.html / f"notebooks/{name}.zip", tmp_path)
    without = {k: v for k, v in os.environ.items() if k != "BOOK_RUN_DIR"}
    without["PYTHONPATH"] = str(installed)
    command = [sys.executable, "-m", "jupyter", "execute", "--inplace", "--timeout=300", path.name]
    done = subprocess.run(command, cwd=tmp_path, env=without, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    outputs = [o for c in nbformat.read(path, 4).cells for o in c.get("outputs", [])]
    assert any("image/png" in output.get("data", {}) for output in outputs)
    assert list((tmp_path / "_output/figures").glob("*.csv"))


def test_download_button_gives_archive(site):
    for name, own in all_notebooks().items():
        links = site.pages[f"{own.page}.html"].all("a")
        offered = [a.get("href", "") for a in links if "btn" in a.get("class", "")]
        given = [address for address in offered if address.endswith((".ipynb", ".md", ".zip"))]
        assert given == [f"../notebooks/{name}.zip"]


@pytest.mark.sampled
@pytest.mark.process
def test_download_uses_installed_package(installed, tmp_path):
    """Else the test above would hold whatever the package has left out."""
    asked = [sys.executable, "-c", "import analysis; print(analysis.__file__)"]
    environment = {**os.environ, "PYTHONPATH": str(installed)}
    said = subprocess.run(asked, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert said.stdout.startswith(str(installed))
