"""What the notebooks left behind, as the pages of one build read it."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

from analysis.report.collate import DATA


def results(app: Sphinx) -> dict[str, Any]:
    """Return what the notebooks left behind, as `analysis.report.collate` wrote it."""
    return _read(Path(app.srcdir) / DATA)


@cache
def _read(path: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return content
