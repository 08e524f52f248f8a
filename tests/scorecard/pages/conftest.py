"""Pages that are rendered alone."""

from types import SimpleNamespace

import pytest

from scorecard.pages import sphinx_ext
from scorecard.running.notebooks import Parameter
from tests.scorecard.build import build_site


@pytest.fixture
def build_page(tmp_path, monkeypatch):
    """Return a function that renders a page, whose notebook has one parameter, as HTML."""
    parameter = Parameter("budget", "int", 1, "sources per epoch", "[1, N]", "how many are crawled")

    def build(page="page"):
        name = page.rpartition("/")[2]
        notebook = SimpleNamespace(name=name, parameters={"budget": parameter}, relations=[])
        monkeypatch.setattr(sphinx_ext, "find_notebook", lambda name: notebook)
        return (build_site(tmp_path, page) / f"{page}.html").read_text()

    return build
