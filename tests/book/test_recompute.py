"""Pages recompute in a browser, from a server on this machine, and compare their bytes.

The runtime is taken from the folder or archive that ``BROWSER_RUNTIME`` names, or from its own
address. Without it, or without a browser, these tests are skipped.
"""

import json
import os
import re

import pytest

from scorecard.browser import bundle
from scorecard.browser.run import CALIBRATION
from tests.support import sample

#: Longest time of a run, in milliseconds, on a busy machine.
PATIENCE = 900_000
#: Seconds of Python that a page may take to be among those run at a commit; `make proofs` runs all.
SHORT = 30
OVERSPENDING = """
class Greedy:
    def select(self, observation, budget, rng):
        return [0, 1, 2]
from analysis.ephemeral import four_sources, simulate
simulate(four_sources(), Greedy(), 1, 10)
"""
ENDLESS = "while True: pass"
#: What the panel says while the last cell runs.
LAST_CELL = re.compile(r"^Cell (\d+) of \1\.$")
#: A worker that only says that its machine is three times slower than the one of the seconds.
SLOW_WORKER = f"""
window.Worker = class {{
  postMessage() {{
    this.onmessage({{ data: {{ kind: "loaded", calibration: {3 * CALIBRATION} }} }});
  }}
  terminate() {{}}
}};
"""


def list_pages(site):
    """Return the pages that were timed in a browser at the quick profile, by name."""
    found = {}
    for path in sorted((site.html / "recompute").glob("*.json")):
        page = json.loads(path.read_bytes())
        if path.name != "site.json" and page["profiles"]["quick"]["seconds"]:
            found[page["name"]] = page
    return found


@pytest.fixture(scope="module")
def recomputing(site):
    """The site with the runtime in it."""
    try:
        bundle.install_runtime(site.html / bundle.RUNTIME, os.environ.get("BROWSER_RUNTIME", ""))
    except bundle.RuntimeMissing as error:
        pytest.skip(f"there is no Python for browsers: {error}")
    return site


def open_panel(tab, address, page):
    tab.goto(f"{address}/{page}.html")
    tab.click(".book-recompute summary")
    tab.wait_for_selector(".book-recompute-panel p")


def run(tab):
    """Press Run, and return what the panel says in the end."""
    tab.click(".book-recompute [type=submit]")
    # A function of the page's own would be a string that its policy does not let it evaluate.
    tab.locator(".book-recompute [type=submit]:not(:disabled)").wait_for(timeout=PATIENCE)
    return tab.inner_text(".book-recompute-status")


def test_verdicts_stay_in_a_browser(recomputing, address, tab):
    pages = list_pages(recomputing)
    short = {name for name in pages if pages[name]["profiles"]["quick"]["seconds"] <= SHORT}
    failed = {}
    for name in sample(pages if "WHOLE" in os.environ else short, 3):
        open_panel(tab, address, pages[name]["page"])
        text = run(tab)
        compared = "the same bytes:" in text
        judged = re.search(r"Verdicts unchanged: (\d+) of (\d+)", text)
        if not compared or (judged and judged[1] != judged[2]):
            failed[name] = text
    assert failed == {}


def test_four_sources_give_same_bytes(recomputing, address, tab):
    open_panel(tab, address, "ephemeral/four-sources")
    same, number = re.search(r"the same bytes: (\d+) of (\d+)", run(tab)).groups()
    assert same == number


def test_run_refuses_and_goes_on_offline(recomputing, address, tab):
    open_panel(tab, address, "ephemeral/four-sources")
    tab.fill("#recompute-budget", "5")
    run(tab)
    assert tab.inner_text("#recompute-budget-error") == "budget must be in [1, 4], got 5"
    tab.context.set_offline(True)
    tab.fill("#recompute-budget", "2")
    assert "parameters of your own" in run(tab)
    assert tab.locator("article .book-own").count() > 0
    assert "four-sources-budget" in tab.inner_text(".book-recompute-results")
    tab.click("text=Your own policy")
    tab.fill("[aria-label='your own policy']", OVERSPENDING)
    assert "at most 1 different sources" in run(tab)
    tab.fill("[aria-label='your own policy']", ENDLESS)
    tab.fill("#recompute-limit", "1")
    tab.clock.install()
    tab.click(".book-recompute [type=submit]")
    tab.get_by_text(LAST_CELL).wait_for(timeout=PATIENCE)
    tab.clock.fast_forward("01:00")
    assert tab.inner_text(".book-recompute-status").startswith("Stopped after 1 minute.")


def test_nothing_is_loaded_unasked(site, address, tab):
    asked = []
    tab.on("request", lambda request: asked.append(request.url))
    tab.goto(f"{address}/ephemeral/four-sources.html")
    assert not [url for url in asked if "runtime" in url or ".json" in url]
    tab.click(".book-recompute summary")
    tab.wait_for_selector(".book-recompute [type=submit]")
    assert all(url.startswith(address) for url in asked)
    assert not [url for url in asked if url.endswith((".wasm", ".whl", "code.zip"))]


def test_page_from_disk_says_what_to_do(site, tab):
    tab.goto((site.html / "ephemeral/four-sources.html").as_uri())
    tab.click(".book-recompute summary")
    assert "make serve" in tab.inner_text(".book-recompute-panel")


def test_page_that_cannot_run_says_why(site, address, tab):
    for page in ("crawl/crawler", "crawl/listing"):
        open_panel(tab, address, page)
        text = tab.inner_text(".book-recompute-panel")
        assert "connections" in text
        assert f"make run NB={page.partition('/')[2]}" in text
        assert tab.locator(".book-recompute [type=submit]").count() == 0


def test_seconds_are_scaled_by_a_loop(site, address, tab):
    tab.add_init_script(SLOW_WORKER)
    open_panel(tab, address, "ephemeral/four-sources")
    before = tab.inner_text(".book-recompute form")
    seconds = int(re.search(r"about (\d+) s on the machine on which pages were timed", before)[1])
    tab.click(".book-recompute [type=submit]")
    tab.get_by_text("on this machine").wait_for()
    after = int(
        re.search(r"about (\d+) s on this machine", tab.inner_text(".book-recompute form"))[1]
    )
    assert abs(after - 3 * seconds) <= 3  # both are rounded


def test_keyboard_keeps_its_place(site, address, tab):
    tab.add_init_script(SLOW_WORKER)
    tab.goto(f"{address}/ephemeral/four-sources.html?recompute")
    tab.focus(".book-recompute [type=submit]")
    for next_button in ("Cancel", "Run"):
        tab.keyboard.press("Enter")
        assert tab.inner_text(":focus") == next_button
    assert tab.inner_text(".book-recompute-status").startswith("Cancelled")


def test_browser_without_webassembly_is_told(site, address, tab):
    tab.add_init_script("delete window.WebAssembly")
    open_panel(tab, address, "ephemeral/four-sources")
    assert "make run NB=four-sources" in tab.inner_text(".book-recompute-panel")


def test_large_file_is_refused_beside_its_field(site, address, tab, tmp_path):
    large = tmp_path / "large.csv"
    large.write_bytes(b"a,b\n" * 12_500_000)
    open_panel(tab, address, "ephemeral/four-sources")
    tab.set_input_files("#recompute-sources", large)
    tab.click(".book-recompute [type=submit]")
    assert "50 MB" in tab.inner_text("#recompute-sources-error")


def test_address_holds_parameters(site, address, tab):
    tab.goto(f"{address}/ephemeral/four-sources.html?recompute&budget=3")
    tab.wait_for_selector("#recompute-budget")
    assert tab.input_value("#recompute-budget") == "3"
