"""The built book as a reader's browser shows it, opened from disk in a headless Chromium.

A quarter of the pages is opened wide and light, a quarter narrow and dark, others at each commit,
and all of them both ways where WHOLE is set; each test asks one question of what was seen.
"""

import os
import re
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe

from tests.support import is_sampled, sample

INSIDE = re.compile(r"(file|data|blob|about|http://127\.0\.0\.1)")

#: What a page says of itself once it has settled.
LOOK = Path(__file__).with_name("look.js").read_text(encoding="utf-8")
#: What axe-core is asked. `look.js` measures contrast, once for all text of a page, and asks that
#: links in text are underlined; a `region` is never more than moderate. These three are slow.
#: From disk it could read no stylesheet beforehand, and would say so on the console.
ELSEWHERE = ("color-contrast", "link-in-text-block", "region")
AXE = {
    "resultTypes": ["violations"],
    "rules": {rule: {"enabled": False} for rule in ELSEWHERE},
    "preload": False,
}


@dataclass
class Visit:
    """One page as it was seen."""

    name: str
    seen: dict
    complaints: list[str] = field(default_factory=list)
    outside: list[str] = field(default_factory=list)
    barriers: list[str] = field(default_factory=list)


def barriers(tab):
    """Return what axe-core finds critical or serious on the open page."""
    found = Axe().run(tab, options=AXE).response["violations"]
    return [
        f"{rule['impact']} {rule['id']}: {node['html'][:160]}"
        for rule in found
        if rule["impact"] in {"critical", "serious"}
        for node in rule["nodes"]
    ]


def visit_all(browser, pages, **options):
    """Open pages, by name, in one tab of a new context; no request leaves this machine."""
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
    for name, path in pages.items():
        current = found[name] = Visit(name, {})
        tab.goto(path.as_uri())
        current.seen = tab.evaluate(LOOK)
        current.barriers = barriers(tab)
    context.close()
    return found


def pages_seen(site, *, wide):
    """The pages that are opened wide, or narrow, at this commit."""
    return {
        name: page.path
        for name, page in site.pages.items()
        if "WHOLE" in os.environ or is_sampled(f"{name}, {'wide' if wide else 'narrow'}")
    }


@pytest.fixture(scope="module")
def wide(browser, site):
    """A screen, light."""
    viewport = {"width": 1300, "height": 900}
    pages = pages_seen(site, wide=True)
    return visit_all(browser, pages, viewport=viewport, color_scheme="light")


@pytest.fixture(scope="module")
def narrow(browser, site):
    """A telephone whose owner prefers dark pages."""
    viewport = {"width": 390, "height": 800}
    pages = pages_seen(site, wide=False)
    return visit_all(browser, pages, viewport=viewport, color_scheme="dark", has_touch=True)


def gathered(visits, question):
    """Return the pages that have an answer to a question, with the answer."""
    return {name: said for name, visit in visits.items() if (said := question(visit))}


def test_every_page_loads_without_a_complaint(wide, narrow):
    assert gathered(wide, lambda visit: visit.complaints) == {}
    assert gathered(narrow, lambda visit: visit.complaints) == {}


def test_pages_load_nothing_from_other_hosts(wide, narrow):
    assert gathered(wide, lambda visit: visit.outside) == {}
    assert gathered(narrow, lambda visit: visit.outside) == {}


def test_faults_of_page_are_seen(browser, tmp_path):
    """A picture from elsewhere and without words, a button without name, a link by colour alone."""
    path = tmp_path / "page.html"
    path.write_text(
        "<!doctype html><html lang=en><title>t</title><style>a{text-decoration:none}</style><main>"
        "<article><p>See <a href=x>this</a> now.</article><img src='https://a.example/x.png'>"
        "<button></button></main><script>console.error('no')</script>"
    )
    visit = visit_all(browser, {"page": path})["page"]
    assert visit.outside == ["https://a.example/x.png"]
    assert any("no" in complaint for complaint in visit.complaints)
    assert {line.split()[1].rstrip(":") for line in visit.barriers} >= {"image-alt", "button-name"}
    (plain,) = visit.seen["plain"]
    assert "this" in plain


def figures_of(site, visits):
    """The figures on the pages that were visited."""
    return [figure for figure in site.figures if f"{figure['notebook']}.html" in visits]


def test_every_figure_is_visible(wide, narrow, site):
    def invisible(visit):
        return [i for i in visit.seen["images"] if not (i["natural"] and i["shown"])]

    for visits in (wide, narrow):
        assert gathered(visits, invisible) == {}
    for figure in figures_of(site, wide):
        seen = wide[f"{figure['notebook']}.html"].seen["images"]
        (image,) = [i for i in seen if i["source"].endswith(f"/{figure['id']}.svg")]
        assert image["shown"] > 300 * 100, figure["id"]


def test_mathematics_is_typeset(wide, narrow):
    for visits in (wide, narrow):
        assert sum(visit.seen["math"] for visit in visits.values()) > 10
        assert gathered(visits, lambda visit: visit.seen["bare"]) == {}
        assert gathered(visits, lambda visit: visit.seen["wrong"]) == {}


def test_contrast_in_both_themes(wide, narrow):
    assert {visit.seen["theme"] for visit in wide.values()} == {"light"}
    assert {visit.seen["theme"] for visit in narrow.values()} == {"dark"}
    assert sum(visit.seen["texts"] for visit in narrow.values()) > 100
    assert gathered(wide, lambda visit: visit.seen["faint"]) == {}
    assert gathered(narrow, lambda visit: visit.seen["faint"]) == {}


def test_links_in_text_are_underlined(wide, narrow):
    assert gathered(wide, lambda visit: visit.seen["plain"]) == {}
    assert gathered(narrow, lambda visit: visit.seen["plain"]) == {}


def test_pages_fit_their_screen(wide, narrow):
    for visits in (wide, narrow):
        assert gathered(visits, lambda visit: visit.seen["wide"]) == {}


def test_no_page_has_a_barrier(wide, narrow):
    assert gathered(wide, lambda visit: visit.barriers) == {}
    assert gathered(narrow, lambda visit: visit.barriers) == {}


def test_what_scrolls_sideways_says_so(narrow):
    assert sum(visit.seen["scrolling"] for visit in narrow.values()) > 3
    assert gathered(narrow, lambda visit: visit.seen["uncued"]) == {}


@pytest.mark.sampled
@pytest.mark.parametrize(("beyond", "says_so"), [(1, False), (3000, True)])
def test_wide_content_scrolls_by_keyboard(tab, site, beyond, says_so):
    tab.goto((site.html / "ephemeral/four-sources.html").as_uri())
    formula = tab.locator("article div.math").first
    formula.wait_for()
    assert formula.evaluate("box => box.tabIndex") == -1
    formula.evaluate(
        """(box, beyond) => {
          box.querySelector(".eqno")?.remove();
          box.querySelector("math").style.minWidth = `${box.clientWidth + beyond}px`;
        }""",
        beyond,
    )
    tab.wait_for_selector("article div.math[tabindex='0'][role=region]")
    assert formula.evaluate("box => box.scrollWidth - box.clientWidth") == beyond
    assert formula.evaluate("box => box.classList.contains('book-scrolls')") == says_so


@pytest.mark.sampled
def test_fitting_formula_does_not_scroll(tab, site):
    tab.set_viewport_size({"width": 240, "height": 800})
    tab.goto((site.html / "restarts/restart-thresholds.html").as_uri())
    tab.wait_for_selector("article span.math.book-wide.book-more:visible")
    tab.set_viewport_size({"width": 1300, "height": 900})
    tab.wait_for_function("!document.querySelector('article span.math.book-wide')")
    assert tab.locator("article span.math:is(.book-more, .book-scrolls, [tabindex])").count() == 0


def test_folded_cells_are_labelled(wide, narrow):
    visits = [*wide.values(), *narrow.values()]
    names = [name for visit in visits for name in visit.seen["folded"]]
    assert len(names) > 10
    assert [name for name in names if not re.fullmatch(r"Show the code: \S.*", name)] == []


def test_figure_letters_readable_on_telephone(narrow, site):
    """The size of the smallest letters in a drawing, times the scale at which it is shown."""
    shown = [
        i for visit in narrow.values() for i in visit.seen["images"] if "/figures/" in i["file"]
    ]
    assert len(shown) >= len(figures_of(site, narrow))
    for image in shown:
        path = site.html / "figures" / image["file"].rpartition("/")[2]
        assert path.name.endswith(".narrow.dark.svg")
        drawing = path.read_text(encoding="utf-8")
        letters = re.findall(r"<g [^>]*scale\(([\d.]+) -[\d.]+\)\"", drawing)
        width = float(re.search(r'viewBox="0 0 ([\d.]+)', drawing)[1])
        assert letters, path.name
        assert 100 * min(map(float, letters)) * image["width"] / width >= 9, path.name


#: Rows of the scorecard, without the names of documents above them.
SCORECARD_ROWS = "table.book-scorecard tbody tr:has(td)"
#: Texts of the rows that are shown, asked for at once: a question each takes minutes.
VISIBLE_TEXTS = "rows => rows.filter((r) => r.checkVisibility()).map((r) => r.textContent)"
#: Make each choice of a filter in turn, "all" last: texts of rows, titles, and what the page says.
EACH_CHOICE = f"""(select, rows) => {{
  const visible = {VISIBLE_TEXTS};
  const found = {{ all: null }};
  for (const option of [...select.options].slice(1).concat(select.options[0])) {{
    select.value = option.value;
    select.dispatchEvent(new Event("input", {{ bubbles: true }}));
    found[option.text] = [
      visible([...document.querySelectorAll(rows)]),
      visible([...document.querySelectorAll("table.book-scorecard tbody th")]),
      document.querySelector(".book-filter output").textContent,
    ];
  }}
  return found;
}}"""


@pytest.mark.sampled
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
    rows = SCORECARD_ROWS
    total = tab.locator(rows).count()
    assert total > 10
    said = tab.locator(".book-filter output")

    def shown():
        texts = tab.locator(rows).evaluate_all(VISIBLE_TEXTS)
        assert said.inner_text() == f"{len(texts)} of {total} rows"
        return texts

    assert 0 < len(shown()) < total  # without inputs and prose
    tab.get_by_label("inputs too").check()
    assert len(shown()) == total
    for name in ("document", "kind", "verdict", "basis"):
        select = tab.locator(f"#filter-{name}")
        found = select.evaluate(EACH_CHOICE, SCORECARD_ROWS)
        assert next(iter(found)) == "all"
        counts = {choice: len(texts) for choice, (texts, _, _) in found.items()}
        assert counts.pop("all") == total
        for choice, (texts, titles, words) in found.items():
            assert words == f"{len(texts)} of {total} rows"
            if choice in counts and name == "document":
                assert [title.lower() for title in titles] == [choice] * bool(texts)
            elif choice not in ("all", "computed"):
                assert all(choice in text for text in texts)
        whole = sum(counts.values()) == total or name == "basis"  # some rows have no basis
        assert whole, f"the choices of {name} do not share out the rows"
    tab.get_by_label("word in a row").fill("A-r-17979")
    assert len(shown()) == 1
    tab.locator("#filter-verdict").select_option(label="holds")
    assert shown() == []
    tab.get_by_label("word in a row").fill("")
    assert len(shown()) > 0
    for asked in ("differs", "nonsense"):  # few rows or none: the table says how many
        tab.goto(f"{(site.html / 'guide/scorecard.html').as_uri()}?verdict={asked}")
        found = sum(
            row == asked for row in tab.locator(f"{rows} td:nth-child(2)").all_inner_texts()
        )
        assert said.inner_text() == f"{found} of {total} rows"


@pytest.mark.sampled
@pytest.mark.parametrize("way", ["served", "from disk"])
def test_the_filters_stand_in_the_address(tab, site, address, way):
    base = address if way == "served" else site.html.as_uri()
    tab.goto(f"{base}/guide/scorecard.html")
    total = tab.locator(SCORECARD_ROWS).count()
    tab.locator("#filter-document").select_option(label="the slides")
    tab.get_by_label("word in a row").fill("25466")
    tab.wait_for_url("**/scorecard.html?document=the+slides&word=25466")
    said = tab.locator(".book-filter output").inner_text()
    assert said == f"1 of {total} rows"
    tab.goto(tab.url)
    assert tab.locator(".book-filter output").inner_text() == said
    tab.goto(f"{base}/guide/scorecard.html#kind=figure")
    kinds = tab.locator(f"{SCORECARD_ROWS}:visible td:nth-child(7)")
    assert set(kinds.all_inner_texts()) == {"figure"}


@pytest.mark.sampled
@pytest.mark.parametrize("width", [1440, 1024, 390])
@pytest.mark.parametrize(
    ("page", "table"),
    [
        ("guide/scorecard.html", "table.book-scorecard"),
        ("ephemeral/four-sources.html", "table.book-verdicts"),
        ("documents/robots-1999.html", "table.book-failed"),
    ],
)
def test_verdicts_fit_the_column(tab, site, page, table, width):
    tab.set_viewport_size({"width": width, "height": 900})
    tab.goto((site.html / page).as_uri())
    tab.evaluate(
        "document.querySelectorAll('details').forEach((details) => { details.open = true })"
    )
    outside = """(cells) => cells.filter((cell) => {
        const [box, column] = [cell, cell.closest("article")].map((e) => e.getBoundingClientRect());
        return box.width && box.right > column.right + 1;
    }).map((cell) => cell.outerHTML)"""
    assert tab.locator(f"{table} td").evaluate_all(outside) == []


@pytest.mark.sampled
@pytest.mark.parametrize("width", [1440, 390])
def test_scorecard_row_opens_with_reason(tab, site, width):
    tab.set_viewport_size({"width": width, "height": 800})
    tab.goto((site.html / "guide/scorecard.html?word=A-r-25466").as_uri().replace("%3F", "?"))
    row = tab.locator(SCORECARD_ROWS, has_text="A-r-25466").first
    reason = row.locator("td:nth-child(8)")
    assert not reason.is_visible()
    row.locator("td:nth-child(5)").click()
    assert len(reason.inner_text()) > 20
    row.press("Enter")
    assert not reason.is_visible()


@pytest.mark.sampled
def test_coverage_counts_link_to_rows(tab, site):
    tab.goto((site.html / "guide/scorecard.html").as_uri())
    links = tab.locator("table.book-coverage a").evaluate_all(
        "(a) => a.map((a) => [a.href, a.text])"
    )
    assert len(links) > 10
    counts = dict(links)
    for href in sample(counts, 3):
        text = counts[href]
        tab.goto(href)
        shown = tab.locator(".book-filter output").inner_text().split()[0]
        assert text == shown or not text.isdigit(), href


@pytest.mark.sampled
def test_errata_can_be_filtered_by_document(tab, site):
    tab.goto((site.html / "back/errata.html").as_uri() + "?document=the+slides")
    shown = tab.locator("table.book-errata tbody tr:visible .book-row").all_inner_texts()
    assert shown
    assert all(text.startswith("the slides,") for text in shown)


def test_scorecard_row_links_to_argument(tab, site):
    tab.goto((site.html / "guide/scorecard.html").as_uri())
    row = tab.locator(SCORECARD_ROWS, has_text="A-r-25466")
    row.locator("td:first-child a").click()
    tab.wait_for_url("**/four-sources.html#mention-A-r-25466")
    assert "254.66" in tab.locator("[id='mention-A-r-25466'] >> xpath=..").inner_text()


def test_row_link_unfolds_its_table(tab, site):
    tab.goto((site.html / "guide/scorecard.html").as_uri())
    row = tab.locator(SCORECARD_ROWS, has_text="A-r-17979")
    row.locator("td:nth-child(4) a").click()
    tab.wait_for_url("**/four-sources.html#row-A-r-17979")
    anchor = tab.locator("#row-A-r-17979")
    anchor.wait_for(state="visible")


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("asked", "first"),
    [
        ("254.66", "ephemeral/four-sources.html#row-A-"),
        ("A-r-25466", "ephemeral/four-sources.html#row-A-r-25466"),
        ("D-t2-0.05-10-1.2-C_d", "robots/robots-tables.html#row-D-t2-0.05-10-1.2-C_d"),
        ("index at age", "ephemeral/"),
        ("how many robots", "robots/robots-static.html"),
        ("cite", "guide/cite.html"),
        ("BibTeX", "guide/cite.html"),
        ("download data", "guide/cite.html"),
        ("pip install", "guide/install.html"),
        ("binder", "guide/install.html"),
        ("recrawl frequency", "trace/which-policy.html"),
        ("which policy", "trace/which-policy.html"),
        ("change log", "back/changes.html"),
        ("whittle index", "ephemeral/model-and-index.html"),
        ("restless bandit", "ephemeral/model-and-index.html"),
        ("web crawler", "crawl/crawler.html"),
        ("controlled restarts", "restarts/restart-model.html"),
        ("LSPE", "learning/learning-scheme.html"),
        ("robots", "robots/robots-static.html"),
        ("M/M/1/K", "robots/robots-static.html"),
        ("politeness", "ephemeral/many-machines.html"),
        ("crawl delay", "ephemeral/many-machines.html"),
        ("ucwhittle", "learning/learners.html"),
        ("timetable", "ephemeral/timetable.html"),
        ("regret", "learning/learning-trap.html"),
        ("lambdacrawl", "trace/publications.html"),
        ("thompson sampling", "learning/learners.html"),
        ("switching curve", "robots/robots-curve.html"),
        ("errata", "back/errata.html"),
    ],
)
def test_search_finds_rows_and_chapters(tab, site, asked, first):
    tab.goto(f"{site.html.as_uri()}/search.html?q={asked}")
    found = tab.locator("#search-results .search-summary", has_text="found")
    found.wait_for()
    link = tab.locator("#search-results li a").first
    assert link.evaluate("a => a.href").startswith(f"{site.html.as_uri()}/{first}")
    row = first.partition("#row-")[2]
    if len(row) > len("A-"):
        assert link.inner_text().endswith(f" > row {row}")


@pytest.mark.sampled
def test_single_letters_do_not_match_pages(tab, site):
    for asked, most in (("A-r-25466", 5), ("M/M/1/K", 3)):
        tab.goto(f"{site.html.as_uri()}/search.html?q={asked}")
        tab.locator("#search-results .search-summary", has_text="found").wait_for()
        assert 1 <= tab.locator("#search-results li").count() <= most


@pytest.mark.sampled
def test_excerpts_of_the_search_are_prose(tab, address):
    tab.goto(f"{address}/search.html?q=epoch")
    excerpts = tab.locator("#search-results li p.context")
    excerpts.nth(5).wait_for()
    said = " ".join(excerpts.all_inner_texts())
    assert [word for word in (".ipynb", "import ", "\\frac", "\\alpha") if word in said] == []


def test_front_page_has_three_doors(tab, site):
    tab.goto((site.html / "index.html").as_uri())
    tab.locator("#explore-front .touch-picture svg").wait_for()
    assert tab.locator("article picture:visible").count() == 0
    doors = tab.locator("article .sd-card a").evaluate_all("all => all.map((a) => a.hash)")
    assert doors == ["#tour-crawler", "#tour-student", "#tour-author"]


def test_front_page_takes_a_minute(tab, site):
    """At 240 words a minute, without the picture."""
    tab.goto((site.html / "index.html").as_uri())
    tab.locator("#explore-front .touch-picture svg").wait_for()
    text = """article => {
        const copy = article.cloneNode(true);
        const hidden = ".explorable, .touch-replaced, .headerlink, script";
        copy.querySelectorAll(hidden).forEach((part) => part.remove());
        return copy.innerText;
    }"""
    words = tab.locator("article").evaluate(text).split()
    assert 100 < len(words) <= 250


@pytest.mark.parametrize("way", ["pointer", "keyboard", "finger"])
def test_link_to_theorem_shows_it(browser, site, way):
    finger = way == "finger"
    viewport = {"width": 390 if finger else 1300, "height": 900}
    context = browser.new_context(viewport=viewport, has_touch=finger, is_mobile=finger)
    tab = context.new_page()
    tab.goto((site.html / "guide/glossary.html").as_uri())
    link = tab.locator("a[data-card='robots-robots-curve']").first
    link.scroll_into_view_if_needed()
    {"pointer": link.hover, "keyboard": link.focus, "finger": link.tap}[way]()
    card = tab.locator(".book-preview")
    card.wait_for(state="visible")
    assert "switching curve" in card.inner_text()
    box = card.bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= viewport["width"]
    assert link.get_attribute("aria-describedby") == "book-preview"
    tab.keyboard.press("Escape")
    assert not card.is_visible()
    if finger:  # a second touch of a shown card follows the link
        link.tap()
        card.wait_for(state="visible")
        link.tap()
        tab.wait_for_url("**/robots-curve.html#curve-theorem")
    context.close()


def test_term_and_equation_show_cards(tab, site):
    tab.goto((site.html / "ephemeral/model-and-index.html").as_uri())
    card = tab.locator(".book-preview")
    for links, words in ((tab.locator("article a.book-term"), 4), (equation_links(tab), 1)):
        links.first.focus()
        card.wait_for(state="visible")
        assert len(card.inner_text().split()) >= words
        links.first.blur()
        assert not card.is_visible()


def equation_links(tab):
    return tab.locator("article a[data-card][href^='#equation-']")


def test_parts_of_sidebar_fold(tab, site):
    tab.goto((site.html / "trace/arena.html").as_uri())
    parts = tab.locator(".bd-sidebar-primary details.book-part")
    assert parts.count() >= 8
    opened = tab.locator(".bd-sidebar-primary details.book-part[open] > summary")
    assert opened.all_inner_texts() == ["V Real publications, and a crawler"]
    hidden = parts.first.locator("a").first
    assert not hidden.is_visible()
    parts.first.locator("summary").press("Enter")
    assert hidden.is_visible()


@pytest.mark.sampled
def test_figure_downloads_with_data(tab, site, address):
    figure = site.figures[0]
    tab.goto(f"{address}/{figure['notebook']}.html")
    links = tab.locator(f"[id='{figure['id']}'] .repro-links a")
    addresses = [link.evaluate("a => a.href") for link in links.all()]
    assert len(addresses) >= 7
    for link in addresses:
        reply = tab.request.get(link)
        assert reply.ok, link
        assert reply.body(), link
