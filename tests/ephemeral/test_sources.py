"""Sources of ephemeral content: the model, its tables, and what is refused."""

import copy
import gzip
import pickle
import subprocess
import sys
import unicodedata
from tempfile import TemporaryDirectory

import mpmath
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.ephemeral import SchedulePolicy, Sources, four_sources
from analysis.ephemeral.tables import COLUMNS


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"arrival_rate": [1.0, -2.0]}, r"arrival_rate\[1\] .* \[0, inf\), got -2"),
        ({"decay_rate": [1.0, 0.0]}, r"decay_rate\[1\] .* \(0, inf\), got 0"),
        ({"mean_utility": [np.nan, 1.0]}, r"mean_utility\[0\] .* got nan"),
        ({"mean_utility": [1.0]}, "mean_utility"),
        ({"decay_rate": ["fast", 1.0]}, "decay_rate"),
        ({"cost": 0.0}, "cost"),
        ({"cost": [1.0, 2.0, 3.0]}, "cost"),
        ({"period": -1.0}, "period"),
        ({"period": np.inf}, "period"),
        ({"names": ["a"]}, "names"),
        (
            {"decay_rate": [1.0, 1e-101]},
            r"decay_rate\[1\] times .* \[1e-100, 1e\+100\], got 1e-101",
        ),
        ({"decay_rate": [1e60, 1.0], "period": 1e41}, r"decay_rate\[0\] .*, got 1e\+101"),
        ({"arrival_rate": [], "mean_utility": [], "decay_rate": []}, "at least one source"),
        ({"arrival_rate": [1e300, 1.0], "decay_rate": [1e-9, 1.0]}, "finite .* for source 0"),
        ({"arrival_rate": [1.0, 1e300], "cost": 1e-9}, "got 1e.300 .* for source 1"),
    ],
)
def test_wrong_input_is_named(change, message):
    right = {"arrival_rate": [1.0, 1.0], "mean_utility": [1.0, 1.0], "decay_rate": [1.0, 1.0]}
    with pytest.raises(ValueError, match=message):
        Sources(**{**right, **change})


ARRAYS = ("arrival_rate", "mean_utility", "decay_rate", "cost", "decay", "alpha", "u", "u_star")


@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, lambda s: pickle.loads(pickle.dumps(s))]
)
def test_sources_cannot_be_changed(copied):
    given = np.array([250.0, 100.0])
    sources = Sources(given, [1.0, 0.5], [0.7, 0.2], cost=[1.0, 2.0], names=["a", "b"])
    expected = {name: getattr(sources, name).copy() for name in ARRAYS}
    given[0] = 1.0
    for one in (sources, copied(sources), copied(four_sources()).subset(slice(2))):
        for name in ARRAYS:
            with pytest.raises(ValueError, match="read-only"):
                getattr(one, name)[0] = 1e9
            with pytest.raises(AttributeError):
                setattr(one, name, expected[name])
    again = copied(sources)
    assert (again.names, again.period) == (("a", "b"), 1.0)
    for name in ARRAYS:
        np.testing.assert_array_equal(getattr(again, name), expected[name])


def test_schedule_needs_own_sources():
    mine = np.ones((4, 2), dtype=bool)
    policy = SchedulePolicy(mine)
    mine[:] = False
    assert policy.schedule.all()


def test_subset_keeps_names():
    named = Sources([1.0, 2.0, 3.0], [1.0] * 3, [1.0] * 3, names=["a", "b", "c"])
    assert named.subset(np.array([2, 0])).names == ("c", "a")
    assert named.subset(slice(1, None)).names == ("b", "c")
    assert named.subset(np.array([True, False, True])).names == ("a", "c")
    assert tuple(four_sources().subset(np.array([3, 1])).names) == ("1", "2")


def test_a_notebook_shows_a_table():
    few = Sources([1.0, 2.0], [1.0] * 2, [1.0] * 2, names=["<b>news</b>", "blog"])
    html = few._repr_html_()
    assert html.count("<tr") == 4  # two lines of headings
    assert "&lt;b&gt;news&lt;/b&gt;" in html
    assert "2 sources, period 1</p>" in html
    many = Sources(np.ones(10**5), np.ones(10**5), np.ones(10**5))
    assert "100000 sources, period 1, 10 shown</p>" in many._repr_html_()
    assert many._repr_html_().count("<tr") == 12


NAMES = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Zl", "Zp"]), max_size=9
).filter(lambda name: any(unicodedata.category(c)[0] not in "ZC" for c in name))


@given(
    st.lists(
        st.tuples(
            NAMES,
            *[st.floats(0, 1e100)] * 2,
            st.floats(1e-100, 1e100),
        ),
        min_size=1,
        max_size=6,
        unique_by=lambda row: row[0].strip(),
    ),
    st.sampled_from(["", " "]),
)
def test_what_is_written_is_read(rows, space):
    """To the last bit, whatever is in a name: NA, quotes, commas and numerals are text."""
    with TemporaryDirectory() as folder, open(f"{folder}/s.csv", "w", newline="") as file:
        file.write("name, arrival_rate, mean_utility, decay_rate\n".replace(" ", space))
        for name, *rates in rows:
            quoted = name.replace('"', '""')
            file.write(f'"{quoted}",{space}' + f",{space}".join(map(repr, rates)) + "\n")
        file.close()
        sources = Sources.from_csv(f"{folder}/s.csv")
    names, *rates = zip(*rows, strict=True)
    assert [name.lstrip(" ") for name in sources.names] == [name.lstrip(" ") for name in names]
    columns = (sources.arrival_rate, sources.mean_utility, sources.decay_rate)
    np.testing.assert_array_equal(columns, rates)


def test_odd_csv_is_read(tmp_path):
    text = "name,x,mean_utility, arrival_rate,decay_rate\nNA,a,+1, 2,3\n\n007,, 4 ,5e0,6\n"
    text += '"two, ""words""","x",1,1,1\n'
    (tmp_path / "s.csv").write_text(text)
    sources = Sources.from_csv(tmp_path / "s.csv")
    assert list(sources.names) == ["NA", "007", 'two, "words"']
    assert sources.arrival_rate.tolist() == [2, 5, 1]
    assert sources.mean_utility.tolist() == [1, 4, 1]


HEADER = "name,arrival_rate,mean_utility,decay_rate\n"
GOOD = HEADER + "a,1,1,1\n"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "the file is empty"),
        (HEADER, "there are no sources"),
        (HEADER.replace(",decay_rate", ""), "column 'decay_rate' is missing"),
        (GOOD + "b,1,x,1\n", "row 2 .* 'mean_utility': must be a number, 0 or more, got 'x'"),
        (GOOD.replace("rate\n", "rate,cost\n").replace(",1\n", ",1,0\n"),
         "row 1 below the header, column 'cost': must be a number above 0, got '0'"),
        (GOOD + "b,1,1,1,1\n", r"s\.csv: "),
        (GOOD + "b,1,1\n", "row 2 below the header, column 'decay_rate'"),
        (HEADER + "a,1,,1\n", "row 1 below the header, column 'mean_utility'.* got ''"),
        (HEADER + "a,1,nan,1\n", "row 1 below the header, column 'mean_utility'.* got 'nan'"),
        (HEADER + "a,1,1,inf\n", "row 1 below the header, column 'decay_rate'.* got 'inf'"),
        (GOOD + "b,1,1,1\na,2,2,2\n", "row 3 .* 'name': must differ from all others, got 'a'$"),
        (GOOD + "b,1,1,1\nb ,2,2,2\n", "row 3 .* 'name': must differ from all others, got 'b '$"),
        (GOOD + ",1,1,1\n", "row 2 below the header, column 'name': must not be empty, got ''"),
        (GOOD + "\u00a0\u200b,1,1,1\n", "row 2 .* must not be empty"),
        (GOOD + '"two\nlines",1,1,1\n', r"row 2 .* one line .*, got 'two\\nlines'"),
        (GOOD + "\x1b[2J,1,1,1\n", "row 2 .* control characters"),
        (GOOD + "\u2028x,1,1,1\n", "row 2 .* control characters"),
        (GOOD + "x" * 201 + ",1,1,1\n", "row 2 .* at most 200 letters, got 'x{79}$"),
        (GOOD.replace("name,", "name,name,", 1), "column 'name' occurs twice"),
        (GOOD.replace("rate\n", "rate, mean_utility\n").replace(",1\n", ",1,2\n"),
         "column 'mean_utility' occurs twice"),
        (GOOD.replace("rate\n", "rate,cost,cost \n").replace(",1\n", ",1,2,3\n"), "'cost' occurs"),
        (GOOD.replace("rate\n", "rate,x,x\n").replace(",1\n", ",1,2,3\n"), "column 'x' occurs"),
        (GOOD.replace(",", ";"), "divided by semicolons: save the file with commas .* points"),
        (GOOD.replace(",", "\t"), "divided by tabs"),
        ((GOOD + "é,1,1,1\n").encode("latin-1"), "line 3 has the byte 0xe9, not UTF-8: save it as"),
        (GOOD.encode("utf-16"), "bytes of zero, as UTF-16 has: save it as UTF-8"),
        (GOOD.encode("utf-16-be"), "as UTF-16 has"),
        (b"\x1f\x8bno gzip", r"s\.csv: "),
        ('"' + "x" * 200_000, r"s\.csv: "),
    ],
)  # fmt: skip
def test_misleading_file_is_refused(tmp_path, content, message):
    content = content if isinstance(content, bytes) else content.encode()
    (tmp_path / "s.csv").write_bytes(content)
    with pytest.raises(ValueError, match=message) as refused:
        Sources.from_csv(tmp_path / "s.csv")
    assert str(refused.value).startswith(f"{tmp_path / 's.csv'}: ")
    assert len(str(refused.value).removeprefix(str(tmp_path))) < 400


def test_frame_needs_same_names():
    frame = pd.DataFrame({"name": ["a", None], **dict.fromkeys(COLUMNS[1:], 1.0)})
    with pytest.raises(ValueError, match=r"row 2 .* must not be empty"):
        Sources.from_frame(frame)
    with pytest.raises(ValueError, match=r"row 2 .* differ from all others"):
        Sources.from_frame(frame.assign(name=[1, 1]))
    with pytest.raises(ValueError, match="column 'cost' occurs twice"):
        Sources.from_frame(
            pd.concat([frame.assign(cost=1.0), frame.assign(cost=2.0)["cost"]], axis=1)
        )
    assert Sources.from_frame(frame.assign(name=[2, 10])).names == ("2", "10")


@pytest.mark.parametrize("written", [str.encode, lambda text: ("\ufeff" + text).encode()])
@pytest.mark.parametrize("packed", [bytes, gzip.compress])
def test_byte_order_and_gzip_are_read(tmp_path, written, packed):
    text = GOOD.replace("\n", "\r\n") + "  b ,2,2,2\r\n"
    (tmp_path / "s.csv").write_bytes(packed(written(text)))
    assert [name.strip() for name in Sources.from_csv(tmp_path / "s.csv").names] == ["a", "b"]


def test_a_csv_that_is_not_there():
    with pytest.raises(ValueError, match=r"nowhere\.csv: "):
        Sources.from_csv("nowhere.csv")


def test_models_import_no_extras():
    """Nor the simulation statistics, which take as long to load as all else that it needs."""
    code = (
        "import sys; from analysis.ephemeral import Sources, four_sources, whittle_index; "
        "print({'pandas', 'pyarrow', 'numba', 'matplotlib', 'joblib'} & set(sys.modules)); "
        "import analysis.ephemeral.simulation; print('scipy.stats' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\nFalse\n"


@pytest.mark.parametrize("period", [1.0, 1e-3])
@pytest.mark.parametrize("decay", [1e-100, 1e-14, 1e-10, 1e-3, 0.5, 5.0, 1e3, 1e100])
def test_contents_keep_their_digits(decay, period):
    sources = Sources([3.0], [2.0], [decay / period], period=period)
    with mpmath.workdps(250):
        m = mpmath.mpf(float(sources.decay[0]))
        limit = mpmath.mpf(6.0) / mpmath.mpf(float(sources.decay_rate[0]))
        fresh, old = (float(-limit * mpmath.expm1(-m * age)) for age in (1, 10**9))
    assert sources.u[0] == pytest.approx(fresh, rel=1e-14)
    assert sources.state_at_age([10**9])[0] == pytest.approx(old, rel=1e-14)


@given(st.floats(1e-6, 50.0))
def test_content_settles_at_settled_age(decay):
    sources = Sources([1.0], [1.0], [decay])
    (age,) = sources.settled_age
    assert age == int(age)
    assert sources.state_at_age(age) == sources.u_star
    assert age == 1 or sources.state_at_age(np.floor(0.9 * (age - 1))) < sources.u_star
