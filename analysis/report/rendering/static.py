"""One copy of the static files (styles, scripts, fonts) for all small sites that have the same.

They are thirty times what the page of a rerun weighs. A copy is named after its content, so that
it is never changed: sites of another version have another, and two that are made at once cannot
disturb each other.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from pathlib import Path

_REFERENCE = re.compile(r"""(?P<before>["'(])(?P<up>(?:\.\./)*)_static/""")


def share_static(made: Path, site: Path, shared: Path) -> None:
    """Take the static files of a new site to where others share them, and let its pages know.

    Parameters
    ----------
    made : Path
        The new site, not yet in its place.
    site : Path
        Its place.
    shared : Path
        Where the copies are, one a content.
    """
    own = made / "_static"
    copy = shared / _digest(own)
    shared.mkdir(parents=True, exist_ok=True)
    try:
        own.rename(copy)
    except OSError:
        if not copy.is_dir():
            raise
        shutil.rmtree(own)  # another site brought the same
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
