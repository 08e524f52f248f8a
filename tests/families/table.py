"""The table of families: which adversarial families hold each public function to its definition.

``tests/families/<part>.py`` has two tables.

``FAMILIES`` maps the name of a public function to its checks, by the name of the family of
instances: ``{"whittle_index": {"chains that seldom climb": check, ...}}``. A check takes no
argument and asserts that the function agrees with a second method (its definition in high
precision, another kind of solver, brute force), or that it refuses by name. A check marked by
`slow` runs in ``make proofs`` alone. Methods have rows too, as ``"Scheduler.demand"``.

``NOT_COMPUTED`` maps each public name without a check to the reason: an options object, a protocol.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

#: Parts of the package whose public names all have a row: those with a module in this folder.
PARTS = sorted(
    file.stem
    for file in Path(__file__).parent.glob("*.py")
    if file.stem not in ("__init__", "table", "test_families")
)


@dataclass(frozen=True)
class Slow:
    """A check that takes too long for ``make check``."""

    check: Callable[[], None]

    def __call__(self) -> None:
        """Run the check."""
        self.check()


def slow(check: Callable[[], None]) -> Slow:
    """Mark a check that takes too long for ``make check``."""
    return Slow(check)


def families(part: str) -> dict[str, dict[str, Callable[[], None]]]:
    """Return the checks of a part by function and family."""
    found: dict[str, dict[str, Callable[[], None]]] = import_module(
        f"tests.families.{part}"
    ).FAMILIES
    return found


def not_computed(part: str) -> dict[str, str]:
    """Return the public names of a part without a check, and why they need none."""
    found: dict[str, str] = import_module(f"tests.families.{part}").NOT_COMPUTED
    return found


def public_names(part: str) -> set[str]:
    """Return the public names of a part."""
    module = import_module(f"analysis.{part}")
    return set(getattr(module, "__all__", ())) or {
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and getattr(value, "__module__", "") == module.__name__
    }
