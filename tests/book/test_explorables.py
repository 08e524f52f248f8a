"""Explorables in a headless Chromium: their numbers against `analysis`, and how they are driven."""

import json
import math
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from analysis.ephemeral import (
    Scheduler,
    Sources,
    four_sources,
    long_run_cycle,
    relaxed_problem,
    simulate,
    timetable,
    whittle_index,
    whittle_index_at_age,
)
from analysis.joint import priced_index
from analysis.learning import closed_loop, soft_threshold_value
from analysis.restarts import RestartArm, thresholds
from analysis.restarts.instances import unstructured_arm
from analysis.robots import (
    RobotControl,
    loss_rate,
    optimal_load,
    optimal_robots,
    starvation_probability,
    static_cost,
)
from book.ephemeral.many_machines import cycle_reward
from book.joint.together import View, compute_crawls
from book.learning.learning_trap import example_sources, make_belief
from book.trace.signals_that_lie import compute_gain
from scorecard.files import BOOK
from scorecard.pages.explorables import COMMON_SCRIPTS
from tests.book import test_browser

SCRIPTS = BOOK / "explorables"
POLICIES = ("whittle", "greedy", "round-robin")
TOLERANCE = 1e-12


# What the page computes, against the package. A case is what the script is called with, and what it
# should return.


def draw_sources(rng, size, *, costs=False):
    return Sources(
        rng.uniform(1, 300, size),
        rng.uniform(0.05, 2, size),
        np.exp(rng.uniform(np.log(0.02), np.log(3), size)),
        rng.uniform(0.5, 2, size) if costs else 1.0,
        period=rng.uniform(0.2, 3),
    )


def plain(sources):
    rows = zip(sources.u_star, sources.decay, sources.cost, strict=True)
    return [
        {"limit": float(limit), "decay": float(decay), "cost": float(cost)}
        for limit, decay, cost in rows
    ]


def index(rng):
    sources = draw_sources(rng, 1, costs=True)
    state = float(rng.uniform(0, 1.3) * sources.u_star[0])
    return [plain(sources)[0], state], float(whittle_index(sources, [state])[0])


def index_at_age(rng):
    sources, age = draw_sources(rng, 1, costs=True), int(rng.integers(1, 60))
    return [plain(sources)[0], age], float(whittle_index_at_age(sources, [age])[0])


def state_at_age(rng):
    sources, age = draw_sources(rng, 1), int(rng.integers(1, 60))
    return [plain(sources)[0], age], float(sources.state_at_age([age])[0])


def run(rng):
    size = int(rng.integers(2, 6))
    sources, policy = draw_sources(rng, size), str(rng.choice(POLICIES))
    budget = int(rng.integers(1, size + 1))
    found = simulate(sources, policy, budget, 60)
    expected = {
        "states": found.state.T.tolist(),
        "crawls": [np.flatnonzero(crawled).tolist() for crawled in found.crawled.T],
        "rewards": found.reward.tolist(),
    }
    return [plain(sources), policy, budget, 60], expected


def cycle(rng):
    size = int(rng.integers(2, 4))
    sources, policy = draw_sources(rng, size), str(rng.choice(POLICIES))
    found = long_run_cycle(sources, policy, 1)
    expected = {
        "start": found.start,
        "crawls": [list(arms) for arms in found.crawls],
        "frequency": found.frequency.tolist(),
        "average": found.average_reward,
    }
    return [plain(sources), policy, 1], expected


def believed(rng):
    size = int(rng.integers(2, 4))
    sources, belief = draw_sources(rng, size), draw_sources(rng, size)
    found = closed_loop(sources, belief, 1)
    expected = {"gaps": [list(ages) for ages in found.gaps], "average": found.cycle.average_reward}
    return [plain(sources), plain(belief), 1], expected


def schedule(rng):
    sources, least = draw_sources(rng, 12), int(rng.integers(1, 9))
    budget = int(rng.integers(1, 6))
    scheduler = Scheduler(sources, budget, least, min_age=least)
    expected = {"crawls": [], "rewards": [], "indices": [], "marginal": []}
    for _ in range(40):
        indices = whittle_index_at_age(sources, scheduler.ages)
        numbers, rewards = scheduler.crawl()
        least_crawled = float(indices[numbers].min()) if len(numbers) == budget else None
        expected["crawls"].append(sorted(numbers.tolist()))
        expected["rewards"].append(float(rewards.sum()))
        expected["indices"].append(indices.tolist())
        expected["marginal"].append(least_crawled)
    return [plain(sources), budget, least, 40], expected


def bound(rng):
    sources, least = draw_sources(rng, 8), int(rng.integers(1, 9))
    budget = int(rng.integers(1, 6))
    expected = relaxed_problem(sources, budget, min_age=least).bound
    return [plain(sources), budget, least], float(expected)


def powers_of_two(rng):
    size = int(rng.integers(1, 9))
    sources, budget = draw_sources(rng, size), int(rng.integers(1, size + 1))
    found = timetable(sources, budget, odd_parts=(1,))
    rows = zip(found.source, found.gap, found.phase, found.channel, strict=True)
    expected = {
        "entries": [
            {"source": int(i), "gap": int(k), "phase": int(r), "channel": int(c)}
            for i, k, r, c in rows
        ],
        "average": found.average_reward,
        "bound": found.bound,
    }
    return [plain(sources), budget], expected


def behind_a_queue(rng, size):
    """Sources, their pages of an epoch, what a queue leaves of their worth, and a price."""
    sources = draw_sources(rng, size, costs=size == 1)
    kept, price = rng.uniform(0.2, 1, size), float(rng.choice([0.0, 1.0]) * rng.uniform(0, 1.5))
    queued = Sources(
        sources.arrival_rate,
        sources.mean_utility * kept,
        sources.decay_rate,
        sources.cost,
        sources.period,
    )
    pages = (sources.arrival_rate * sources.period).tolist()
    return sources, queued, pages, kept.tolist(), price


def queued_index(rng):
    sources, queued, pages, kept, price = behind_a_queue(rng, 1)
    age = int(rng.integers(1, 60))
    given = [plain(sources)[0], pages[0], kept[0], age, price]
    return given, float(priced_index(queued, [age], price)[0])


def queued_crawls(rng):
    sources, queued, pages, kept, price = behind_a_queue(rng, 5)
    budget = int(rng.integers(1, 5))
    scheduler, brought, crawls = Scheduler(queued, budget, 1, price=price), 0.0, []
    for _ in range(40):
        ages = scheduler.ages
        numbers = sorted(scheduler.crawl()[0].tolist())
        brought += sum(pages[i] * float(ages[i]) for i in numbers)
        crawls.append(numbers)
    count = sum(map(len, crawls)) / 40
    expected = {"crawls": crawls, "count": count, "pages": brought / 40}
    return [plain(sources), pages, kept, price, budget, 40], expected


def restart(rng):
    arm, discount = unstructured_arm(int(rng.integers(3, 9)), rng), float(rng.uniform(0.1, 0.99))
    found = thresholds(arm, discount)
    parts = (arm.passive, arm.reset, arm.passive_cost, arm.active_cost)
    expected = {
        "crossings": found.crossings.tolist(),
        "costRate": found.cost_rate.tolist(),
        "activity": found.activity.tolist(),
    }
    return [*(part.tolist() for part in parts), discount], expected


def soft(rng):
    sources, kappa = draw_sources(rng, 3), float(np.exp(rng.uniform(-2, 3)))
    levels, unit = rng.uniform(0.5, 1.2, 3) * sources.u_star, float(sources.u_star.max())
    found = soft_threshold_value(sources, levels, kappa, scale=unit)
    expected = {"reward": found.average_reward, "engaged": found.engaged}
    return [plain(sources), levels.tolist(), kappa, unit], expected


def queue(rng):
    """A load, a weight and a capacity; now and then a load near one."""
    load = 1 + 1e-8 * rng.normal() if rng.random() < 0.2 else np.exp(rng.uniform(-4, 4))
    return float(load), float(np.exp(rng.uniform(-3, 3))), int(rng.integers(1, 80))


def cost(rng):
    load, gamma, capacity = queue(rng)
    return [load, gamma, capacity], static_cost(load, gamma, capacity)


def starving(rng):
    load, _, capacity = queue(rng)
    return [load, capacity], starvation_probability(load, capacity)


def lost(rng):
    load, _, capacity = queue(rng)
    return [load, capacity], loss_rate(load, capacity)


def best_load(rng):
    _, gamma, capacity = queue(rng)
    return [gamma, capacity], optimal_load(gamma, capacity)


def best_number(rng):
    load, gamma, capacity = queue(rng)
    return [load, gamma, capacity], optimal_robots(load, gamma, capacity)


def control(rng):
    robots, capacity = int(rng.integers(1, 13)), int(rng.integers(1, 9))
    rate, gamma = np.exp(rng.uniform((-3, -2.3), (0.7, 2.3))).tolist()
    found = RobotControl(robots, rate, 1.0, capacity, gamma).solve()
    return [robots, rate, capacity, gamma], {"gain": found.gain}


FUNCTIONS = {
    "index": index,
    "indexAtAge": index_at_age,
    "stateAtAge": state_at_age,
    "simulate": run,
    "longRunCycle": cycle,
    "closedLoop": believed,
    "schedule": schedule,
    "relaxedBound": bound,
    "timetable": powers_of_two,
    "queuedIndex": queued_index,
    "queuedCrawls": queued_crawls,
    "thresholds": restart,
    "softThresholdValue": soft,
    "staticCost": cost,
    "starvation": starving,
    "lossRate": lost,
    "optimalLoad": best_load,
    "optimalRobots": best_number,
    "controlRobots": control,
}


def largest_gap(found, expected):
    """Return the largest relative difference, of all that is expected."""
    if isinstance(expected, dict):
        return max(largest_gap(found[name], value) for name, value in expected.items())
    if isinstance(expected, list):
        assert len(found) == len(expected)
        return max(map(largest_gap, found, expected), default=0.0)
    if found is None or expected is None:
        return 0.0 if found is expected else math.inf
    gap = abs(found - expected) / (abs(expected) or 1.0)
    return gap if gap == gap else math.inf  # the largest of numbers and nan may be a number


@pytest.fixture(scope="module")
def calculator(browser):
    """An empty page with the functions of the explorables."""
    tab = browser.new_page()
    tab.add_script_tag(path=SCRIPTS / "math.js")
    yield tab
    tab.close()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_explorable_number_equals_package(calculator, name):
    cases = [FUNCTIONS[name](rng) for rng in np.random.default_rng(16).spawn(25)]
    call = "([name, calls]) => calls.map((given) => bookExplorables.math[name](...given))"
    found = calculator.evaluate(call, [name, [given for given, _ in cases]])
    gaps = [largest_gap(one, expected) for one, (_, expected) in zip(found, cases, strict=True)]
    assert max(gaps) < TOLERANCE, cases[int(np.argmax(gaps))]


def test_cycle_earns_at_most_relaxed_bound(calculator):
    """A cycle is found at every crawl delay, and its mean is that of the same epochs run on."""
    found = calculator.evaluate(
        """(sources) => [1, 2, 3, 5, 8, 13, 20].flatMap((delay) => [1, 2, 3, 6].map((budget) => {
          const { math } = bookExplorables;
          const plan = math.schedule(sources, budget, delay, 5000);
          const [first, last] = plan.cycle, length = last - first + 1;
          const sum = (rewards) => rewards.reduce((a, b) => a + b);
          const mean = (from) => sum(plan.rewards.slice(from, from + length)) / length;
          return [mean(first), mean(first + length), math.relaxedBound(sources, budget, delay)];
        }))""",
        plain(draw_sources(np.random.default_rng(5), 12)),
    )
    for once, again, bound in found:
        assert once == pytest.approx(again, rel=1e-12)
        assert once <= bound * (1 + 1e-12)


def test_script_functions_have_twins(calculator):
    helpers = {"makeSource", "freshState", "indexLine", "indexWait", "dueAge"}
    names = set(calculator.evaluate("Object.keys(bookExplorables.math)"))
    assert names == set(FUNCTIONS) | helpers


def test_index_is_maximum_of_lines(calculator):
    highest = """(cases) => cases.map(([source, x]) => {
      const { index, indexLine, indexWait } = bookExplorables.math;
      const most = indexWait(source, x) + 50;
      const lines = Array.from({ length: most }, (_, n) => indexLine(source, x, n + 1));
      return [index(source, x), Math.max(...lines)];
    })"""
    draws = [index(rng)[0] for rng in np.random.default_rng(6).spawn(40)]
    below = [[source, x] for source, x in draws if x < 0.99 * source["limit"]]
    assert len(below) > 10
    for value, line in calculator.evaluate(highest, below):
        assert value == pytest.approx(line, rel=TOLERANCE)


def test_explorable_policy_is_optimal(calculator):
    for rng in np.random.default_rng(24).spawn(10):
        given, expected = control(rng)
        call = "(given) => bookExplorables.math.controlRobots(...given).policy"
        policy = calculator.evaluate(call, given)
        robots, rate, capacity, gamma = given
        found = RobotControl(robots, rate, 1.0, capacity, gamma).evaluate(policy)
        assert found.gain == pytest.approx(expected["gain"], rel=1e-10)


# On the pages.

PLACE = re.compile(r"^```\{explorable\} (\S+)$", re.M)
PLACES = {
    id: page.relative_to(BOOK).with_suffix(".html").as_posix()
    for page in [BOOK / "index.md", *sorted(BOOK.glob("*/*.md"))]
    for id in PLACE.findall(page.read_text(encoding="utf-8"))
}
each = pytest.mark.parametrize("id", PLACES)


class Driven:
    """An explorable in a tab, as a reader sees and drives it."""

    def __init__(self, tab, site, id, query=""):
        self.tab, self.id = tab, id
        address = (site.html / PLACES[id]).as_uri() + (f"#{id}{query}" if query else "")
        tab.goto(address, wait_until="domcontentloaded")
        self.place = tab.locator(f"[data-explorable='{id}']")
        self.place.locator(".touch-words:not(:empty)").wait_for()

    @property
    def words(self):
        return self.place.locator(".touch-words").inner_text()

    @property
    def picture(self):
        return self.place.locator(".touch-picture").inner_html()

    @property
    def controls(self):
        return self.place.locator("input, select").all()

    def unfold(self):
        for summary in self.place.locator("summary").all():
            summary.focus()
            self.tab.keyboard.press("Enter")


@pytest.fixture
def opened(browser, site):
    """Open an explorable in a tab of its own; whatever the page complains of fails the test."""
    contexts, complaints = [], []

    def make(id, query="", **options):
        context = browser.new_context(**{"viewport": {"width": 1300, "height": 900}} | options)
        contexts.append(context)
        context.set_default_timeout(60000)
        context.route(lambda url: not test_browser.INSIDE.match(url), refuse)
        tab = context.new_page()
        tab.on("pageerror", lambda error: complaints.append(str(error)))
        tab.on("console", lambda m: m.type in {"error", "warning"} and complaints.append(m.text))
        return Driven(tab, site, id, query)

    def refuse(route):
        complaints.append(route.request.url)
        route.abort()

    yield make
    for context in contexts:
        context.close()
    assert complaints == []


@pytest.mark.sampled
@each
def test_explorable_describes_its_state(opened, id):
    shown = opened(id)
    status = shown.place.locator("[role=status][aria-live=polite]")
    assert status.inner_text() == shown.words
    assert len(shown.words) > 80
    assert not re.search(r"NaN|undefined|Infinity|Not computed", shown.words + shown.picture)
    label = shown.place.locator(".touch-picture svg[role=img]").get_attribute("aria-label")
    # What the picture shows is heard once, from the sentence.
    assert label == shown.place.locator(".touch-title").inner_text()
    named = "controls => controls.every((c) => c.labels.length || c.ariaLabel)"
    assert shown.place.locator("input, select").evaluate_all(named)


@pytest.mark.sampled
@each
def test_the_keyboard_alone_drives_every_control(opened, id):
    shown = opened(id)
    shown.unfold()
    for control in shown.controls:
        before = shown.picture + shown.words
        control.focus()
        kind, value, most = control.evaluate("c => [c.type, c.value, c.max]")
        if kind == "number":
            shown.tab.keyboard.press("Control+A")
            step = 1 if control.get_attribute("step") == "1" else 0.25 * float(value)
            changed = float(value) + (-step if float(value) + step > float(most) else step)
            shown.tab.keyboard.type(f"{changed:.6g}")
            shown.tab.keyboard.press("Tab")
        elif kind == "select-one":
            last = control.evaluate("c => c.selectedIndex === c.options.length - 1")
            shown.tab.keyboard.press("ArrowUp" if last else "ArrowDown")
        elif kind == "checkbox":
            shown.tab.keyboard.press("Space")
        else:
            shown.tab.keyboard.press("ArrowLeft" if value == most else "ArrowRight")
        assert shown.picture + shown.words != before, control.get_attribute("id") or kind


@pytest.mark.sampled
@each
def test_address_restores_view(opened, id):
    shown = opened(id)
    first = (shown.picture, shown.words)
    shown.unfold()
    for control in shown.controls[:3]:
        control.focus()
        for _ in range(3):
            shown.tab.keyboard.press("ArrowDown")
    second = (shown.picture, shown.words)
    assert second != first
    address = shown.tab.evaluate("location.hash")
    assert shown.place.locator("a").get_attribute("href") == address
    again = opened(id, address.removeprefix(f"#{id}"))
    assert (again.picture, again.words) == second
    again.place.get_by_role("button", name="Reset").click()
    assert (again.picture, again.words) == first
    assert again.tab.evaluate("location.hash") == f"#{id}"


@pytest.mark.sampled
def test_wrong_address_opens_first_view(opened):
    first = opened("explore-four-sources")
    for nonsense in ("?M=nine&T=1e99x&policy=%3Cb%3E&epochs=&colour=red", "?M=50%&%=1"):
        wild = opened("explore-four-sources", nonsense)
        assert (wild.picture, wild.words) == (first.picture, first.words)
    far = opened("explore-four-sources", "?M=1000")
    assert "With M = 4 " in far.words


def test_four_sources_open_with_package_numbers(opened):
    words = opened("explore-four-sources").words
    run = simulate(four_sources(), "whittle", 1, 61)
    assert f"{long_run_cycle(four_sources(), 'whittle', 1).average_reward:.2f}" in words
    assert f"{run.average_reward:.2f}" in words


def test_trap_opens_on_worked_example(opened):
    words = opened("explore-trap").words
    assert "It earns 7.95 of 9 per epoch, 11.67% less" in words
    assert "contradicts the belief: the loss is for ever" in words
    assert "contradicts the belief, which will move" in opened("explore-trap", "?alpha=0.95").words


@pytest.mark.sampled
def test_drag_moves_slider(opened):
    shown = opened("explore-index-lines")
    slider = shown.place.get_by_label("Content x").first
    before = float(slider.input_value())
    shown.place.locator(".touch-picture").scroll_into_view_if_needed()
    box = shown.place.locator(".touch-picture svg").bounding_box()
    shown.tab.mouse.move(box["x"] + 0.3 * box["width"], box["y"] + 0.5 * box["height"])
    shown.tab.mouse.down()
    shown.tab.mouse.move(box["x"] + 0.4 * box["width"], box["y"] + 0.5 * box["height"])
    shown.tab.mouse.up()
    assert float(slider.input_value()) != before


@pytest.mark.sampled
@each
def test_explorable_fits_dark_telephone(opened, id):
    telephone = {"viewport": {"width": 390, "height": 800}, "color_scheme": "dark"}
    shown = opened(id, **telephone, has_touch=True)
    shown.unfold()
    assert shown.tab.evaluate("document.documentElement.scrollWidth") <= 390
    sizes = shown.place.locator("svg text").evaluate_all(
        "texts => texts.map((t) => t.getScreenCTM().a * parseFloat(getComputedStyle(t).fontSize))"
    )
    assert min(sizes) >= 9
    cut_off = """texts => texts.map((text) => {
      const [mine, all] = [text, text.ownerSVGElement].map((e) => e.getBoundingClientRect());
      return Math.max(all.left - mine.left, mine.right - all.right);
    })"""
    assert max(shown.place.locator(".touch-picture svg text").evaluate_all(cut_off)) <= 1
    heights = [control.bounding_box()["height"] for control in shown.controls]
    targets = [*shown.place.locator("button, a, summary").all()]
    heights += [target.bounding_box()["height"] for target in targets]
    checkboxes = shown.place.locator(".touch-checkbox").count()
    assert sum(height < 44 for height in heights) <= checkboxes
    assert shown.tab.evaluate("document.documentElement.dataset.theme") == "dark"


def tied(shown, kind):
    """The numbers of the page's sentences that set an explorable, or follow it."""
    return shown.tab.locator(f"[data-{kind}='{shown.id}']")


def followed(shown):
    numbers = tied(shown, "follows").evaluate_all("all => all.map((one) => one.dataset)")
    return {number["number"]: float(number["value"]) for number in numbers}


def place_data(shown):
    """The JSON that a page gives an explorable."""
    text = Path(shown.tab.url.partition("#")[0].removeprefix("file://")).read_text("utf-8")
    found = re.search(rf'data-explorable="{shown.id}"[^>]*><script[^>]*>(.*?)</script>', text)
    return json.loads(found[1])


def set_to(shown, control):
    """What a control of an explorable is set to, as a number or a word."""
    text = shown.place.locator(f"[id='{shown.id}--{control}']").input_value()
    return float(text) if re.fullmatch(r"-?[\d.]+(e-?\d+)?", text) else text


def given_sources(shown):
    """The sources whose rates the page gives, in the order arrival, utility, decay (and cost)."""
    columns = [
        column for column in place_data(shown)["values"].values() if isinstance(column, list)
    ]
    return Sources(*map(np.array, columns))


def of_four_sources(shown):
    cycle = long_run_cycle(four_sources(), "whittle", int(set_to(shown, "M")))
    return {"average": cycle.average_reward, "period": cycle.period}


def of_front(shown):
    data = place_data(shown)
    rows = pd.DataFrame(data["rows"])
    rows = rows[rows.budget.eq(set_to(shown, "M"))].set_index("policy")
    size = rows["size"].iloc[0]
    times = 1 / rows.ratio["robin"]
    return {
        "times": times,
        "over_deployed": 1 / data["values"][f"arena-best-{size}"],
        "feed": rows.ratio["feed"],
    }


def of_lines(shown):
    """An index at a share of u*, of the page's source with another decay."""
    limit, decay = float(given_sources(shown).u_star[0]), set_to(shown, "decay")
    source, content = Sources([limit * decay], [1.0], [decay]), limit * set_to(shown, "x")
    return {"content": content, "index": float(whittle_index(source, [content])[0])}


def of_costs(shown):
    rows, place = place_data(shown)["rows"], int(set_to(shown, "instance")) - 1
    return {way: 100 * (1 - rows[way][place]) for way in ("value", "index", "reach")}


def of_timetable(shown):
    sources = given_sources(shown).subset(slice(8))
    plain = timetable(sources, int(set_to(shown, "M")), odd_parts=(1,))
    return {"average": plain.average_reward, "bound": plain.bound}


def of_calendar(shown):
    sources, budget, delay = given_sources(shown), set_to(shown, "M"), int(set_to(shown, "delay"))
    earned = cycle_reward(sources, budget, delay)
    limit = float(relaxed_problem(sources, budget, min_age=delay).bound)
    return {"earned": earned, "bound": limit, "share": 100 * earned / limit}


def of_together(shown):
    price, queue, budget, rate = (set_to(shown, name) for name in ("price", "q", "M", "s"))
    view = View(price, int(queue), int(budget), rate)
    count, pages = compute_crawls(given_sources(shown).subset(slice(8)), view)
    return {"crawls": count, "pages": pages}


def of_signals(shown):
    names = ("r", "p", "items", "decay", "n")
    recall, precision, items, decay, crawls = (set_to(shown, name) for name in names)
    gain = compute_gain(recall, precision, items, decay, crawls)
    return {"pings": items * recall / precision / crawls, "gain": gain}


def of_threshold(shown):
    passive, *others = map(np.array, list(place_data(shown)["values"].values())[1:])
    # Saved values have nine digits; the page divides rows by their sums.
    arm = RestartArm(passive / passive.sum(axis=1, keepdims=True), *others)
    lines, penalty = thresholds(arm, set_to(shown, "b")), set_to(shown, "penalty")
    best = int(lines.best(penalty))
    cost = float(lines.cost_at(penalty)[best])
    return {"best": best + 1, "cost": cost, "activity": 100 * float(lines.activity[best])}


def of_tie_rules(shown):
    ratios = np.array(place_data(shown)["rows"]["alpha"])
    inside = 100 * float((ratios >= set_to(shown, "low")).mean())
    return {"inside": inside, "least": ratios.min(), "median": np.median(ratios)}


def of_learners(shown):
    rows = pd.DataFrame(place_data(shown)["rows"])
    rows = rows[rows.budget.eq(set_to(shown, "M")) & rows.epoch.eq(set_to(shown, "epoch"))]
    lost = rows.set_index("learner")["mean"]
    names = {
        "certainty-equivalence-ucb": "certainty equivalence, UCB",
        "certainty-equivalence-thompson": "certainty equivalence, Thompson",
        "whittle-index-q-learning": "Whittle-index Q-learning",
    }
    return {number: lost[learner] for number, learner in names.items()}


def of_trap(shown):
    found = closed_loop(example_sources(), make_belief(set_to(shown, "alpha")), 1)
    best = long_run_cycle(example_sources(), "whittle", 1).average_reward
    limit = float(make_belief(set_to(shown, "alpha")).u_star[0])
    earned = found.cycle.average_reward
    return {"limit": limit, "earned": earned, "best": best, "loss": 100 * found.loss}


def of_printed_scheme(shown):
    sources = given_sources(shown)
    kappa, unit = set_to(shown, "kappa"), float(sources.u_star.max())
    found = soft_threshold_value(sources, sources.u_star, kappa, scale=unit)
    return {"reward": found.average_reward, "engaged": found.engaged}


def of_robots_cost(shown):
    """What follows for the best number of robots at the weight that the sentence shows."""
    gamma, capacity, feed = (set_to(shown, name) for name in ("gamma", "K", "feed"))
    best = optimal_robots(1 / feed, gamma, int(capacity))
    return {"best": best, "cost": static_cost(best / feed, gamma, int(capacity))}


def of_robots_policy(shown):
    gamma, rate = set_to(shown, "gamma"), set_to(shown, "rate")
    robots, capacity = int(set_to(shown, "N")), int(set_to(shown, "K"))
    gain = RobotControl(robots, rate, 1.0, capacity, gamma).solve().gain
    always = static_cost(robots * rate, gamma, capacity)
    return {"gain": gain, "always": always, "saving": 100 * (1 - gain / always)}


LOAD_PICTURES = """async () => {
  const pictures = [...document.querySelectorAll("article img")];
  pictures.forEach((one) => { one.loading = "eager"; });
  await Promise.all(pictures.map((one) => one.decode().catch(() => {})));
}"""
#: What `analysis` says of the numbers that follow each explorable, from what it is set to.
SENTENCES = {
    "explore-four-sources": of_four_sources,
    "explore-front": of_front,
    "explore-index-lines": of_lines,
    "explore-costs": of_costs,
    "explore-timetable": of_timetable,
    "explore-calendar": of_calendar,
    "explore-together": of_together,
    "explore-restart-threshold": of_threshold,
    "explore-signals": of_signals,
    "explore-tie-rules": of_tie_rules,
    "explore-learners": of_learners,
    "explore-trap": of_trap,
    "explore-printed-scheme": of_printed_scheme,
    "explore-robots-cost": of_robots_cost,
    "explore-robots-policy": of_robots_policy,
}


@pytest.mark.sampled
@each
def test_sentence_numbers_need_no_script(opened, site, id):
    context = opened(id).tab.context.browser.new_context(java_script_enabled=False)
    bare = context.new_page()
    bare.goto((site.html / PLACES[id]).as_uri())
    written = [
        bare.locator(f"[data-{kind}='{id}']").all_inner_texts() for kind in ("sets", "follows")
    ]
    context.close()
    shown = opened(id)
    assert all(written)
    assert [tied(shown, kind).all_inner_texts() for kind in ("sets", "follows")] == written


def room(number):
    """Which way a number in a sentence can be moved four steps: 1 up or -1 down."""
    ends = number.evaluate("n => [n.ariaValueNow, n.ariaValueMax].map(Number)")
    return -1 if ends[0] == ends[1] else 1


@pytest.mark.sampled
@each
def test_sentence_number_drives_picture(opened, id):
    shown = opened(id)
    first, number = followed(shown), tied(shown, "sets").first
    assert first == pytest.approx(SENTENCES[id](shown), rel=TOLERANCE)
    before = (shown.picture, shown.words)
    assert number.get_attribute("role") == "slider"
    number.focus()
    key = "ArrowRight" if room(number) > 0 else "ArrowLeft"
    for _ in range(4):
        shown.tab.keyboard.press(key)
    assert (shown.picture, shown.words) != before
    assert followed(shown) != first
    assert followed(shown) == pytest.approx(SENTENCES[id](shown), rel=TOLERANCE)
    control = number.get_attribute("data-control")
    assert f"{control}=" in shown.tab.evaluate("location.hash")
    shown = opened(id)
    number = tied(shown, "sets").first
    # Pictures are loaded when they come into sight, and move what stands below them.
    shown.tab.evaluate(LOAD_PICTURES)
    number.scroll_into_view_if_needed()
    box, moved = number.bounding_box(), 50 * room(number)  # four steps of twelve pixels
    at = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    shown.tab.mouse.move(*at)
    shown.tab.mouse.down()
    shown.tab.mouse.move(at[0] + moved, at[1], steps=8)
    shown.tab.mouse.up()
    assert followed(shown) != first
    assert followed(shown) == pytest.approx(SENTENCES[id](shown), rel=TOLERANCE)
    held = followed(shown)
    shown.tab.mouse.move(at[0] - moved, at[1], steps=8)  # nothing is held
    assert followed(shown) == held


@pytest.mark.sampled
@each
def test_finger_drags_sentence_number(opened, id):
    shown = opened(id, viewport={"width": 390, "height": 800}, has_touch=True)
    number = tied(shown, "sets").first
    first = number.get_attribute("aria-valuenow")
    shown.tab.evaluate(LOAD_PICTURES)
    number.scroll_into_view_if_needed()
    box, moved = number.bounding_box(), 50 * room(number)
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    session = shown.tab.context.new_cdp_session(shown.tab)
    for kind, step in (("touchStart", 0.0), ("touchMove", 0.5), ("touchMove", 1.0)):
        points = [{"x": x + step * moved, "y": y}]
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
    session.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    assert number.get_attribute("aria-valuenow") != first  # what follows can be the same
    assert followed(shown) == pytest.approx(SENTENCES[id](shown), rel=TOLERANCE)


def show_still(tab, id):
    """Scroll to a still picture, which is loaded then; one drawing of it is seen."""
    tab.locator(f"[id='{id}']").scroll_into_view_if_needed()
    tab.locator(f"[id='{id}'] img:visible").wait_for()


@pytest.mark.sampled
@each
def test_still_picture_without_scripts(opened, browser, site, id):
    context = browser.new_context(java_script_enabled=False)
    tab = context.new_page()
    tab.goto((site.html / PLACES[id]).as_uri())
    place = tab.locator(f"[data-explorable='{id}']")
    replaced = place.get_attribute("data-instead")
    still = replaced or place.get_attribute("data-figure")
    assert not place.is_visible()
    show_still(tab, still)
    context.close()
    shown = opened(id)
    assert shown.place.is_visible()
    if replaced:
        assert not shown.tab.locator(f"[id='{still}']").is_visible()
    else:
        show_still(shown.tab, still)
    shown.tab.emulate_media(media="print")
    assert not shown.place.is_visible()
    show_still(shown.tab, still)


def test_page_loads_own_explorables_only(site):
    texts = {path.name: path.read_text(encoding="utf-8") for path in SCRIPTS.glob("*.js")}
    needed = {}
    for id, page in PLACES.items():
        (views,) = [name for name, text in texts.items() if f'define("{id}"' in text]
        needed.setdefault(page, {*COMMON_SCRIPTS}).add(views)
    loaded = {
        name: {Path(script.get("src", "").partition("?")[0]).name for script in page.all("script")}
        for name, page in site.pages.items()
    }
    assert {name: found & set(texts) for name, found in loaded.items() if found & set(texts)} == (
        needed
    )


def test_page_data_cannot_end_script(site):
    for page in set(PLACES.values()):
        text = (site.html / page).read_text(encoding="utf-8")
        parts = re.findall(r'data-explorable="[^"]*"[^>]*><script[^>]*>(.*?)</script>', text)
        assert parts
        assert all({"parameters", "values", "rows", "printed"} == set(json.loads(p)) for p in parts)
