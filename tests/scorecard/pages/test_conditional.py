"""What is hidden leaves nothing behind: no empty section, no entry in the page's contents."""

import io
import json
import re

import pytest
from sphinx.application import Sphinx
from sphinx.util.docutils import docutils_namespace

from scorecard.collate import DATA

PAGE = """# A page

It has {ref}`a section <stays>`, and a contents.

(stays)=
## Stays

Some words.

```{document-only}
More words.
```

(goes)=
## Goes

```{document-only}
A finding.

| a | b |
|---|---|
| 1 | 2 |
```

:::{when} page-rises
It rises.
:::

### Inner

:::{when} page-rises
It rises steeply.
:::

## Kept for its inner part

```{document-only}
A finding.
```

### Inner that stays

Words.
"""


def built(folder, data, page=PAGE):
    (folder / "page.md").write_text(page)
    (folder / DATA).write_text(json.dumps({"runs": {}, "profile": "paper"} | data))
    settings = {
        "extensions": ["myst_parser", "scorecard.pages.sphinx_ext"],
        "myst_enable_extensions": ["colon_fence"],
        "root_doc": "page",
    }
    out = folder / "out"
    warnings = io.StringIO()
    with docutils_namespace():
        app = Sphinx(folder, None, out, out, "html", settings, status=None, warning=warnings)
        app.build()
    assert warnings.getvalue() == ""
    return (out / "page.html").read_text(), app.env


def titles(text):
    return [
        re.sub("<[^>]+>", "", t) for t in re.findall(r"<h[1-6]>(.*?)<a class=.headerlink", text)
    ]


ALL = ["A page", "Stays", "Goes", "Inner", "Kept for its inner part", "Inner that stays"]


@pytest.mark.parametrize(
    ("document", "rises", "gone"),
    [
        (True, True, set()),
        (True, False, {"Inner"}),
        (False, True, set()),
        (False, False, {"Goes", "Inner"}),
    ],
)
def test_a_section_whose_whole_content_is_hidden_goes_with_its_title(
    tmp_path, document, rises, gone
):
    data = {"document": document, "values": {"page-rises": {"value": rises}}}
    text, env = built(tmp_path, data)
    assert titles(text) == [title for title in ALL if title not in gone]
    contents = env.tocs["page"].astext().split("\n\n")
    assert [title for title in contents if title] == titles(text)
    assert ("goes" in env.domaindata["std"]["labels"]) is ("Goes" not in gone)
    assert ('id="goes"' in text) is ("Goes" not in gone)


def test_what_was_empty_in_the_source_stays(tmp_path):
    """Only what was hidden makes a section go."""
    text, _ = built(tmp_path, {"document": True, "values": {}}, "# A page\n\n## Nothing\n")
    assert titles(text) == ["A page", "Nothing"]
