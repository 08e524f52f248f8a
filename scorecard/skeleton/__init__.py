"""The skeleton of a new page: its text, its module and a test, ready to run.

The other files of this folder are the templates.
"""

from __future__ import annotations

import re
from pathlib import Path

import jinja2

from scorecard.paths import ROOT

_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_TEMPLATES = jinja2.Environment(
    loader=jinja2.FileSystemLoader(Path(__file__).parent),
    keep_trailing_newline=True,
    undefined=jinja2.StrictUndefined,
)
#: Values in the prose of the skeleton, with their formats.
_VALUES = {"draws": "d", "mean": ".3f", "low": ".3f", "high": ".3f"}


def write_page(name: str, root: Path = ROOT) -> list[Path]:
    """Write the skeleton of a page and add it to the contents.

    `name`: part and page, such as ``ephemeral/my-page``. Returns the files that were written or
    changed. Raises ValueError if there is no such part, the name is not made of lower-case words
    joined by hyphens, or the book has a page of that name.
    """
    part_name, _, page = name.partition("/")
    parts = sorted(folder.parent.name for folder in root.glob("book/*/__init__.py"))
    if part_name not in parts:
        raise ValueError(
            f"NAME must begin with one of {', '.join(parts)} and a slash, got {name!r}"
        )
    if not _NAME.fullmatch(page):
        raise ValueError(
            f"NAME must be PART/PAGE, with PAGE in lower-case words joined by hyphens, got {name!r}"
        )
    if existing := sorted((root / "book").glob(f"*/{page}.md")):
        raise ValueError(f"the book has a page {page!r}: {existing[0].relative_to(root)}")
    module = page.replace("-", "_")
    targets = {
        "page.md": root / "book" / part_name / f"{page}.md",
        "page.py.txt": root / "book" / part_name / f"{module}.py",
        "test.py.txt": root / "tests" / "book" / part_name / f"test_{module}.py",
    }
    if present := [path for path in targets.values() if path.exists()]:
        raise ValueError(f"{present[0].relative_to(root)} exists already")
    fields = {
        "part": part_name,
        "page": page,
        "module": module,
        "title": page.replace("-", " ").capitalize(),
    }
    fields |= {value: f'{{{{ v.{value} | fmt("{style}") }}}}' for value, style in _VALUES.items()}
    for template, path in targets.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(_TEMPLATES.get_template(template).render(fields), encoding="utf-8")
    contents = root / "book" / "_toc.yml"
    contents.write_text(
        _insert_page(contents.read_text("utf-8"), part_name, page), encoding="utf-8"
    )
    return [*targets.values(), contents]


def _insert_page(contents: str, part_name: str, page: str) -> str:
    """Return the text of ``_toc.yml`` with a line for the page after the last of its part."""
    lines = contents.splitlines()
    last = max(n for n, line in enumerate(lines) if f"file: {part_name}/" in line)
    lines.insert(last + 1, f"  - file: {part_name}/{page}")
    return "\n".join(lines) + "\n"
