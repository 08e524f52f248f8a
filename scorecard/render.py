"""Rendering: copy sources and executed notebooks to a staging folder, and run jupyter-book on it.

Nothing is executed here. The site is built in a temporary folder and then replaced as a whole, so
that a failed build does not change the last good one; if nothing has changed, nothing is built.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import nbformat
import yaml
from PIL import Image

from scorecard.browser.bundle import RUNTIME, read_trials, write_bundle
from scorecard.collate import DATA, Collation, collect_texts, list_errata
from scorecard.files import (
    BOOK,
    ROOT,
    child_environment,
    empty_folder,
    exit_with_parent,
    raise_if_disk_full,
    replace_file,
    replace_folder,
)
from scorecard.fill import Text, fill_notebook
from scorecard.pages.explorables import FOLDER as EXPLORABLES
from scorecard.pages.references import index_sources, read_index
from scorecard.portable import write_notebooks
from scorecard.publishing.citation import (
    base_address,
    format_citation,
    read_cff,
    read_edition,
    repository_address,
)
from scorecard.publishing.site import update_notebook_sizes, write_data
from scorecard.record import write_json
from scorecard.running.notebooks import (
    SPHINX_FOLDERS,
    find_notebook,
    profile_parameters,
    read_statistics,
    source_files,
)

#: Code that changes pages without changing results.
_PAGE_CODE = ("scorecard", "book/published")
#: Files of the site that are copied to the build folder too.
COPIED_FILES = (
    "scorecard.csv", "errata.csv", "figures.json", "tables.json", "data.json", "manifest.json",
)  # fmt: skip
#: Greatest width and height of a thumbnail in the gallery, in pixels.
THUMBNAIL = 560
#: Colours of a thumbnail's palette, which makes its file a third as large.
COLOURS = 128
#: File of a site with its cache key.
KEY = ".key"
#: Beginning of a link to a static file.
_STATIC = re.compile(r"""(?P<before>["'(])(?P<up>(?:\.\./)*)_static/""")


class RenderFailed(RuntimeError):
    """Sphinx failed; the message contains its output."""


def render_book(collation: Collation, build: Path) -> bool:
    """Render the whole book to ``build/html``.

    Returns False if the site was up to date. Raises RenderFailed if Sphinx reports an error or a
    warning.
    """
    stage = empty_folder(build / "stage")
    texts = collect_texts(vars(collation), for_sphinx=True)
    for path in sorted(source_files()):
        relative = path.relative_to(BOOK)
        if relative.parts[0] != "profiles":
            page = relative.with_suffix("").as_posix()
            (stage / relative).parent.mkdir(parents=True, exist_ok=True)
            if page in collation.runs and path.suffix == ".md":
                _stage_run(collation, texts, page, stage / page)
            elif path.suffix == ".md" and relative.parts[0] not in SPHINX_FOLDERS:
                filled = texts.fill(path.read_text(encoding="utf-8"), page)
                (stage / relative).write_text(filled, encoding="utf-8")
            else:
                shutil.copyfile(path, stage / relative)
    _stage_config(stage, base_address())
    _stage_proofs(stage)
    shutil.copyfile(ROOT / "CHANGELOG.md", stage / "CHANGELOG.md")  # a page includes it
    _stage_data(collation, stage)
    write_bundle(collation, stage / "_site")
    return _build(stage, build, strict=True)


def render_runs(
    collation: Collation, build: Path, book: Path, *, strict: bool = False
) -> list[Path]:
    """Render reruns to a site of their own and return their pages.

    `book`: the book's own site; if it exists, cross-references become links to it; `strict`:
    whether a warning is an error.
    """
    stage = empty_folder(build / "stage")
    names = [Path(page).name for page in collation.runs]
    texts = collect_texts(vars(collation), for_sphinx=True)
    for name, page in zip(names, collation.runs, strict=True):
        _stage_run(collation, texts, page, stage / name)
    for name_of_file in ("references.bib", "back/bibliography.md"):
        shutil.copyfile(BOOK / name_of_file, stage / Path(name_of_file).name)
    for name_of_file in (*SPHINX_FOLDERS, EXPLORABLES):
        shutil.copytree(BOOK / name_of_file, stage / name_of_file)
    _stage_config(stage, "")  # reruns are not published
    _stage_proofs(stage)
    chapters = [{"file": name} for name in (*names[1:], "bibliography")]
    contents = {"format": "jb-book", "root": names[0], "chapters": chapters}
    (stage / "_toc.yml").write_text(yaml.safe_dump(contents), encoding="utf-8")
    for page, run in collation.runs.items():
        notebook = find_notebook(Path(page).name)
        run["documents"] = notebook.resolve(profile_parameters("paper").get(notebook.name, {}))
    _stage_data(collation, stage, {"book": _book_index(book, build / "html")})
    _build(stage, build, strict=strict, shared=build.parent / "_static")
    return [build / "html" / f"{name}.html" for name in names]


def _book_index(book: Path, html: Path) -> dict[str, Any]:
    """Return the index of reference targets for a site of reruns, with the book's ``address``.

    The address is the relative path to the book built here if there is one, else the URL of the
    published book, which may be empty.
    """
    sources = index_sources()
    if index := read_index(book):
        built = index["targets"]
        targets = {kind: entries | built[kind] for kind, entries in sources["targets"].items()}
        return {"address": os.path.relpath(book, html), "targets": targets} | {
            "numbers": index["numbers"]
        }
    return {"address": base_address().rstrip("/")} | sources


def _stage_config(stage: Path, address: str) -> None:
    """Stage the configuration, with the base URL of the site."""
    config = yaml.safe_load((BOOK / "_config.yml").read_text(encoding="utf-8"))
    config["html"]["baseurl"] = address
    config["html"].pop("repository", None)  # not an option of jupyter-book
    (stage / "_config.yml").write_text(yaml.safe_dump(config, sort_keys=False), encoding="utf-8")


def _stage_proofs(stage: Path) -> None:
    """Stage the Coq files, from which pages quote."""
    for path in sorted((ROOT / "proofs").glob("*/*.v")):
        target = stage / path.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)


def _stage_run(collation: Collation, texts: Text, page: str, target: Path) -> None:
    """Stage an executed notebook, with its text filled, in place of its source."""
    notebook = nbformat.read(Path(collation.runs[page]["folder"]) / "notebook.ipynb", 4)
    target.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(fill_notebook(texts, notebook, page), target.with_name(f"{target.name}.ipynb"))


def _stage_data(collation: Collation, stage: Path, extra: Mapping[str, Any] | None = None) -> None:
    write_data(collation, stage / "_site")
    (stage / "_site/thumbnails").mkdir()
    for id in collation.figures:
        with Image.open(stage / f"_site/figures/{id}.png") as picture:
            small = picture.convert("RGB")
            small.thumbnail((THUMBNAIL, THUMBNAIL), reducing_gap=2.0)
            small.quantize(COLOURS).save(stage / f"_site/thumbnails/{id}.png")
    runs = {
        page: {key: value for key, value in run.items() if key != "folder"}
        | {"cpu": float((Path(run["folder"]) / "cpu.txt").read_text())}
        for page, run in collation.runs.items()
    }
    edition = read_edition()
    common = {
        "runs": runs,
        "builds": read_statistics(),
        "trials": read_trials(),
        "machine": _describe_machine(collation),
        "repository": repository_address(),
        "edition": asdict(edition)
        | {"version": str(read_cff()["version"]), "citation": format_citation(edition)},
        "errata": list_errata(collation),
    }
    write_json(stage / DATA, asdict(collation) | common | dict(extra or {}))


def _describe_machine(collation: Collation) -> dict[str, str]:
    """Return the machine of the runs, by property; different values are joined by commas."""
    properties: dict[str, list[str]] = {}
    for run in collation.runs.values():
        path = Path(run["folder"]) / "machine.json"
        machine = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        for name, value in machine.items():
            properties.setdefault(name, []).append(value)
    return {name: ", ".join(sorted(set(values))) for name, values in properties.items()}


def _build(stage: Path, build: Path, *, strict: bool, shared: Path | None = None) -> bool:
    """Render the staged files, unless the site in place has the same cache key.

    With `shared` the static files are moved to that folder, which sites of reruns share.
    """
    key = _compute_key(stage)
    html = build / "html"
    is_complete = (html / KEY).exists() and (html / "index.html").exists()
    new = not (is_complete and (html / KEY).read_text() == key)
    if new:
        with _rendered(stage, build, "html", strict) as site:
            shutil.copytree(stage / "_site", site, dirs_exist_ok=True)
            _write_notebooks(stage, site)
            if shared:
                move_to_shared(site, html, shared)
            (site / KEY).write_text(key)
            if (html / RUNTIME).exists() and (site / RUNTIME).parent.exists():
                (html / RUNTIME).rename(site / RUNTIME)
            replace_folder(site, html)
    shutil.rmtree(build / "rendering", ignore_errors=True)
    for name in COPIED_FILES:
        replace_file(html / name, build / name)
    return new


def _write_notebooks(stage: Path, site: Path) -> None:
    """Make the notebooks of a new site portable."""
    data = json.loads((stage / DATA).read_text(encoding="utf-8"))
    index = read_index(site) or data.get("book") or index_sources()
    write_notebooks(data, index | {"address": base_address().rstrip("/")}, site)
    update_notebook_sizes(site)


def render_single(build: Path) -> Path:
    """Render the staged book as one HTML page, for printing, and return that page."""
    # Imported here because it loads pypdf, which takes long.
    from scorecard.publishing.pdf import arrange_contents

    stage = build / "stage"
    contents = yaml.safe_load((stage / "_toc.yml").read_text(encoding="utf-8"))
    ordered = yaml.safe_dump(arrange_contents(contents), sort_keys=False)
    (stage / "_toc.yml").write_text(ordered, encoding="utf-8")
    with _rendered(stage, build, "singlehtml", strict=False) as site:
        replace_folder(site, build / "singlehtml")
    return build / "singlehtml" / "index.html"


@contextmanager
def _rendered(stage: Path, build: Path, builder: str, strict: bool) -> Iterator[Path]:
    """Run Sphinx in a temporary folder, yield its output folder, and remove all at the end."""
    out = empty_folder(build / "rendering")
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
        preexec_fn=exit_with_parent,
        capture_output=True,
        text=True,
    )
    if done.returncode != 0 or not (out / "_build" / builder / "index.html").exists():
        output = (done.stdout + done.stderr).replace(str(stage) + os.sep, "")
        raise_if_disk_full(output, out)
        raise RenderFailed(f"the pages could not be rendered:\n{output[-6000:]}")


def _compute_key(stage: Path) -> str:
    """Return the cache key of the site: a hash of all files that the pages depend on."""
    code = [
        path
        for folder_name in _PAGE_CODE
        for path in (ROOT / folder_name).rglob("*")
        if path.is_file()
    ]
    lock = ROOT / "requirements.lock"
    staged = [path for path in stage.rglob("*") if path.is_file()]
    api = [
        path
        for folder in ("analysis", "book")
        for path in (ROOT / folder).rglob("*.py")
        if "_build" not in path.parts
    ]
    files = {path for path in (*staged, *code, *api, lock) if "__pycache__" not in path.parts}
    return _digest(files, stage, ROOT)


def _digest(files: Iterable[Path], *roots: Path) -> str:
    """Return a hash of files and of their paths relative to the first root that contains them."""
    digest = hashlib.sha256()
    for path in sorted(files):
        root = next(root for root in roots if path.is_relative_to(root))
        name = path.relative_to(root).as_posix()
        digest.update(name.encode() + hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def move_to_shared(new_site: Path, site: Path, shared: Path) -> None:
    """Move the static files of a new site to a folder of shared copies, and update its links.

    Styles, scripts and fonts are thirty times as large as the page of a rerun. A copy is named by
    the hash of its content and never changed: sites with other static files have another copy, and
    concurrent builds do not conflict. `new_site`: the new site, in a temporary folder.
    """
    own = new_site / "_static"
    copy = shared / _digest((path for path in own.rglob("*") if path.is_file()), own)[:12]
    shared.mkdir(parents=True, exist_ok=True)
    try:
        own.rename(copy)
    except OSError:
        if not copy.is_dir():
            raise
        shutil.rmtree(own)  # the same files are shared already
    link = Path(os.path.relpath(copy, site)).as_posix()
    for page in new_site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        page.write_text(_STATIC.sub(rf"\g<before>\g<up>{link}/", text), encoding="utf-8")
