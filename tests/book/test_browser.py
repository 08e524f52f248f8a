"""The built book as a reader's browser shows it, opened from disk in a headless Chromium.

Every page is opened twice, wide and light, narrow and dark; what was seen is kept, and each test
asks one question of it.
"""

import http.server
import re
import shutil
import threading
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pytest

from analysis.report.publishing.printing import CHROMIUM, CHROMIUM_OPTIONS

pytestmark = [pytest.mark.book, pytest.mark.browser]
INSIDE = re.compile(r"(file|data|blob|about|http://127\.0\.0\.1)")

#: What a page says of itself once it has settled.
LOOK = Path(__file__).with_name("look.js").read_text(encoding="utf-8")


@dataclass
class Visit:
    """One page as it was seen."""

    name: str
    seen: dict
    complaints: list[str] = field(default_factory=list)
    outside: list[str] = field(default_factory=list)


@pytest.fixture(scope="module")
def browser():
    executable = next(filter(None, map(shutil.which, CHROMIUM)), None)
    if executable is None:
        pytest.skip(f"none of {', '.join(CHROMIUM)} is installed: the book is not opened here")
    from playwright.sync_api import sync_playwright

    options = [option for option in CHROMIUM_OPTIONS if option != "--headless"]
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=executable, args=options)
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def address(site):
    """Serve the site on this machine."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    handler = partial(Quiet, directory=site.html)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def visit_all(browser, site, **options):
    """Open every page in one tab of a new context; no request leaves this machine."""
    context = browser.new_context(**options)
    tab = context.new_page()
    found, current = {}, None

    def complain(kind, text):
        current.complaints.append(f"{kind}: {text}")

    def refuse(route):
        current.outside.append(route.request.url)
        route.abort()

    context.route(lambda url: not INSIDE.match(url), refuse)
    tab.on("console", lambda m: m.type in {"error", "warning"} and complain(m.type, m.text))
    tab.on("pageerror", lambda error: complain("exception", error))
    tab.on("requestfailed", lambda request: complain("not loaded", request.url))
    for name, page in site.pages.items():
        current = found[name] = Visit(name, {})
        tab.goto(page.path.as_uri())
        current.seen = tab.evaluate(LOOK)
    context.close()
    return found


@pytest.fixture(scope="module")
def wide(browser, site):
    viewport = {"width": 1300, "height": 900}
    return visit_all(browser, site, viewport=viewport, color_scheme="light")


@pytest.fixture(scope="module")
def narrow(browser, site):
    """A telephone whose owner prefers dark pages."""
    viewport = {"width": 390, "height": 800}
    return visit_all(browser, site, viewport=viewport, color_scheme="dark", has_touch=True)


@pytest.fixture
def tab(browser):
    context = browser.new_context(viewport={"width": 1300, "height": 900})
    context.set_default_timeout(15000)
    yield context.new_page()
    context.close()


def gathered(visits, question):
    """Return the pages that have an answer to a question, with the answer."""
    return {name: said for name, visit in visits.items() if (said := question(visit))}


def test_every_page_loads_without_a_complaint(wide, narrow):
    assert gathered(wide, lambda visit: visit.complaints) == {}
    assert gathered(narrow, lambda visit: visit.complaints) == {}


def test_no_page_asks_another_host_for_anything(wide, narrow):
    assert gathered(wide, lambda visit: visit.outside) == {}
    assert gathered(narrow, lambda visit: visit.outside) == {}


def test_a_request_to_another_host_would_be_seen(browser, site, tmp_path):
    """The check itself, on a page that asks for a picture from elsewhere."""
    path = tmp_path / "page.html"
    path.write_text('<img src="https://a.example/x.png"><script>console.error("no")</script>')
    visits = visit_all(browser, _OnePage(path))
    assert visits["page"].outside == ["https://a.example/x.png"]
    assert any("no" in complaint for complaint in visits["page"].complaints)


class _OnePage:
    def __init__(self, path):
        self.path = path
        self.pages = {"page": self}


def test_every_figure_is_visible(wide, narrow, site):
    for visits in (wide, narrow):
        assert (
            gathered(
                visits, lambda v: [i for i in v.seen["images"] if not (i["natural"] and i["shown"])]
            )
            == {}
        )
    for figure in site.figures:
        seen = wide[f"{figure['notebook']}.html"].seen["images"]
        (image,) = [i for i in seen if i["source"].endswith(f"/{figure['id']}.svg")]
        assert image["shown"] > 300 * 100, figure["id"]


def test_mathematics_is_typeset(wide):
    assert sum(visit.seen["math"] for visit in wide.values()) > 10
    assert gathered(wide, lambda visit: visit.seen["bare"]) == {}


def test_nothing_on_a_page_is_marked_as_wrong(wide):
    assert gathered(wide, lambda visit: visit.seen["wrong"]) == {}


def test_text_can_be_read_in_both_themes(wide, narrow):
    assert {visit.seen["theme"] for visit in wide.values()} == {"light"}
    assert {visit.seen["theme"] for visit in narrow.values()} == {"dark"}
    assert sum(visit.seen["texts"] for visit in narrow.values()) > 100
    assert gathered(wide, lambda visit: visit.seen["faint"]) == {}
    assert gathered(narrow, lambda visit: visit.seen["faint"]) == {}


def test_no_page_is_wider_than_its_screen_or_cut_off_at_its_edge(wide, narrow):
    for visits in (wide, narrow):
        assert gathered(visits, lambda visit: visit.seen["wide"]) == {}


@pytest.mark.parametrize("way", ["served", "from disk"])
def test_search_finds_a_word(tab, site, address, way):
    base = address if way == "served" else site.html.as_uri()
    tab.goto(f"{base}/search.html?q=whittle")
    tab.wait_for_selector("#search-results li a[href*='four-sources.html']")  # they come one by one
    tab.goto(f"{base}/search.html?q=xylophone")
    summary = tab.locator("#search-results .search-summary", has_text="did not match")
    summary.wait_for()
    assert not tab.query_selector_all("#search-results li a")


def test_the_scorecard_can_be_filtered(tab, site):
    tab.goto((site.html / "guide/scorecard.html").as_uri())
    rows = "table.book-scorecard tbody tr"
    total = tab.locator(rows).count()
    assert total > 10
    said = tab.locator(".book-filter output")

    def shown():
        texts = tab.locator(f"{rows}:visible").all_inner_texts()
        assert said.inner_text() == f"{len(texts)} of {total} rows"
        return texts

    assert len(shown()) == total
    for name in ("document", "kind", "verdict"):
        select = tab.locator(f"#filter-{name}")
        choices = select.locator("option").all_inner_texts()
        assert choices[0] == "all"
        counts = []
        for choice in choices[1:]:
            select.select_option(label=choice)
            texts = shown()
            counts.append(len(texts))
            assert all(choice in text for text in texts)
        assert sum(counts) == total, f"the choices of {name} do not share out the rows"
        assert min(counts) > 0
        select.select_option(label="all")
    tab.get_by_label("word in a row").fill("A-r-17979")
    assert len(shown()) == 1
    tab.locator("#filter-verdict").select_option(
        label="differs" if "differs" in choices else "holds"
    )
    assert shown() == []
    tab.get_by_label("word in a row").fill("")
    assert len(shown()) > 0


def test_a_link_to_a_row_unfolds_the_table_that_holds_it(tab, site):
    tab.goto((site.html / "guide/scorecard.html").as_uri())
    row = tab.locator("table.book-scorecard tbody tr", has_text="A-r-17979")
    row.locator("a").click()
    tab.wait_for_url("**/four-sources.html#row-A-r-17979")
    anchor = tab.locator("#row-A-r-17979")
    anchor.wait_for(state="visible")


def test_a_figure_can_be_downloaded_with_its_data(tab, site, address):
    figure = site.figures[0]
    tab.goto(f"{address}/{figure['notebook']}.html")
    links = tab.locator(f"[id='{figure['id']}'] .repro-links a")
    addresses = [link.evaluate("a => a.href") for link in links.all()]
    assert len(addresses) >= 7
    for link in addresses:
        reply = tab.request.get(link)
        assert reply.ok, link
        assert reply.body(), link
