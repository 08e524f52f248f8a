"""The policy of a site: handlers that become actions, and hashes of inline scripts."""

import base64
import hashlib
from types import SimpleNamespace

from scorecard.pages.results import PLACEHOLDER
from scorecard.pages.theme import (
    POLICY,
    find_inline_scripts,
    make_policy,
    replace_handlers,
    write_policy,
)

PAGE = """<html><head>
  <script data-cfasync="false">
    mode();
  </script>
  <script src="_static/reading.js?v=1"></script>
  <script>DOCUMENTATION_OPTIONS.pagename = 'part/page';</script>
  <script type="application/ld+json">{"a": 1}</script>
  <script>late = "\N{GREEK SMALL LETTER MU}";</script>
</head><body>
<button onclick="window.print()" class="a">Print</button>
<button class="b" onclick="toggleFullScreen()">Wide</button>
<p>onclick="window.print()"</p>
<script type='application/json'>{"b": 2}</script>
</body></html>
"""


def digest(code):
    return f"'sha256-{base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()}'"


def test_handlers_become_actions():
    page = replace_handlers(PAGE)
    assert '<button data-action="print" class="a">' in page
    assert '<button class="b" data-action="fullscreen">' in page
    assert "pagename" not in page
    assert replace_handlers(page) == page
    assert replace_handlers('<a onclick="other()">') == '<a onclick="other()">'


def test_policy_lists_hash_of_each_inline_script():
    page = replace_handlers(PAGE)
    scripts = ["\n    mode();\n  ", 'late = "\N{GREEK SMALL LETTER MU}";']
    assert find_inline_scripts(page) == set(scripts)
    line = make_policy([page, "<script>more()</script>"])
    parts = dict(part.strip().split(" ", 1) for part in line.split(";"))
    hashes = {digest(code) for code in (*scripts, "more()")}
    assert set(parts["script-src"].split()) == {"'self'", *hashes}
    assert parts["default-src"] == "'self'"
    assert "unsafe-inline" not in parts["script-src"]
    assert "http" not in line


def test_site_gets_policy_and_shows_it(tmp_path):
    (tmp_path / "part").mkdir()
    (tmp_path / "part/page.html").write_text(PAGE, encoding="utf-8")
    (tmp_path / "about.html").write_text(f"<td>{PLACEHOLDER}</td>", encoding="utf-8")
    app = SimpleNamespace(outdir=tmp_path, builder=SimpleNamespace(name="html"))
    write_policy(app, RuntimeError("of another step"))
    assert not (tmp_path / POLICY).exists()
    write_policy(app, None)
    line = (tmp_path / POLICY).read_text(encoding="utf-8").strip()
    assert line == make_policy([replace_handlers(PAGE)])
    assert (tmp_path / "about.html").read_text(encoding="utf-8") == f"<td>{line}</td>"
    assert "onclick=" not in (tmp_path / "part/page.html").read_text().split("<p>")[0]
