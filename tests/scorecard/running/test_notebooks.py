"""The parameters of a notebook and a reader's files: what is declared and what is refused."""

import hashlib
import json
import re

import pytest

from scorecard.files import PROFILES
from scorecard.running import notebooks
from scorecard.running.notebooks import (
    Notebook,
    OwnFile,
    ParameterError,
    all_notebooks,
    check_contents,
    describe_files,
    find_notebook,
    profile_parameters,
    read_table,
    source_files,
)
from scorecard.running.runner import make_jobs
from scorecard.values import parse_assignments
from tests.scorecard.running.conftest import NOTEBOOK_HEAD
from tests.support import read_notebooks

HEAD = NOTEBOOK_HEAD + "# A page\n\n"
CELL = """```{code-cell} ipython3
:tags: [parameters]

%s
```
"""
LINES = """\
budget: int = 1  # sources per epoch; [1, N]; how many are crawled
discount: float = 0.9  # none; [0, 1); weight of the next epoch
tolerance: float = 1e-8  # none; (0, inf); where iteration stops; for good
start: str = "empty"  # none; {empty, full}; content at epoch 0
exact: bool = True  # none; any; whether to solve exactly
costs: list[float] = [1.0, 2.5]  # value units; (0, 10]; cost of each crawl
order: list[int] = [2, 4]  # none; {2, 4, 8}; orders that are tried
names: list[str] = ["a"]  # none; any; labels
step: float = 0.5  # none; {0.5, 1}; step size
"""
TABLES = """
def default():
    return range(4)


def read(path):
    return open(path).read().splitlines()
"""


@pytest.fixture
def book(tmp_path, monkeypatch):
    """An empty book whose pages a test writes."""
    monkeypatch.setattr(notebooks, "BOOK", tmp_path)
    (tmp_path / "part").mkdir()
    (tmp_path / "_toc.yml").write_text("parts: []", encoding="utf-8")
    (tmp_path / "reader_tables.py").write_text(TABLES)
    monkeypatch.syspath_prepend(tmp_path)
    tables = "sources: {any: 'reader_tables:read', default: 'reader_tables:default'}"
    (tmp_path / "_tables.yml").write_text(tables)
    return tmp_path


@pytest.fixture
def page(book):
    def write(lines=LINES, name="part/page"):
        path = book / f"{name}.md"
        path.parent.mkdir(exist_ok=True)
        path.write_text(HEAD + CELL % lines.strip())
        return Notebook(path)

    return write


# Declarations.


def test_line_declares_parameter(page):
    declared = page().parameters
    assert list(declared) == re.findall(r"^\w+", LINES, re.MULTILINE)
    budget = declared["budget"]
    assert (budget.type, budget.default, budget.unit) == ("int", 1, "sources per epoch")
    assert (budget.allowed, budget.description) == ("[1, N]", "how many are crawled")
    assert declared["tolerance"].default == 1e-8
    assert declared["tolerance"].description == "where iteration stops; for good"


@pytest.mark.parametrize(
    "line",
    [
        "budget = 1  # none; any; no type",
        "budget: int  # none; any; no default",
        "budget: int = 1",
        "budget: int = 1  # only; two parts",
        "budget: complex = 1  # none; any; unknown type",
        "budget: int = 1 # none; any; one blank",
        "import numpy",
        "budget: int = 1  # none; 1 to 10; a range in words",
        "budget: int = 1  # none; [1, 2N]; a range that is no number",
        "budget: int = 1  # none; [1, N - 1]; a range to be computed",
        "budget: int = 1  # none; [1; 10]; a range without a comma",
        "budget: int = 1  # none; {}; an empty set",
        "budget: int = 1  # none; [1, 10; an open bracket",
    ],
)
def test_malformed_line_is_refused(page, line):
    with pytest.raises(ParameterError, match=r"page\.md"):
        page(line).parameters  # noqa: B018


def test_a_page_without_parameters_has_none(book):
    (book / "part/page.md").write_text(HEAD)
    notebook = find_notebook("page")
    assert notebook.resolve({}) == {}
    with pytest.raises(ParameterError, match="has no parameter 'budget'; it has none"):
        notebook.resolve({"budget": 1})


# Values.


def test_unknown_parameter_lists_known(page):
    with pytest.raises(ParameterError) as refused:
        page().resolve({"budgte": 2})
    said = str(refused.value)
    assert "'budgte' (did you mean 'budget'?)" in said
    assert all(name in said for name in page().parameters)
    assert "budget (int in [1, N], default 1)" in said
    with pytest.raises(ParameterError, match="no parameter 'zzz'; it has"):
        page().resolve({"zzz": 2})


@pytest.mark.parametrize(
    ("name", "value", "kind"),
    [
        ("budget", 2.0, "int"),
        ("budget", True, "int"),
        ("budget", None, "int"),
        ("budget", [2], "int"),
        ("discount", "high", "float"),
        ("discount", False, "float"),
        ("start", 1, "str"),
        ("exact", 1, "bool"),
        ("costs", 1.0, r"list\[float\]"),
        ("order", [2.0], r"list\[int\]"),
        ("names", "a", r"list\[str\]"),
    ],
)
def test_a_wrong_type_is_refused_by_name(page, name, value, kind):
    with pytest.raises(ParameterError, match=f"{name} must be of type {kind}, got"):
        page().resolve({name: value})


@pytest.mark.parametrize(
    ("name", "inside", "outside"),
    [
        ("budget", [1, 4], [0, 5, -1]),
        ("discount", [0, 0.0, 0.999], [-1e-12, 1, 1.5, float("nan"), float("inf")]),
        ("tolerance", [1e-300, 1, 1e300], [0, -1.0, float("inf"), float("nan")]),
        ("start", ["empty", "full"], ["", "Empty", "empty, full"]),
        ("costs", [[10], [0.1, 10.0]], [[0.0], [1.0, 11.0], [float("nan")]]),
        ("order", [[2, 8], [4]], [[3], [2, 4, 16]]),
        ("step", [0.5, 1, 1.0], [0.75]),
    ],
)
def test_ranges_hold_at_their_ends(page, name, inside, outside):
    notebook = page()
    for value in inside:
        assert notebook.resolve({name: value})[name] == value
    for value in outside:
        with pytest.raises(ParameterError, match=f"{name} must be in"):
            notebook.resolve({name: value})


@pytest.mark.parametrize("name", ["costs", "order", "names"])
def test_empty_or_repeated_list_refused(page, name):
    notebook = page()
    (value, _) = [*notebook.parameters[name].default, None][:2]
    with pytest.raises(ParameterError, match=f"{name} must hold at least one value, got"):
        notebook.resolve({name: []})
    with pytest.raises(ParameterError, match=f"{name} must hold each value once, got"):
        notebook.resolve({name: [value, value]})


def test_list_follows_its_default(page):
    notebook = page(
        "one: list[int] = []  # none; any; a list\ntwo: list[int] = [1, 1]  # none; any; b"
    )
    assert notebook.resolve({"two": [3, 3]}) == {"one": [], "two": [3, 3]}
    assert notebook.resolve({"two": [3, 4]}) == {"one": [], "two": [3, 4]}
    for values in ([3], [3, 3, 3]):
        with pytest.raises(ParameterError, match="two"):
            notebook.resolve({"two": values})


def test_pages_refuse_empty_lists():
    """By its name, before a kernel starts; pages that take an empty list say what it stands for."""
    for notebook in read_notebooks().values():
        for name, parameter in notebook.parameters.items():
            if parameter.type.startswith("list") and parameter.default:
                with pytest.raises(ParameterError, match=f"{name} must hold at least one value"):
                    notebook.resolve({name: []})
            elif parameter.type.startswith("list"):
                assert "empty" in parameter.description, (notebook.name, name)


def test_range_may_name_parameter(page):
    lines = (
        "size: int = 3  # none; [1, 9]; a size\nfew: int = 2  # none; [1, size); fewer than size"
    )
    more = "none: int = 1  # none; (0, few]; few at most"
    notebook = page(f"{lines}\n{more}")
    assert notebook.resolve({"few": 8, "size": 9}) == {"size": 9, "few": 8, "none": 1}
    with pytest.raises(ParameterError, match=re.escape("few must be in [1, 3), got 3")):
        notebook.resolve({"few": 3})
    with pytest.raises(ParameterError, match=re.escape("size must be in [1, 9], got 10")):
        notebook.resolve({"few": 3, "size": 10})
    with pytest.raises(ParameterError, match=re.escape("none must be in (0, 2], got 3")):
        notebook.resolve({"none": 3})


@pytest.mark.parametrize("other", ["", "size: str = 'a'  # none; any; no number"])
def test_range_needs_earlier_parameter(page, other):
    few = "few: int = 2  # none; [1, size]; a range"
    with pytest.raises(ParameterError, match="the range of few must name an earlier number"):
        page(f"{other}\n{few}\nsize: int = 2  # none; [1, 9]; too late").parameters  # noqa: B018


def test_n_counts_readers_sources(page):
    notebook = page()
    five = range(5)
    assert notebook.resolve({"budget": 5}, five)["budget"] == 5
    with pytest.raises(ParameterError, match=re.escape("in [1, 5], got 6")):
        notebook.resolve({"budget": 6}, five)


def test_table_readers_are_named(page, tmp_path):
    (tmp_path / "my.csv").write_text("a\nb\nc\n")
    sources = page('sources: str = ""  # path; any; CSV file').parameters["sources"]
    assert len(read_table(sources, str(tmp_path / "my.csv"))) == 3


def test_default_follows_fewer_sources(page):
    with pytest.raises(ParameterError, match=re.escape("budget must be in [1, 1], got 2")):
        page("budget: int = 2  # none; [1, N]; budget").resolve({}, ["one row"])


def test_sources_are_no_value_among_others(page):
    """A path given that way would escape both the check of the file and the reuse of results."""
    notebook = page('sources: str = ""  # path; any; CSV file')
    assert "sources" in notebook.parameters
    with pytest.raises(ParameterError, match="SOURCES="):
        notebook.resolve({"sources": "my.csv"})
    assert notebook.resolve({}, range(4)) == {"sources": ""}
    assert "sources" not in page("budget: int = 2  # none; any; budget").parameters


# What a reader types.


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("", {}),
        ("budget=2 horizon=200", {"budget": "2", "horizon": "200"}),
        ("  budget=2\n", {"budget": "2"}),
        ("costs=[1,2.5]", {"costs": "[1,2.5]"}),
        ("'costs=[1, 2.5]' exact=false", {"costs": "[1, 2.5]", "exact": "false"}),
        ("start='full'", {"start": "full"}),
        ("start=a=b", {"start": "a=b"}),
        ("budget=", {"budget": ""}),
    ],
)
def test_assignments_are_texts_by_name(text, values):
    assert parse_assignments(text) == values


PARAMETERS = """budget: int = 1  # sources; [1, 9]; budget
rate: float = 0.5  # per day; [0, inf); rate
exact: bool = True  # none; any; whether it is exact
law: str = "lazy"  # name; {lazy, busy}; law
costs: list[float] = [1.0]  # none; (0, 9]; costs
kernels: list[str] = []  # names; any; kernels
limit: float = 1.0  # none; any; limit"""


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("budget=3", {"budget": 3}),
        ("budget=+3", {"budget": 3}),
        ("rate=1e-3", {"rate": 1e-3}),
        ("rate=.5", {"rate": 0.5}),
        ("exact=false", {"exact": False}),
        ("law=busy", {"law": "busy"}),
        ("costs=[1e-3,.5e1]", {"costs": [1e-3, 5.0]}),
        ("'costs=[1, 2.5]'", {"costs": [1.0, 2.5]}),
        ("kernels=[a,'b',c-d]", {"kernels": ["a", "b", "c-d"]}),
        ("kernels=[]", {"kernels": []}),
        ("kernels=[5]", {"kernels": ["5"]}),
    ],
)
def test_texts_are_read_by_type(page, text, values):
    notebook = page(PARAMETERS)
    resolved = notebook.resolve(parse_assignments(text))
    assert {name: resolved[name] for name in values} == values
    assert [type(resolved[name]) for name in values] == [type(v) for v in values.values()]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("budget=2.5", "budget must be of type int, got 2.5"),
        ("budget=0x1F", "budget must be of type int"),
        ("budget=1:30", "budget must be of type int"),
        ("budget=", "budget must be of type int, got ''"),
        ("budget=10", "budget must be in [1, 9], got"),
        ("budget=[1]", "budget must be of type int"),
        ("budget=nan", "budget must be of type int, got nan"),
        ("rate=nan", "rate must be"),
        ("rate=inf", "rate must be"),
        ("rate=1e999", "rate must be"),
        ("limit=nan", "limit must be finite, got"),
        ("exact=maybe", "exact must be of type bool, got 'maybe'"),
        ("law=bussy", "law must be in {lazy, busy}, got 'bussy' (did you mean 'busy'?)"),
        ("costs=1", "costs must be of type list[float], got 1"),
        ("costs=[1,x]", "costs must be of type list[float]"),
        ("costs=[1,]", "costs must be of type list[float]"),
        ("costs=[1,-2]", "costs must be in (0, 9], got"),
        ("costs=[[1]]", "costs must be of type list[float]"),
        ("bugdet=1", "has no parameter 'bugdet' (did you mean 'budget'?)"),
    ],
)
def test_wrong_text_is_refused(page, text, said):
    with pytest.raises(ParameterError, match=re.escape(said)):
        page(PARAMETERS).resolve(parse_assignments(text))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("budget", "'budget'"),
        ("budget 2", "name=value"),
        ("=2", "'=2'"),
        ("costs=[1,", "costs must be a list in brackets"),
        ("costs=[1, 2]", "write a list without blanks"),  # a blank splits the list
        ("start='full", "quotation"),
        ("budget=1 budget=2", "budget is given twice"),
    ],
)
def test_malformed_assignments_are_refused_in_one_line(text, said):
    with pytest.raises(ParameterError) as refused:
        parse_assignments(text)
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_file_of_parameters(tmp_path):
    path = tmp_path / "mine.yml"
    path.write_text("budget: 2\ncosts: [1e-3, 2]\n")
    assert parse_assignments(f"@{path}") == {"budget": "2", "costs": ["1e-3", "2"]}


@pytest.mark.parametrize(
    "content", [b"", b"- 1\n- 2\n", b"word", b"a: [1\nb: 2", b"a: \xff\xfe", None]
)
def test_wrong_parameter_file_is_named(tmp_path, content):
    path = tmp_path / "mine.yml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ParameterError) as refused:
        parse_assignments(f"@{path}")
    assert "mine.yml" in str(refused.value)
    assert "\n" not in str(refused.value)


def test_file_mistake_has_line(tmp_path):
    path = tmp_path / "mine.yml"
    for content, said in {
        "budget: 2\ncosts: [1\nseed: 3\n": "line 3, column 5",
        "budget: 2\n\nbudget: 3\n": "line 3, column 1: budget is given twice",
    }.items():
        path.write_text(content)
        with pytest.raises(ParameterError, match=said):
            parse_assignments(f"@{path}")


# The notebooks of a book.


def test_notebooks_are_found_by_name(page):
    page(name="part/first")
    page(name="other/second")
    assert list(all_notebooks()) == ["second", "first"]
    assert find_notebook("first").page == "part/first"
    with pytest.raises(ParameterError, match="no notebook 'third'; there are second, first"):
        find_notebook("third")


def test_notebooks_follow_contents(book, page):
    for name in ("a", "b", "c"):
        page(name=f"part/{name}")
    contents = "parts: [{chapters: [{file: part/c}, {file: part/a}]}]"
    (book / "_toc.yml").write_text(contents, encoding="utf-8")
    assert list(all_notebooks()) == ["c", "a", "b"]


def test_two_notebooks_of_one_name_are_refused(page):
    page(name="part/first")
    page(name="other/first")
    with pytest.raises(ParameterError, match="same name"):
        all_notebooks()


def test_leftovers_are_no_source(page, book):
    page(name="part/first")
    for left in (".ipynb_checkpoints/first", "_build/first", "_output/first"):
        page(name=left)
    assert list(all_notebooks()) == ["first"]
    for name in ("_static/book.css", "_templates/layout.html"):
        (book / name).parent.mkdir()
        (book / name).touch()
    found = {path.relative_to(book).as_posix() for path in source_files()}
    assert found == {
        "_toc.yml",
        "_tables.yml",
        "_static/book.css",
        "_templates/layout.html",
        "part/first.md",
        "reader_tables.py",
    }


def test_pages_without_code_are_no_notebooks(book):
    (book / "part/prose.md").write_text("# Prose\n")
    assert all_notebooks() == {}


def test_profile_needs_known_notebooks(book):
    (book / "profiles").mkdir()
    (book / "profiles/quick.yml").write_text("nowhere: {budget: 1}\n")
    with pytest.raises(ParameterError, match="nowhere"):
        profile_parameters("quick")
    (book / "profiles/quick.yml").write_text("a: [1\n")
    with pytest.raises(ParameterError, match=r"quick\.yml"):
        profile_parameters("quick")


@pytest.mark.parametrize("profile", PROFILES)
def test_notebooks_resolve_in_profiles(profile):
    given = profile_parameters(profile)
    for name, notebook in read_notebooks().items():
        resolved = notebook.resolve(given.get(name, {}))
        assert set(resolved) == set(notebook.parameters), name


@pytest.mark.parametrize("name", read_notebooks())
def test_notebooks_declare_parameters_once(name):
    cells = read_notebooks()[name].content.cells
    tagged = [c for c in cells if "parameters" in c.metadata.get("tags", [])]
    assert len(tagged) == 1
    names = re.findall(r"^(\w+):", tagged[0].source, re.MULTILINE)
    assert len(names) == len(set(names))


def test_page_outside_contents_refused(book, page):
    """Wherever they stand in the contents; what lies beside the pages is none."""
    contents = {
        "root": "index",
        "parts": [{"chapters": [{"file": "part/a", "sections": [{"file": "part/b"}]}]}],
    }
    (book / "_toc.yml").write_text(json.dumps(contents))
    for name in ("index", "part/a", "part/b", "_static/words", "_build/old"):
        page(name=name)
    check_contents()
    page(name="part/new")
    (book / "prose.md").write_text("# No notebook\n")
    with pytest.raises(ValueError, match=r"^part/new.md, prose.md: not in the contents"):
        check_contents()
    with pytest.raises(ValueError, match="not in the contents"):
        make_jobs("quick", book / "build")


def test_pages_are_in_contents():
    check_contents()


# Files of a reader's own


@pytest.mark.parametrize("name", ["my.csv", "feeds-2026_v2.csv", "feeds.2026.csv"])
def test_a_plain_name_is_kept(name):
    assert OwnFile("sources", name, b"").shipped == name


@pytest.mark.parametrize(
    "name",
    [
        "run.json",
        "my feeds.csv",
        ".csv",
        "a\nb.csv",
        "ü.csv",
        'a".csv',
        "{x}.csv",
        "a" * 70 + ".csv",
    ],
)
def test_awkward_file_name_is_replaced(name):
    assert OwnFile("trace", name, b"").shipped == "trace.csv"


def test_file_has_name_and_hash(tmp_path):
    (tmp_path / "my feeds.csv").write_bytes(b"name\n")
    file = OwnFile.read("sources", str(tmp_path / "my feeds.csv"))
    digest = hashlib.sha256(b"name\n").hexdigest()
    facts = {"name": "my feeds.csv", "shipped": "sources.csv", "sha256": digest}
    assert describe_files([file]) == {"sources": facts}
