"""What builds from nothing took, kept beside the profiles: for estimates, and for readers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from analysis.report.paths import BOOK
from analysis.report.running.kernels import COMPILATION
from analysis.report.running.notebooks import all_notebooks
from analysis.report.running.values import read_values

HEAD = "# What builds from nothing took, kept by `python -m analysis.report times` and `repeat`.\n"


def known_builds() -> dict[str, dict[str, Any]]:
    """Return what is known of the builds of each profile.

    Returns
    -------
    dict
        By profile: ``seconds``, the CPU-seconds of each notebook; ``compilation``, those of all
        notebooks that Numba took; ``bytes`` of ``results`` and of ``pages``; ``repeated``, how many
        notebooks gave the same bytes ``again``, of how many in ``all``.
    """
    path = BOOK / "profiles" / "builds.yml"
    return read_values(path) if path.exists() else {}


def known_seconds(profile: str, name: str) -> float | None:
    """Return the CPU-seconds that a notebook is known to take in a profile, if it is known."""
    seconds: Mapping[str, float] = known_builds().get(profile, {}).get("seconds", {})
    return seconds.get(name)


def keep_build(profile: str, **facts: Any) -> Path:
    """Keep facts of the build of a profile beside the others, and return the file."""
    path = BOOK / "profiles" / "builds.yml"
    builds = known_builds()
    builds[profile] = builds.get(profile, {}) | facts
    path.write_text(HEAD + yaml.safe_dump(builds, sort_keys=False), encoding="utf-8")
    return path


def measured(build: Path) -> dict[str, Any]:
    """Return what the last build in a folder took: CPU-seconds, compilation, bytes.

    Raises
    ------
    RuntimeError
        If a notebook has no result there.
    """
    folders = {name: build / "results" / n.page for name, n in all_notebooks().items()}
    missing = [name for name, folder in folders.items() if not (folder / "cpu.txt").exists()]
    if missing:
        raise RuntimeError(f"there is no result of {missing[0]}: run 'make book' first")
    compiled = [path for folder in folders.values() if (path := folder / COMPILATION).exists()]
    return {
        "seconds": {name: float((path / "cpu.txt").read_text()) for name, path in folders.items()},
        "compilation": round(sum(float(path.read_text()) for path in compiled), 1),
        "bytes": {"results": _bytes(build / "results"), "pages": _bytes(build / "html")},
    }


def _bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
