"""Studies have one scheme: a package of the page's name, with modules of four names."""

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
#: What a page computes, what it says to rows, its figures, and its values and tables.
NAMES = {"__init__", "experiment", "claims", "pictures", "numbers"}
#: Beside the packages: what the pages of a part share, and the solutions of its exercises.
SHARED = NAMES | {"exercises"}
PARTS = {path.parent.name for path in ROOT.glob("analysis/*/studies")}


def misnamed(studies, pages):
    """Return what does not follow the scheme in a folder of studies, by its path there."""
    found = []
    for path in sorted(studies.rglob("*.py")):
        *folder, name = path.relative_to(studies).with_suffix("").parts
        allowed = NAMES if folder else SHARED
        if name not in allowed or folder[1:] or (folder and folder[0] not in pages):
            found.append(path.relative_to(studies).as_posix())
    return found


def pages(part):
    return {path.stem.replace("-", "_") for path in ROOT.glob(f"book/{part}/*.md")}


@pytest.mark.parametrize("part", sorted(PARTS))
def test_studies_follow_the_scheme(part):
    assert misnamed(ROOT / "analysis" / part / "studies", pages(part)) == []


@pytest.mark.parametrize(
    "module",
    ["page.py", "my_page/results.py", "my_page/exercises.py", "other/claims.py",
     "my_page/pictures/claims.py"],
)  # fmt: skip
def test_another_name_is_found(tmp_path, module):
    for name in (module, "exercises.py", "my_page/experiment.py", "my_page/__init__.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    assert misnamed(tmp_path, {"my_page"}) == [module]
