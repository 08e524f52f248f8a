"""Render pages: stage the sources with the executed notebooks in place, and let jupyter-book work.

A page is never executed here. The new site is built aside and moved in place whole, so that a
failed build leaves the last good book as it was; when nothing changed, nothing is built.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import yaml
from PIL import Image

from analysis.report.collate import DATA, Collation, errata_rows
from analysis.report.files import (
    child_environment,
    end_with_parent,
    fresh_folder,
    raise_if_full,
    replace_file,
    replace_folder,
)
from analysis.report.pages.explorables import FOLDER as EXPLORABLES
from analysis.report.pages.references import read_index, source_index
from analysis.report.paths import BOOK, ROOT
from analysis.report.publishing.address import base_address, repository_address
from analysis.report.publishing.citation import facts, plain_citation, this_edition
from analysis.report.publishing.crate import correct_sizes
from analysis.report.publishing.site import write_data
from analysis.report.rendering.downloads import write_notebooks
from analysis.report.rendering.static import share_static
from analysis.report.run import write_json
from analysis.report.running.known import known_builds
from analysis.report.running.notebooks import (
    ASIDE,
    find_notebook,
    profile_parameters,
    source_files,
)

#: Files whose change alters pages though no result changes.
_PAGE_CODE = ("analysis/report", "analysis/published")
#: Files that lie beside the site as well as in it.
BESIDE = (
    "scorecard.csv", "errata.csv", "figures.json", "tables.json", "data.json", "manifest.json",
)  # fmt: skip
#: Pixels of a figure in the gallery, at most, either way.
THUMBNAIL = 560
#: Colours of such a picture: a drawing has few, and its file is then a third as large.
COLOURS = 128
#: In a site, the hash of all that it was made from.
KEY = ".key"


class RenderFailed(RuntimeError):
    """Sphinx did not build the pages; its own messages say why."""


def render_book(found: Collation, build: Path) -> bool:
    """Render the whole book to ``build/html``.

    Parameters
    ----------
    found : Collation
        What the notebooks left behind.
    build : Path
        The build folder.

    Returns
    -------
    bool
        Whether anything had to be built.

    Raises
    ------
    RenderFailed
        If Sphinx reports an error or a warning.
    """
    stage = fresh_folder(build / "stage")
    for path in sorted(source_files()):
        inside = path.relative_to(BOOK)
        if inside.parts[0] != "profiles":
            page = inside.with_suffix("").as_posix()
            (stage / inside).parent.mkdir(parents=True, exist_ok=True)
            if page in found.runs and path.suffix == ".md":
                _stage_run(found, page, stage / page)
            else:
                shutil.copyfile(path, stage / inside)
    _stage_config(stage, base_address())
    _stage_data(found, stage)
    return _build(stage, build, strict=True)


def render_runs(found: Collation, build: Path, book: Path, *, strict: bool = False) -> list[Path]:
    """Render rerun notebooks to a small site of their own and return their pages.

    Parameters
    ----------
    found : Collation
        The runs; one, where a reader asked for it.
    build : Path
        Folder of the site.
    book : Path
        Folder of the book's own site, into which references lead if it is there.
    strict : bool
        Whether a warning is an error.
    """
    stage = fresh_folder(build / "stage")
    names = [Path(page).name for page in found.runs]
    for name, page in zip(names, found.runs, strict=True):
        _stage_run(found, page, stage / name)
    for part in ("references.bib", "back/bibliography.md"):
        shutil.copyfile(BOOK / part, stage / Path(part).name)
    for part in (*ASIDE, EXPLORABLES):
        shutil.copytree(BOOK / part, stage / part)
    _stage_config(stage, "")  # they are on this machine only
    chapters = [{"file": name} for name in (*names[1:], "bibliography")]
    contents = {"format": "jb-book", "root": names[0], "chapters": chapters}
    (stage / "_toc.yml").write_text(yaml.safe_dump(contents), encoding="utf-8")
    for page, run in found.runs.items():
        notebook = find_notebook(Path(page).name)
        run["documents"] = notebook.resolve(profile_parameters("paper").get(notebook.name, {}))
    _stage_data(found, stage, {"book": _book_beside(book, build / "html")})
    _build(stage, build, strict=strict, shared=build.parent / "_static")
    return [build / "html" / f"{name}.html" for name in names]


def _book_beside(book: Path, html: Path) -> dict[str, Any]:
    """Return what a site can refer to in the book, and the book's address from there.

    The book that was built here comes first, then the published one; where there is neither, the
    references of a page are words.
    """
    sources = source_index()
    if index := read_index(book):
        built = index["targets"]
        targets = {kind: known | built[kind] for kind, known in sources["targets"].items()}
        return {"address": os.path.relpath(book, html), "targets": targets} | {
            "numbers": index["numbers"]
        }
    return {"address": base_address().rstrip("/")} | sources


def _stage_config(stage: Path, address: str) -> None:
    """Put the configuration in place, with the address at which the pages will be found."""
    config = yaml.safe_load((BOOK / "_config.yml").read_text(encoding="utf-8"))
    config["html"]["baseurl"] = address
    config["html"].pop("repository", None)  # ours: pages read it from the data
    (stage / "_config.yml").write_text(yaml.safe_dump(config, sort_keys=False), encoding="utf-8")


def _stage_run(found: Collation, page: str, target: Path) -> None:
    """Put an executed notebook, and the pictures it drew, where its source would stand."""
    folder = Path(found.runs[page]["folder"])
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(folder / "notebook.ipynb", target.with_name(f"{target.name}.ipynb"))


def _stage_data(found: Collation, stage: Path, more: Mapping[str, Any] | None = None) -> None:
    write_data(found, stage / "_site")
    (stage / "_site/thumbnails").mkdir()
    for id in found.figures:
        with Image.open(stage / f"_site/figures/{id}.png") as picture:
            small = picture.convert("RGB")
            small.thumbnail((THUMBNAIL, THUMBNAIL), reducing_gap=2.0)
            small.quantize(COLOURS).save(stage / f"_site/thumbnails/{id}.png")
    runs = {
        page: {key: value for key, value in run.items() if key != "folder"}
        | {"cpu": float((Path(run["folder"]) / "cpu.txt").read_text())}
        for page, run in found.runs.items()
    }
    edition = this_edition()
    common = {
        "runs": runs,
        "builds": known_builds(),
        "machine": _machine(found),
        "repository": repository_address(),
        "edition": asdict(edition)
        | {"version": str(facts()["version"]), "citation": plain_citation(edition)},
        "errata": errata_rows(found),
    }
    write_json(stage / DATA, asdict(found) | common | dict(more or {}))


def _machine(found: Collation) -> dict[str, str]:
    """Return what the runs say of the machine that made them; of several, all."""
    said: dict[str, list[str]] = {}
    for run in found.runs.values():
        path = Path(run["folder"]) / "machine.json"
        machine = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        for name, value in machine.items():
            said.setdefault(name, []).append(value)
    return {name: ", ".join(sorted(set(values))) for name, values in said.items()}


def _build(stage: Path, build: Path, *, strict: bool, shared: Path | None = None) -> bool:
    """Render what is staged, if it has changed; the hash of what a site was made from is in it.

    Small sites share their static files.
    """
    key = _key(stage)
    html = build / "html"
    there = (html / KEY).exists() and (html / "index.html").exists()
    new = not (there and (html / KEY).read_text() == key)
    if new:
        with _rendered(stage, build, "html", strict) as made:
            shutil.copytree(stage / "_site", made, dirs_exist_ok=True)
            _write_notebooks(stage, made)
            if shared:
                share_static(made, html, shared)
            (made / KEY).write_text(key)
            replace_folder(made, html)
    shutil.rmtree(build / "rendering", ignore_errors=True)
    for name in BESIDE:
        replace_file(html / name, build / name)
    return new


def _write_notebooks(stage: Path, made: Path) -> None:
    """Make the notebooks of a new site stand alone."""
    data = json.loads((stage / DATA).read_text(encoding="utf-8"))
    index = read_index(made) or data.get("book") or source_index()
    write_notebooks(data, index | {"address": base_address().rstrip("/")}, made)
    correct_sizes(made)


def render_single(build: Path) -> Path:
    """Render the staged book as one long page, for printing, and return that page."""
    from analysis.report.publishing.printing import print_contents  # loads what reads a PDF

    stage = build / "stage"
    contents = yaml.safe_load((stage / "_toc.yml").read_text(encoding="utf-8"))
    ordered = yaml.safe_dump(print_contents(contents), sort_keys=False)
    (stage / "_toc.yml").write_text(ordered, encoding="utf-8")
    with _rendered(stage, build, "singlehtml", strict=False) as made:
        replace_folder(made, build / "singlehtml")
    return build / "singlehtml" / "index.html"


@contextmanager
def _rendered(stage: Path, build: Path, builder: str, strict: bool) -> Iterator[Path]:
    """Give the folder of pages that Sphinx made; no more of its work is kept."""
    out = fresh_folder(build / "rendering")
    try:
        _sphinx(stage, out, builder, strict)
        yield out / "_build" / builder
    finally:
        shutil.rmtree(out, ignore_errors=True)


def _sphinx(stage: Path, out: Path, builder: str, strict: bool) -> None:
    # Sphinx keeps all doctrees to the end: garbage collection took 25% of the run.
    call = "import gc; gc.set_threshold(100_000, 50, 100); "
    call += "from jupyter_book.cli.main import main; main()"
    command = [sys.executable, "-c", call, "build", str(stage), "--all", "-q"]
    command += ["--path-output", str(out), "--builder", builder]
    command += ["-W", "-n", "--keep-going"] if strict else []
    done = subprocess.run(
        command,
        env=child_environment(),
        preexec_fn=end_with_parent,
        capture_output=True,
        text=True,
    )
    if done.returncode != 0 or not (out / "_build" / builder / "index.html").exists():
        said = (done.stdout + done.stderr).replace(str(stage) + os.sep, "")
        raise_if_full(said, out)
        raise RenderFailed(f"the pages could not be rendered:\n{said[-6000:]}")


def _key(stage: Path) -> str:
    """Return a hash of all that the pages are made from."""
    digest = hashlib.sha256()
    code = [path for part in _PAGE_CODE for path in (ROOT / part).rglob("*") if path.is_file()]
    lock = ROOT / "requirements.lock"
    staged = [path for path in stage.rglob("*") if path.is_file()]
    api = list((ROOT / "analysis").rglob("*.py"))
    for path in sorted({*staged, *code, *api, lock}):
        if "__pycache__" not in path.parts:
            name = path.relative_to(stage if path.is_relative_to(stage) else ROOT).as_posix()
            digest.update(name.encode() + hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()
