"""Traces of readers: what is repaired, what is refused, and in which words."""

import numpy as np
import pytest

from analysis.trace.trace import read_trace

NOW = "2024-06-01"
LONG = "source of several lines or over 200 letters, left out"


def good(count=40):
    rows = [f"s{n % 4},2021-03-{1 + n % 28:02d}T{n % 24:02d}:15Z" for n in range(count)]
    assert len(set(rows)) == count
    return rows


@pytest.fixture
def read(tmp_path):
    def run(rows, header="source,utc", **options):
        path = tmp_path / "my.csv"
        path.write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
        return read_trace(path, now=NOW, **options)

    return run


def test_good_file_needs_no_repair(read):
    trace, repairs = read(good())
    assert repairs == []
    assert trace.names == ("s0", "s1", "s2", "s3")
    assert trace.time.size == 40
    assert trace.counts(trace.begin, trace.end).tolist() == [10, 10, 10, 10]


@pytest.mark.parametrize(
    ("row", "what", "kept"),
    [
        ("s1,yesterday", "time that cannot be read, left out", 40),
        ("s1,2021-13-01T00:00Z", "time that cannot be read, left out", 40),
        ("s1,", "time that cannot be read, left out", 40),
        ("s1,2042-01-01T00:00Z", "time after 2024-06-01, left out", 40),
        ("s1,9021-01-01T00:00Z", "time after 2024-06-01, left out", 40),
        ("s1,1021-01-01T00:00Z", "time before 1990-01-01, left out", 40),
        (",2021-04-01T00:00Z", "no source, left out", 40),
        ("\u200b,2021-04-01T00:00Z", "no source, left out", 40),
        ("x" * 201 + ",2021-04-01T00:00Z", LONG, 40),
        ("two\x0blines,2021-04-01T00:00Z", LONG, 40),
        ("s0,2021-03-01T00:15Z", "duplicate, left out", 40),
        ("s0,2021-04-01T00:15+02:00", "other time zone, moved to UTC", 41),
        ("s0,2021-04-01T00:15-0330", "other time zone, moved to UTC", 41),
        ("s0,2021-04-01T00:15", "no time zone, taken as UTC", 41),
        ("s0,2021-04-01", "no time zone, taken as UTC", 41),
    ],
)
def test_bad_row_is_repaired(read, row, what, kept):
    trace, repairs = read([*good(), row])
    assert [(r.what, r.rows) for r in repairs] == [(what, (42,))]
    assert trace.time.size == kept
    assert str(repairs[0]) == f"{what}: 1 (row 42)"


def test_offset_moves_item(read):
    trace, _ = read([*good(), "s9,2021-04-01T00:15+02:00", "s8,2021-04-01"])
    at = {name: trace.times_of(n) for n, name in enumerate(trace.names)}
    assert at["s9"].tolist() == [trace.second("2021-03-31T22:15:00")]
    assert at["s8"].tolist() == [trace.second("2021-04-01")]


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("2021-04-01T00:30:00z", "2021-04-01T00:30:00"),
        ("2021-04-01t00:30:00Z", "2021-04-01T00:30:00"),
        ("2021-04-01t00:30z", "2021-04-01T00:30:00"),
        ("20210401T003000Z", "2021-04-01T00:30:00"),
        ("2021-W13-4T00:30:00Z", "2021-04-01T00:30:00"),
        ("2021W134T0030Z", "2021-04-01T00:30:00"),
        ("2021-091T00:30:00Z", "2021-04-01T00:30:00"),
        ("2021091T0030Z", "2021-04-01T00:30:00"),
        ("2021-03-31T24:00:00Z", "2021-04-01T00:00:00"),
        ("2021-03-31T24:00Z", "2021-04-01T00:00:00"),
        ('"2021-04-01T00:30:07,25Z"', "2021-04-01T00:30:07"),
        ("2021-04-01T00:30:07.25Z", "2021-04-01T00:30:07"),
        ("2021-W13-4T02:30:00+02:00", "2021-04-01T00:30:00"),
        ("2021-091t00:30:00-0330", "2021-04-01T04:00:00"),
        ("2021-04-01T00Z", "2021-04-01T00:00:00"),
    ],
)
def test_iso_8601_forms(read, text, time):
    trace, repairs = read([*good(), f"s9,{text}"])
    assert trace.times_of(trace.names.index("s9")).tolist() == [trace.second(time)]
    moved = "+" in text or "-0330" in text
    assert [r.what for r in repairs] == ["other time zone, moved to UTC"] * moved


@pytest.mark.parametrize("text", ["2021-W54-1", "2021-366", "2021-04-31", "2021-04-01T24:01Z"])
def test_invalid_times_are_left_out(read, text):
    _, repairs = read([*good(), f"s9,{text}"])
    assert [str(r) for r in repairs] == ["time that cannot be read, left out: 1 (row 42)"]


def test_refusal_names_rows(read):
    one = [row.replace("s1", "s0").replace("s2", "s0").replace("s3", "s0") for row in good()]
    with pytest.raises(ValueError, match=r"one source only.*41 rows; time that.*: 1 \(row 42\)"):
        read([*one, "s9,soon"])
    with pytest.raises(ValueError, match=r"got 19 \(of 21 rows; time that.*row 21\); dupl.*row 22"):
        read([*good(19), "s9,soon", good(1)[0]])


def test_times_without_zone_are_utc(read):
    trace, repairs = read([row.removesuffix("Z") for row in good()])
    assert repairs == []
    assert trace.time.size == 40


def test_long_repairs_are_shortened(read):
    rows = [*good(112), *["s0,2021-03-01T00:15Z"] * 7, "s1,never", "", "s1,2050-01-01"]
    _, repairs = read(rows)
    assert [str(r) for r in repairs] == [
        "time that cannot be read, left out: 1 (row 121)",
        "time after 2024-06-01, left out: 1 (row 123)",
        "duplicate, left out: 7 (row 114, 115, 116, 117, 118 and 2 more)",
    ]


def test_duplicates_may_be_kept(read):
    trace, repairs = read([*good(), good()[0]], duplicates="keep")
    assert repairs == []
    assert trace.time.size == 41
    with pytest.raises(ValueError, match="duplicates"):
        read(good(), duplicates="both")


def test_other_columns_are_ignored(read):
    rows = [f"upload,{row},x" for row in good()]
    assert read(rows, header="kind,source,utc,more")[0].time.size == 40


@pytest.mark.parametrize(
    ("rows", "header", "said"),
    [
        ([], "", "the file is empty"),
        ([], "source,utc", "no items: the file has a header and no rows"),
        (good(), "source,time", "column 'utc' is missing"),
        (good(), "name,utc", "column 'source' is missing"),
        ([row.replace("s1", "s0").replace("s2", "s0").replace("s3", "s0") for row in good()],
         "source,utc", "one source only, 's0'"),
        (good(10), "source,utc", "at least 20 items to estimate rates, got 10"),
        ([*good(), *["s0,soon"] * 5], "source,utc",
         r"5 of 45: time that cannot be read, left out: 5 \(row 42, 43, 44, 45, 46\)"),
        ([*good(), "s0,2021-03-01T00:15Z,more"], "source,utc", "line 42, saw 3"),
        ([], "source;utc", "divided by semicolons: save the file with commas"),
        (good(), "source,utc,utc", "column 'utc' occurs twice"),
        (["s0,2021-03-01T00:15Z,more", *good()], "source,utc", "more fields than the header"),
    ],
)  # fmt: skip
def test_unusable_file_is_refused(read, rows, header, said):
    with pytest.raises(ValueError, match=said) as refused:
        read(rows, header=header)
    assert "my.csv" in str(refused.value)
    assert "\n" not in str(refused.value)


def test_wrong_files_are_refused(tmp_path):
    for content in (b"", b"\xff\xfe\x00source,utc\n"):
        (tmp_path / "my.csv").write_bytes(content)
        with pytest.raises(ValueError, match=r"my\.csv"):
            read_trace(tmp_path / "my.csv")
    (tmp_path / "my.csv").write_bytes("\n".join(["source,utc", *good(), "é,x"]).encode("latin-1"))
    with pytest.raises(ValueError, match="line 42 has the byte 0xe9, not UTF-8: save it as UTF-8"):
        read_trace(tmp_path / "my.csv")
    with pytest.raises(ValueError, match=r"none\.csv"):
        read_trace(tmp_path / "none.csv")


def test_row_order_does_not_matter(read):
    rows = good()
    shuffled = [rows[i] for i in np.random.default_rng(0).permutation(len(rows))]
    one, other = read(rows)[0], read(shuffled)[0]
    assert one.names == other.names
    assert [one.times_of(i).tolist() for i in range(4)] == [
        other.times_of(i).tolist() for i in range(4)
    ]
