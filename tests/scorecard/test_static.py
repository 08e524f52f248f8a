"""Static files that small sites share."""

import re
from pathlib import Path

import pytest

from scorecard.render import move_to_shared

PAGE = """<link href="_static/style.css?v=1"><script src='_static/a/b.js'></script>
<p>the folder _static/ of a site</p>"""


@pytest.fixture
def site(tmp_path):
    """Make a site aside with one style, share it, and return its page as it lies in place."""

    def make(name, style):
        made, place = tmp_path / "aside" / name, tmp_path / "runs" / name / "html"
        for path, text in {
            "page.html": PAGE, "inner/page.html": PAGE.replace("_static", "../_static", 1),
            "_static/style.css": style, "_static/a/b.js": "",
        }.items():  # fmt: skip
            (made / path).parent.mkdir(parents=True, exist_ok=True)
            (made / path).write_text(text)
        move_to_shared(made, place, tmp_path / "runs/_static")
        place.parent.mkdir(parents=True)
        made.rename(place)
        return place

    return make


def linked(page: Path):
    """Return the files that a page links to, from where it lies."""
    references = re.findall(r"""(?:href|src)=["']([^"'?]+)""", page.read_text())
    return [(page.parent / reference).resolve() for reference in references]


def test_sites_share_static_files(site, tmp_path):
    places = [site("one", "red"), site("two", "red"), site("three", "blue")]
    copies = sorted((tmp_path / "runs/_static").iterdir())
    assert len(copies) == 2
    assert not [place for place in places if (place / "_static").exists()]
    for place, style in zip(places, ("red", "red", "blue"), strict=True):
        (sheet, script) = linked(place / "page.html")
        assert sheet.read_text() == style
        assert script.exists()
        assert linked(place / "inner/page.html")[0] == sheet
        assert "the folder _static/ of a site" in (place / "page.html").read_text()


def test_unshareable_files_are_copied(site, tmp_path):
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs/_static").write_text("in the way")
    with pytest.raises(OSError, match="_static"):
        site("one", "red")
