"""Draw mutants, run the tests of their module against each, and name those that survive.

``python -m mutants [target ...] [--seed 1] [--sample N]``. cosmic-ray makes the mutants and runs
the tests, in a copy of the repository; left to us are the sample and the list of the survivors
that are known to change nothing.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import sys
import tempfile
import tomllib
from collections.abc import Mapping
from contextlib import chdir
from pathlib import Path
from typing import Any

from cosmic_ray.commands.init import init
from cosmic_ray.mutating import mutate_and_test
from cosmic_ray.testing import run_tests
from cosmic_ray.work_db import WorkDB, use_db
from cosmic_ray.work_item import TestOutcome, WorkItem
from tqdm import tqdm

HERE = Path(__file__).parent
ROOT = HERE.parent
#: Decorators compile or cache; the bar of a type hint is never evaluated.
LEFT_OUT = ("core/RemoveDecorator", "core/ReplaceBinaryOperator_BitOr")
#: Seconds for the tests of one mutant; what takes longer is killed.
TIME_LIMIT = 600.0
NOT_COPIED = shutil.ignore_patterns(".git", ".venv", "_build", "__pycache__", ".*_cache")


def main() -> int:
    """Run the targets named on the command line, or all; 1 if a survivor is not accounted for."""
    targets = tomllib.loads((HERE / "targets.toml").read_text(encoding="utf-8"))
    known = tomllib.loads((HERE / "equivalent.toml").read_text(encoding="utf-8"))
    parser = argparse.ArgumentParser(prog="python -m mutants", description=__doc__)
    parser.add_argument("target", nargs="*", help=f"of {', '.join(targets)}; all without one")
    parser.add_argument("--seed", type=int, default=1, help="of the sample")
    parser.add_argument("--sample", type=int, help="mutants of each target")
    options = parser.parse_args()
    if unknown := set(options.target) - set(targets):
        parser.error(f"unknown: {', '.join(sorted(unknown))}; choose of {', '.join(targets)}")
    total = survived = unexplained = 0
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "repository"
        shutil.copytree(ROOT, copy, ignore=NOT_COPIED)
        with chdir(copy):
            for name in options.target or targets:
                sample = options.sample or targets[name]["sample"]
                done, alive = run_target(targets[name], sample, options.seed, Path(folder))
                excused = [entry for entry in alive if entry in _pairs(known.get(name, []))]
                print(f"{name}: {done - len(alive)} of {done} mutants killed", flush=True)
                for before, after in alive:
                    mark = "known " if (before, after) in excused else "ALIVE "
                    print(f"  {mark}- {before}\n        + {after}", flush=True)
                total, survived = total + done, survived + len(alive)
                unexplained += len(alive) - len(excused)
    print(f"all: {total - survived} of {total} killed, {unexplained} survivors not accounted for")
    return int(unexplained > 0)


def run_target(
    target: Mapping[str, Any], sample: int, seed: int, folder: Path
) -> tuple[int, list[tuple[str, str]]]:
    """Return how many mutants ran, and the lines before and after of those that survived."""
    command = " ".join(
        [sys.executable, "-m pytest -x -q -p no:cacheprovider --hypothesis-seed=0"]
        + target["tests"]
    )
    os.environ["NUMBA_CACHE_DIR"] = str(folder / "numba")
    os.environ["WHOLE"] = "1"  # tests of which each commit has a sample, too
    os.environ["NUMBA_DISABLE_JIT"] = str(int(target.get("interpreted", False)))
    outcome, output = run_tests(command, TIME_LIMIT)
    if outcome != TestOutcome.SURVIVED:
        raise SystemExit(f"the tests of {target['module']} fail as they are:\n{output}")
    alive = []
    chosen = _draw(Path(target["module"]), sample, seed, folder / "session.sqlite")
    for item in tqdm(chosen, desc=Path(target["module"]).name, unit="mutant", leave=False):
        if target.get("kernels"):
            os.environ["NUMBA_CACHE_DIR"] = tempfile.mkdtemp(dir=folder)
        result = mutate_and_test(item.mutations, command, TIME_LIMIT)
        if result.test_outcome == TestOutcome.SURVIVED:
            alive.append(_changed(result.diff or ""))
    return len(chosen), alive


def _draw(module: Path, sample: int, seed: int, path: Path) -> list[WorkItem]:
    path.unlink(missing_ok=True)
    with use_db(str(path), WorkDB.Mode.create) as db:
        init([module], db, {})
        items = [
            item
            for item in db.work_items
            if not item.mutations[0].operator_name.startswith(LEFT_OUT)
        ]
    items.sort(key=lambda item: (item.mutations[0].start_pos, item.mutations[0].operator_name))
    return random.Random(seed).sample(items, min(sample, len(items)))


def _changed(diff: str) -> tuple[str, str]:
    lines = [line for line in diff.splitlines() if not line.startswith(("---", "+++"))]
    before, after = ([line[1:].strip() for line in lines if line.startswith(s)] for s in "-+")
    return " ".join(before), " ".join(after)


def _pairs(entries: list[dict[str, str]]) -> list[tuple[str, str]]:
    return [(entry["before"], entry["after"]) for entry in entries]


if __name__ == "__main__":
    sys.exit(main())
