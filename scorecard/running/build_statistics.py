"""Recorded times and sizes of builds, in ``book/profiles/builds.yml``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from scorecard.paths import BOOK
from scorecard.running.kernels import COMPILATION
from scorecard.running.notebooks import all_notebooks
from scorecard.values import read_values

HEADER = "# Times and sizes of builds, written by `python -m scorecard times` and `repeat`.\n"


def read_statistics() -> dict[str, dict[str, Any]]:
    """Return the recorded statistics of each profile's build.

    Keys by profile: ``seconds``, the CPU-seconds of each notebook; ``compilation``, the
    CPU-seconds of all compilations; ``bytes`` of ``results`` and of ``pages``; ``repeated``, the
    number of notebooks that gave the same bytes ``again``, and of ``all``.
    """
    path = BOOK / "profiles" / "builds.yml"
    return read_values(path) if path.exists() else {}


def recorded_seconds(profile: str, name: str) -> float | None:
    """Return the recorded CPU-seconds of a notebook in a profile, or None."""
    seconds: Mapping[str, float] = read_statistics().get(profile, {}).get("seconds", {})
    return seconds.get(name)


def record_build(profile: str, **facts: Any) -> Path:
    """Record statistics of a profile's build, and return the file."""
    path = BOOK / "profiles" / "builds.yml"
    builds = read_statistics()
    builds[profile] = builds.get(profile, {}) | facts
    path.write_text(HEADER + yaml.safe_dump(builds, sort_keys=False), encoding="utf-8")
    return path


def measure_build(build: Path) -> dict[str, Any]:
    """Return ``seconds``, ``compilation`` and ``bytes`` of the last build in a folder.

    Raises RuntimeError if a notebook has no result there.
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
