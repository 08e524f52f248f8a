"""Every page, rerun at points off its defaults, says nothing that is false of that run.

`points.yml` names the points, two of each page and three of some; a page that it does not name has
two that are drawn within the ranges of its parameters. All runs of one number are
rendered to one site, so that the whole costs few renderings; with ``-k PAGE`` only that page runs.
"""

import csv
import re
import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import jinja2
import numpy as np
import pytest
import yaml
from bs4 import BeautifulSoup

from scorecard.collate import collate
from scorecard.fill import parse_template, shorten_id
from scorecard.record import read_record
from scorecard.render import render_runs
from scorecard.running.runner import lock_build, make_rerun_job, run_jobs
from scorecard.values import FILES
from tests.book.finished import faults
from tests.book.random_points import draw_point
from tests.support import read_notebooks

pytestmark = pytest.mark.rerun
HERE = Path(__file__).parent
TABLES = HERE / "tables"
ORDINALS = ("first", "second", "third")
#: What stands between the roles of a sentence: long enough to be found again on a page.
PLAIN = re.compile(r"[^{}`$*\[\]<>\\|~^_\n]{30,}")
#: Numbers that a sentence on results would type: decimals, percentages, and those beyond a hundred.
TYPED = re.compile(r"(?<![\w.,-])(\d+\.\d+%?|\d+%|\d{3,}|\d{1,3}(?:,\d{3})+)(?![\w.]*\w)")
#: Parts of a page whose numbers are no sentences of its author on these results.
NOT_PROSE = "pre, code, table, figure, .math, .cell, .book-value, .book-computed, .book-printed, "
NOT_PROSE += ".book-rerun, .proof .admonition-title, .citation, a, .bibliography, nav, script"


def job(name, point, runs):
    """Return the job of one point."""
    files = [str(TABLES / point[kind]) if kind in point else "" for kind in FILES]
    return make_rerun_job(name, point["parameters"], *files, runs=runs)


def read_tree(name):
    """Return the syntax tree of a page's text."""
    cells = read_notebooks()[name].content.cells
    return parse_template("\n".join(c.source for c in cells if c.cell_type != "code"))


def draw_points(name, notebook):
    """Draw two points of a page that none of its relations refuses."""
    points, folder = [], Path(tempfile.gettempdir())
    for seed in range(100):
        point = draw_point(notebook, np.random.default_rng(seed), folder)
        with suppress(ValueError):
            job(name, point, folder)
            points.append(point)
        if len(points) == 2:
            return points
    raise ValueError(f"points.yml must name two points of {name}: its relations refuse drawn ones")


POINTS = yaml.safe_load((HERE / "points.yml").read_text(encoding="utf-8"))
POINTS |= {
    name: {"points": draw_points(name, notebook)}
    for name, notebook in read_notebooks().items()
    if name not in POINTS
}


@dataclass(frozen=True)
class Rerun:
    """One page of a rerun, with what its run left behind."""

    name: str
    path: Path
    results: Path
    point: dict

    @cached_property
    def article(self):
        """The page's own part of the HTML."""
        soup = BeautifulSoup(self.path.read_text(encoding="utf-8"), "lxml")
        return soup.select_one("article")

    @cached_property
    def text(self):
        """Its words, one space between each two."""
        return " ".join(self.article.get_text(" ").split())

    @cached_property
    def values(self):
        """What the run saved, by id."""
        values = read_record(self.results)["values"]
        return {id: entry["value"] for id, entry in values.items()}

    def table(self, kind, id):
        """What a run saved as one of its ``figures``, ``tables`` or ``data``, as rows of text."""
        with (self.results / kind / f"{id}.csv").open(encoding="utf-8-sig", newline="") as file:
            return list(csv.DictReader(file))


@pytest.fixture(scope="session")
def reruns(request, site):
    """Rerun and render the points that the chosen tests ask for, beside the quick book."""
    asked = {
        (item.callspec.params.get("page"), item.callspec.params.get("number"))
        for item in request.session.items
        if hasattr(item, "callspec") and "reruns" in item.fixturenames
    }
    jobs, builds = {}, {}
    for number, ordinal in enumerate(ORDINALS):
        build = site.build / "points" / ordinal
        names = [name for name in read_notebooks() if (name, number) in asked]
        if names:
            builds[number] = build
            jobs[number] = {
                name: job(name, POINTS[name]["points"][number], build / "runs") for name in names
            }

    def render(number):
        left = [job.target for job in jobs[number].values()]
        collation = collate(left, profile="paper", document=False, complete=False)
        return render_runs(collation, builds[number], site.html, strict=True)

    with ExitStack() as held:
        for build in builds.values():
            held.enter_context(lock_build(build))
        run_jobs([job for some in jobs.values() for job in some.values()])
        with ThreadPoolExecutor(2) as pool:
            paths = dict(zip(jobs, pool.map(render, jobs), strict=True))
    return {
        (name, number): Rerun(name, path, jobs[number][name].target, POINTS[name]["points"][number])
        for number in jobs
        for name, path in zip(jobs[number], paths[number], strict=True)
    }


@pytest.fixture
def rerun(reruns, page, number):
    return reruns[page, number]


def each_point_of(pages):
    """Try every point of some pages."""
    pairs = [(page, number) for page in pages for number in range(len(POINTS[page]["points"]))]
    ids = [f"{page}-{ORDINALS[number]}" for page, number in pairs]
    return pytest.mark.parametrize(("page", "number"), pairs, ids=ids)


each_point = each_point_of(POINTS)


# Predicates of pages, derived anew: by the id of the saved predicate what it should be, from the
# run's parameters and the CSV files that it publishes, and nothing of the page's study.


def first_budget(rerun):
    return rerun.point["parameters"].get("budget", 1)


def greedy_is_alike(rerun):
    rewards = {row["policy"]: row for row in rerun.table("tables", "four-sources-rewards")}
    whittle, greedy = (
        float(rewards[name][f"M = {first_budget(rerun)}"]) for name in ("whittle", "greedy")
    )
    given = rerun.point.get("sources")
    path = TABLES / str(given)
    size = len(path.read_text(encoding="utf-8").splitlines()) - 1 if given else 4
    # There is a choice, and nine digits tell no difference.
    return first_budget(rerun) < size and abs(whittle / greedy - 1) < 1e-8


def learning_costs(rerun):
    rows = rerun.table("tables", "signals-that-lie-factors-table")
    return any(float(row["learnt"]) < float(row["known"]) for row in rows)


def learning_gains(rerun):
    rows = rerun.table("tables", "signals-that-lie-factors-table")
    return any(float(row["learnt"]) > float(row["known"]) for row in rows)


def fresh_is_fresher(rerun):
    rows = rerun.table("tables", "signals-that-lie-rivals")
    alike = [row for row in rows if "alike" in row["policy"]]
    return all(float(row["up to date"]) > float(row["index up to date"]) for row in alike)


def learner_stays_above(rerun):
    rows = rerun.table("tables", "whom-to-trust-hubs")
    return all(float(row["learnt"]) >= 1 for row in rows)


DERIVED = {
    "four-sources": {
        "four-sources-two-budgets": lambda rerun: (
            first_budget(rerun) != rerun.point["parameters"].get("second_budget", 2)
        ),
        "four-sources-greedy-alike": greedy_is_alike,
    },
    "signals-that-lie": {
        "signals-that-lie-learning-costs": learning_costs,
        "signals-that-lie-learning-gains": learning_gains,
        "signals-that-lie-fresh-is-fresher": fresh_is_fresher,
        "signals-that-lie-own-signals": lambda rerun: "signals" in rerun.point,
    },
    "whom-to-trust": {"whom-to-trust-learnt-never-below": learner_stays_above},
    "robots-tables": {"robots-tables-own": lambda _: True},
}


def test_notebooks_have_two_points(tmp_path):
    assert set(POINTS) == set(read_notebooks())
    for name, entry in POINTS.items():
        jobs = [job(name, point, tmp_path) for point in entry["points"]]
        assert len({job.target for job in jobs}) == len(jobs) >= 2, name
        assert not [name for job in jobs if job.document]


def test_tables_are_tried_where_taken():
    for name, notebook in read_notebooks().items():
        given = {key for point in POINTS[name]["points"] for key in point}
        assert ("sources" in given) is ("sources" in notebook.parameters), name
        assert ("trace" in given) is ("trace" in notebook.parameters), name


@each_point
def test_no_markup_is_left_unread(rerun):
    """No problem of a role or directive, no role, and no label in the place of its text."""
    assert not rerun.article.select(".problematic, .system-message, .xref.std-ref:not(a *)")
    assert not re.findall(r"\{[a-z:]+\}`", rerun.text)


@each_point
def test_references_resolve(rerun):
    lost = []
    for link in rerun.article.select("a.book-elsewhere"):
        path, _, anchor = link["href"].partition("#")
        target = (rerun.path.parent / path).resolve()
        there = target.read_text(encoding="utf-8") if target.is_file() else ""
        if not there or (anchor and f'id="{anchor}"' not in there):
            lost.append(link["href"])
    assert lost == []


def is_document(test):
    return isinstance(test, jinja2.nodes.Name) and test.name == "document"


@each_point
def test_document_statements_are_absent(rerun):
    tree = read_tree(rerun.name)
    conditions = tree.find_all(jinja2.nodes.If)
    parts = [part for c in conditions if is_document(c.test) for part in c.body]
    hidden = [data.data for part in parts for data in part.find_all(jinja2.nodes.TemplateData)]
    texts = [data.data for data in tree.find_all(jinja2.nodes.TemplateData)]
    shown = " ".join(text for text in texts if text not in hidden)
    words = [" ".join(p.split()) for part in hidden for p in PLAIN.findall(part)]
    telling = [w for w in words if w not in " ".join(shown.split())]
    assert [w for w in telling if w in rerun.text] == []


@each_point
def test_predicates_have_values(rerun):
    values = {shorten_id(rerun.name, id): value for id, value in rerun.values.items()}
    conditions = [c.test for c in read_tree(rerun.name).find_all(jinja2.nodes.If)]
    asked = {
        a.attr
        for test in conditions
        for a in jinja2.nodes.Output([test]).find_all(jinja2.nodes.Getattr)
    }
    assert {name for name in asked if not isinstance(values.get(name), bool)} == set()


@each_point
def test_the_page_is_finished(rerun):
    """No number that is none, no empty list or cell, no bound below what it bounds."""
    assert faults(rerun.article) == []


@each_point
def test_no_section_is_empty(rerun):
    """Something to read stands under each title: folded code alone is nothing."""
    article = BeautifulSoup(str(rerun.article), "lxml")
    for cell in article.select(".cell.tag_hide-input, .cell.tag_hide-cell"):
        if not cell.select(".cell_output"):
            cell.decompose()
    empty = []
    for section in article.select("section:has(> h2, > h3, > h4)"):
        title = section.find(["h2", "h3", "h4"], recursive=False).extract().get_text()
        if not section.get_text(strip=True) and not section.select("img, object, section"):
            empty.append(title)
    assert empty == []


@each_point_of(DERIVED)
def test_predicates_follow_from_results(rerun):
    derived = {id: derive(rerun) for id, derive in DERIVED[rerun.name].items()}
    assert {id: rerun.values[id] for id in derived} == derived


@each_point
def test_prose_numbers_come_from_run(rerun):
    """A number that the author typed holds whatever the parameters, and is listed as such."""
    article = BeautifulSoup(str(rerun.article), "lxml")
    for part in article.select(NOT_PROSE):
        part.replace_with(" ")
    prose = " ".join(article.get_text("").split())
    typed = {match[1] for match in TYPED.finditer(prose)}
    allowed = {str(number) for number in POINTS[rerun.name].get("typed", [])}
    assert sorted(typed - allowed) == []
