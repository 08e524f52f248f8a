"""The built site as files: nothing from another host, no dead link, every figure in words."""

import csv
import hashlib
import json
import re
import unicodedata
import xml.etree.ElementTree as ET
from collections import Counter
from urllib.parse import unquote, urlsplit

import pandas as pd
import pytest
from fontTools.ttLib import TTFont

from book.trace import arena, publications
from scorecard.collate import PRODUCTS
from scorecard.pages.scorecard import OUTCOMES
from scorecard.pages.theme import FONTS, MATHEMATICS, POLICY, make_policy
from scorecard.prints import documents, printed_rows
from scorecard.record import FORMATS
from scorecard.running.kernels import WARNINGS
from scorecard.running.notebooks import all_notebooks
from scorecard.verdicts import VERDICTS
from tests.book.finished import faults

#: Attributes whose address a browser fetches by itself, by tag ("*" for any).
LOADS = {
    "*": ("src", "srcset", "poster", "background", "xlink:href", "imagesrcset"),
    "object": ("data",),
    "form": ("action",),
    "image": ("href",),
    "use": ("href",),
    "base": ("href",),
    "html": ("manifest",),
}
#: Kinds of <link> that only point somewhere.
POINTS = {
    "alternate", "author", "canonical", "cite-as", "describedby", "help", "index", "license",
    "next", "prev", "search",
}  # fmt: skip
CSS_LOAD = re.compile(r"""url\(\s*["']?([^"')]+)|@import\s+["']([^"']+)""")
CSS_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
JS_ADDRESS = re.compile(
    r"""(?:https?:|wss?:|["'`])//([A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+)[^\s"'`<>)]*"""
)
#: Addresses that stand in scripts and are not fetched when a page loads, each with the reason.
NAMED_IN_SCRIPTS = {
    r"www\.w3\.org/(1998|1999|2000|2001)/.*": "names of XML namespaces",
    r"github\.com/mhchem/.*": "a comment",
    r"schema\.org": "the vocabulary of linked data",
    r"creativecommons\.org/licenses/by/4\.0/": "the licence, in linked data",
    r"(clipboardjs\.com|developer\.mozilla\.org|pydata-sphinx-theme\.readthedocs\.io).*": (
        "comments with a link to documentation"
    ),
}


def is_outside(address):
    parts = urlsplit(address.strip())
    return bool(parts.netloc) or parts.scheme not in {"", "data"}


def loads_of(page):
    """Yield every address that a browser fetches on its own account when it opens a page."""
    for tag, attributes in page.elements:
        for name in (*LOADS["*"], *LOADS.get(tag, ())):
            if name in attributes and not (name == "srcset" and not attributes[name]):
                for part in attributes[name].split(",") if "srcset" in name else [attributes[name]]:
                    yield part.split()[0] if "srcset" in name else part
        if tag == "link" and not set(attributes.get("rel", "").lower().split()) <= POINTS:
            yield attributes.get("href", "")
        if tag == "meta" and attributes.get("http-equiv", "").lower() == "refresh":
            yield attributes["content"].partition("=")[2]
        yield from css_loads(attributes.get("style", ""))
    for style in page.styles:
        yield from css_loads(style)


def css_loads(text):
    for found in CSS_LOAD.finditer(CSS_COMMENT.sub("", text)):
        yield found[1] or found[2]


def unexplained(script):
    """Return the addresses in a script that no entry of the list explains."""
    found = [match[0].lstrip("\"'`") for match in JS_ADDRESS.finditer(script)]
    bare = [address.partition("//")[2].rstrip("\\") for address in found]
    return [b for b in bare if not any(re.fullmatch(e, b) for e in NAMED_IN_SCRIPTS)]


def target_of(page, address):
    """Return the file and the fragment that an address on a page leads to; None if elsewhere."""
    parts = urlsplit(address)
    if parts.scheme or parts.netloc:
        return None
    path = (page.path.parent / unquote(parts.path)).resolve() if parts.path else page.path
    return path, unquote(parts.fragment)


# Nothing from another host.


def test_no_page_loads_from_another_host(site):
    outside = [(name, a) for name, p in site.pages.items() for a in loads_of(p) if is_outside(a)]
    assert outside == []


def test_style_sheets_load_nothing_remote(site):
    sheets = list(site.html.rglob("*.css"))
    assert sheets
    outside = [
        (path.name, address)
        for path in sheets
        for address in css_loads(path.read_text(encoding="utf-8"))
        if is_outside(address)
    ]
    assert outside == []


def test_policy_covers_all_scripts_of_pages(site):
    """No handler stands in an attribute, and the policy lists each inline script by its hash."""
    texts = {path: path.read_text(encoding="utf-8") for path in site.html.rglob("*.html")}
    handlers = {
        (page.path.name, name)
        for page in site.pages.values()
        for _, attributes in page.elements
        for name in attributes
        if name.startswith("on")
    }
    assert handlers == set()
    line = (site.html / POLICY).read_text(encoding="utf-8").strip()
    assert line == make_policy(texts.values())
    assert line in site.pages["back/about.html"].soup.get_text()


def test_scripts_name_no_other_host(site):
    scripts = {}
    for page in site.pages.values():
        for number, script in enumerate(page.scripts):
            scripts[f"{page.path.name}, script {number}"] = script
        for attributes in page.all("script"):
            if attributes.get("src"):
                path, _ = target_of(page, attributes["src"])
                scripts[str(path)] = path.read_text(encoding="utf-8")
    assert any("theme" in name for name in scripts)
    assert {name: said for name, s in scripts.items() if (said := unexplained(s))} == {}


def test_no_picture_refers_outside_itself(site):
    pictures = sorted(site.html.rglob("*.svg"))
    assert pictures
    for path in pictures:
        for element in ET.parse(path).getroot().iter():
            tag = element.tag.rpartition("}")[2]
            for name, value in element.attrib.items():
                if name.rpartition("}")[2] == "href" and tag != "a":
                    assert value.startswith(("#", "data:")), (path.name, value)
            assert not any(map(is_outside, css_loads(element.get("style", "")))), path.name
            if tag == "style":
                assert not any(map(is_outside, css_loads(element.text or ""))), path.name


@pytest.mark.parametrize(
    "text",
    [
        '<img src="https://a.example/x.png">',
        '<img src="//a.example/x.png">',
        '<img srcset="x.png 1x, https://a.example/y.png 2x">',
        '<link rel="stylesheet" href="https://a.example/x.css">',
        '<link rel="preconnect" href="https://a.example">',
        '<iframe src="http://a.example"></iframe>',
        '<object data="http://a.example"></object>',
        '<p style="background: url(https://a.example/x.png)">',
        "<style>@import 'https://a.example/x.css';</style>",
        "<style>@font-face { src: url(//a.example/x.woff) }</style>",
        '<meta http-equiv="refresh" content="0; url=https://a.example">',
        '<form action="https://a.example"></form>',
        '<svg><use xlink:href="https://a.example/x.svg#y"/></svg>',
    ],
)
def test_load_from_elsewhere_is_seen(tmp_path, text, read_page):
    (tmp_path / "page.html").write_text(text)
    page = read_page(tmp_path / "page.html")
    assert any(map(is_outside, loads_of(page)))


@pytest.mark.parametrize(
    "script",
    [
        'fetch("https://a.example/x.json")',
        "import('//cdn.example.org/x.js')",
        "new WebSocket(`wss://a.example/`)",
        "https://cdn.jsdelivr.net/npm/thebe@0.8",
    ],
)
def test_address_in_script_is_seen(script):
    assert unexplained(script)


# Links.


def test_internal_links_resolve(site):
    dead = []
    for name, page in site.pages.items():
        addresses = [a["href"] for a in page.all("a", "link") if a.get("href")]
        addresses += [a["src"] for a in page.all("img", "script", "source") if a.get("src")]
        for address in addresses:
            target = target_of(page, address)
            if target is None or address == "#":
                continue
            path, fragment = target
            if not path.is_file():
                dead.append((name, address))
            elif fragment and path.suffix == ".html":
                inside = path.relative_to(site.html.resolve()).as_posix()
                if fragment not in site.pages[inside].ids:
                    dead.append((name, address))
    assert dead == []


def test_ids_stand_once_on_a_page(site):
    for name, page in site.pages.items():
        ids = Counter(a["id"] for _, a in page.elements if a.get("id"))
        assert [id for id, count in ids.items() if count > 1] == [], name


def test_chapters_are_reachable(site):
    first = site.pages["index.html"]
    reached = {
        target_of(first, a["href"])[0] for a in first.all("a") if target_of(first, a["href"])
    }
    for notebook in all_notebooks().values():
        assert (site.html / f"{notebook.page}.html").resolve() in {p.resolve() for p in reached}


def test_downloads_are_not_empty(site):
    names = {
        a["href"].rpartition("/")[2] for p in site.pages.values() for a in p.all("a") if "href" in a
    }
    for figure in site.figures:
        for end in (*FORMATS, "csv", "json", "bib"):
            path = site.html / "figures" / f"{figure['id']}.{end}"
            assert path.stat().st_size > 0, path.name
            assert path.name in names, f"no page links to {path.name}"
    for notebook in all_notebooks().values():
        content = json.loads((site.html / f"notebooks/{notebook.name}.ipynb").read_text())
        assert content["cells"]


def test_the_manifest_is_right(site):
    manifest = json.loads((site.html / "manifest.json").read_text())
    present = {
        path.relative_to(site.html).as_posix()
        for pattern in (*(f"{part}/*" for part in PRODUCTS), "*.csv")
        for path in site.html.glob(pattern)
        if path.suffix not in {".json", ".bib"}
    }
    assert set(manifest["files"]) == present
    for name, digest in manifest["files"].items():
        assert hashlib.sha256((site.html / name).read_bytes()).hexdigest() == digest, name


# Figures and the scorecard.


def test_figures_have_alt_and_caption(site):
    assert site.figures
    for figure in site.figures:
        page = site.pages[f"{figure['notebook']}.html"]
        assert figure["id"] in page.ids, f"{figure['id']} is saved but not shown"
        assert figure["id"].startswith(figure["notebook"].rpartition("/")[2]), figure["id"]
        (shown,) = [a for a in page.all("img") if a["src"].endswith(f"/{figure['id']}.svg")]
        assert shown["alt"] == figure["alt"]
        text = page.text
        block = text[text.index(f'id="{figure["id"]}"') :]
        assert re.search(r'class="caption-number">Fig\. \d+', block[: block.index("</figure>")])


def test_tables_have_caption_and_downloads(site):
    assert site.tables
    for table in site.tables:
        page = site.pages[f"{table['notebook']}.html"]
        assert table["id"] in page.ids, f"{table['id']} is saved but not shown"
        assert table["id"].startswith(table["notebook"].rpartition("/")[2]), table["id"]
        text = page.text
        block = text[text.index(f'id="{table["id"]}"') :]
        block = block[: block.index("</figure>")]
        assert re.search(r'class="caption-number">Table \d+', block)
        for end in ("csv", "json", "bib"):
            assert (site.html / f"tables/{table['id']}.{end}").stat().st_size > 0
            assert f"tables/{table['id']}.{end}" in block


def test_every_page_is_finished(site):
    """Sentences, captions, alternative texts and tables of each notebook's page.

    Runs of the quick profile are too short to lie below a bound on the long run.
    """
    found = {}
    for notebook in all_notebooks().values():
        lines = faults(site.pages[f"{notebook.page}.html"].soup.select_one("article"))
        found[notebook.page] = [line for line in lines if not line.startswith("a reward above")]
    assert {page: lines for page, lines in found.items() if lines} == {}


def test_every_picture_has_alt_text(site):
    bare = [
        (name, attributes.get("src"))
        for name, page in site.pages.items()
        for attributes in page.all("img")
        if len(attributes.get("alt", "").split()) < 4 and "_static/" not in attributes["src"]
    ]
    assert bare == []


def test_the_gallery_shows_every_figure(site):
    gallery = site.pages["back/gallery.html"]
    shown = {a["src"].rpartition("/")[2] for a in gallery.all("img")}
    assert {f"{figure['id']}.png" for figure in site.figures} <= shown


def test_pages_weigh_at_most_1100_kilobytes(site):
    """The page, its code, and the fonts of formulas and icons."""
    letters = [*site.html.glob(f"{FONTS}/*.woff2"), site.html / MATHEMATICS]
    fonts = sum(path.stat().st_size for path in letters)
    for name, page in site.pages.items():
        loaded = {target_of(page, address)[0] for address in loads_of(page)}
        assert ("searchindex.js" in {path.name for path in loaded}) == (name == "search.html")
        code = [path for path in loaded if path.suffix in {".js", ".css"}]
        weight = sum(path.stat().st_size for path in (page.path, *code))
        assert weight + fonts < 1_800_000, name


def test_formulas_need_no_script(site):
    """Each has an element of MathML, letters that the book's font has, and no command left over."""
    has = set(TTFont(site.html / MATHEMATICS).getBestCmap())
    count = 0
    for name, page in site.pages.items():
        for place in (page.soup.select_one("article") or page.soup).select(".math"):
            (formula,) = place.select("math")
            assert formula.find(True), (name, place)
            assert "\\" not in formula.get_text(), (name, place)
            count += 1
        assert page.soup.select("merror, .problematic") == [], name
        visible = {point for point in formula_characters(page) if not unseen(point)}
        assert visible <= has, (name, [chr(point) for point in visible - has])
        assert not [a for a in loads_of(page) if "mathjax" in a.lower()], name
    assert count > 4000


#: Mathematical italic letters, which browsers show for the plain letters of MathML identifiers.
ITALICS = (*range(0x1D434, 0x1D468), 0x210E, 0x1D6A4, 0x1D6A5, *range(0x1D6E2, 0x1D71C))


def formula_characters(page):
    """Return the code points of the characters in the formulas of a page."""
    written = {ord(char) for formula in page.soup.select("math") for char in formula.get_text()}
    return written | {
        point for point in ITALICS if ord(unicodedata.normalize("NFKC", chr(point))) in written
    }


def unseen(point):
    return unicodedata.category(chr(point)) in {"Cf", "Mn", "Zs", "Cc"}


def test_equation_numbers_link_to_equations(site):
    numbers, links = {}, []
    for name, page in site.pages.items():
        if "equation-" not in page.text:
            continue
        for equation in page.soup.select('[id^="equation-"]:has(.eqno)'):
            number = equation.select_one(".eqno").get_text().rstrip("#")
            numbers[page.path, equation["id"]] = number
        for link in page.soup.select('article a[href*="#equation-"]:not(.headerlink)'):
            links.append((name, target_of(page, link["href"]), link.get_text(strip=True)))
    assert len(links) > 50
    assert [link for link in links if numbers.get(link[1]) != link[2]] == []


def test_scorecard_has_every_row(site):
    with (site.html / "scorecard.csv").open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["id"] for row in rows] == list(printed_rows())
    for row in rows:
        assert row["verdict"] in set(VERDICTS) - {"missing"}, row
        assert f"row-{row['id']}" in site.pages[f"{row['page']}.html"].ids, row
    assert (site.build / "scorecard.csv").read_bytes() == (site.html / "scorecard.csv").read_bytes()


def test_policy_on_two_pages_has_one_number(site):
    """*Real publications* and *Deployed rules* replay one experiment: value and interval agree."""
    assert {key: publications.LABELS[key] for key in SHARED_POLICIES} == {
        key: arena.WITH_RATES[key] for key in SHARED_POLICIES
    }
    results = site.build / "results/trace"
    first_page, second_page = (
        pd.read_csv(results / path).set_index(["policy", "size"])
        for path in ("publications/figures/publications-policies.csv", "arena/data/arena-rules.csv")
    )
    names = [(key, key) for key in SHARED_POLICIES if key != "index"]
    names += [("nutch", "nutch-default"), ("entry", "entry-default"), ("clairvoyant",) * 2]
    for first, second in names:
        for size in publications.SIZES:
            ratio = first_page.loc[(first, size), ["ratio", "low", "high"]].tolist()
            value = second_page.loc[(second, size), ["value", "low", "high"]].tolist()
            assert str(ratio) == str(value), (first, size)  # a bound has no interval


SHARED_POLICIES = publications.LABELS.keys() & arena.WITH_RATES.keys()


def test_notebooks_warn_of_nothing(site):
    """Linear algebra can raise those for numbers that it reads and does not use.

    Which operation raised one is not looked at: the build names the file that says so.
    """
    kept = [path.read_text() for path in site.build.glob(f"results/**/{WARNINGS}")]
    heads = re.findall(r"^.*: \w*Warning: .*$", "".join(kept), re.MULTILINE)
    flag = re.compile("RuntimeWarning: .* encountered in")
    assert [head for head in heads if not flag.search(head)] == []


def test_site_names_no_machine(site):
    """Paths of the machine that built it would differ between two builds, and help no reader."""
    home = str(site.build.parents[2])
    for path in site.html.rglob("*"):
        if path.suffix in {".html", ".json", ".csv", ".svg", ".bib", ".ipynb", ".js", ".pdf"}:
            assert home.encode() not in path.read_bytes(), path.name


def counted_in_coverage(page):
    """Return the cells of the table of coverage of a page, by document and outcome."""
    rows = page.soup.select("table.book-coverage tr")
    cells = [[cell.get_text(strip=True) for cell in row(["th", "td"])] for row in rows]
    (_, *heads), *lines = zip(*cells, strict=True)
    return {
        name.lower(): dict(zip(heads, map(int, numbers), strict=True)) for name, *numbers in lines
    }


def test_counts_of_rows_agree(site):
    """All verdicts, a document at a time; and the numbers of the front page."""
    with (site.html / "scorecard.csv").open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    scorecard = site.pages["guide/scorecard.html"]
    coverage = counted_in_coverage(scorecard)
    listed = {
        body.select_one("th").get_text(strip=True).lower(): Counter(
            row.select("td")[1].get_text(strip=True) for row in body.select("tr:has(td)")
        )
        for body in scorecard.soup.select("table.book-scorecard tbody")
    }
    for key, document in documents().items():
        mine = [row for row in rows if row["document"] == key]
        verdicts = Counter(row["verdict"] for row in mine)
        name = document.short.lower()
        assert listed[name] == verdicts
        counts = coverage[name]
        assert counts["Outputs"] + counts["Inputs and prose"] == len(mine) == document.rows
        assert counts["Outputs"] == sum(counts[said.capitalize()] for said in OUTCOMES)
        for said, those in OUTCOMES.items():
            assert counts[said.capitalize()] == sum(verdicts[verdict] for verdict in those), said
        bases = Counter(row["basis"] for row in mine)
        for basis, column in BASES_COUNTED.items():
            assert counts[column] == bases[basis]
        page = site.pages[f"documents/{key}.html"]
        report = page.soup.select_one("#replication-report").get_text(" ")
        assert f"{len(mine)} rows in all" in report
        abstract = report[: report.index("and context")]
        said = {verdict: int(n) for n, verdict in re.findall(VERDICT_COUNT, abstract)}
        assert said == {verdict: verdicts[verdict] for verdict in said}
        assert said.keys() >= verdicts.keys() & {"matches", "holds", "does not hold", "holds under"}
    counts_in_front = site.pages["index.html"].soup.select(".book-count")
    shown = [int(number.get_text()) for number in counts_in_front]
    totals = [
        sum(counts[said] for counts in coverage.values())
        for said in ("Outputs", "Match", "Match under", "Do not hold")
    ]
    assert shown == totals
    links = [a.get("href", "") for page in site.pages.values() for a in page.all("a")]
    asked = [
        unquote(link.partition("verdict=")[2].replace("+", " "))
        for link in links
        if "verdict=" in link
    ]
    assert asked
    assert {verdict for values in asked for verdict in values.split("|")} <= set(VERDICTS)


#: A number of rows and their verdict, in the abstract of a replication report.
VERDICT_COUNT = rf"(\d+) ({'|'.join(sorted(VERDICTS, key=len, reverse=True))})(?=[,)])"
#: Columns of the table of coverage that count rows by what they rest on.
BASES_COUNTED = {
    "computed": "Computed", "proved": "Proved",
    "proved, machine-checked": "Proved, machine-checked", "judged": "Judged by a person",
}  # fmt: skip


def test_pages_have_own_descriptions(site):
    said = {
        name: next(
            (tag["content"] for tag in page.all("meta") if tag.get("name") == "description"), ""
        )
        for name, page in site.pages.items()
        if name not in {"search.html", "genindex.html"}
    }
    assert [name for name, text in said.items() if not 20 <= len(text) <= 160] == []
    assert [text for text, count in Counter(said.values()).items() if count > 1] == []


def test_recording_cells_are_removed(site):
    label = re.compile(r"Show the code: (save|keep) \w+")
    texts = {name: page.text for name, page in site.pages.items()}
    assert any("Show the code: imports" in text for text in texts.values())
    assert {name: found[0] for name, text in texts.items() if (found := label.search(text))} == {}
