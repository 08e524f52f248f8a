"""Static files (styles, scripts, fonts) shared by the sites of reruns.

They are thirty times as large as the page of a rerun. A copy is named by the hash of its content
and never changed: sites with other static files have another copy, and concurrent builds do not
conflict.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from pathlib import Path

_REFERENCE = re.compile(r"""(?P<before>["'(])(?P<up>(?:\.\./)*)_static/""")


def move_to_shared(made: Path, site: Path, shared: Path) -> None:
    """Move the static files of a new site to the shared folder, and update its pages' links.

    `made`: the new site, in a temporary folder; `shared`: folder of the shared copies.
    """
    own = made / "_static"
    copy = shared / _digest(own)
    shared.mkdir(parents=True, exist_ok=True)
    try:
        own.rename(copy)
    except OSError:
        if not copy.is_dir():
            raise
        shutil.rmtree(own)  # the same files are shared already
    there = Path(os.path.relpath(copy, site)).as_posix()
    for page in made.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        page.write_text(_REFERENCE.sub(rf"\g<before>\g<up>{there}/", text), encoding="utf-8")


def _digest(folder: Path) -> str:
    digest = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        name = path.relative_to(folder).as_posix()
        digest.update(name.encode() + hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:12]
