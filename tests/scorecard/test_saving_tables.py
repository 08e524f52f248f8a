"""`save_table` and `save_data`: what is shown, what is kept, and what they refuse."""

import json

import numpy as np
import pandas as pd
import pytest

from scorecard import save_data, save_figure, save_table
from scorecard.record import VARIABLE, run_facts
from scorecard.saving import NONE

FRAME = pd.DataFrame(
    {
        "reward": [0.1, 1 / 3, np.nan],
        "share": [0.25, -1e-9, 1.0],
        "visits": [1200, 2, 3],
        "exact": [True, False, True],
    },
    index=pd.Index(["first", "a, b", "c"], name="policy"),
)
COLUMNS = {"instance": "number of the instance", "loss": "loss, in %"}
INSTANCES = pd.DataFrame({"instance": [0, 1], "loss": [2.5, 1 / 3]})


def save(id="page-rewards", frame=FRAME, caption="One *rises*.", **options):
    return save_table(id, frame, caption, **options)


def read(folder, id="page-rewards"):
    return json.loads((folder / f"tables/{id}.json").read_text())


def test_table_keeps_all_digits(start_run):
    folder = start_run(notebook="part/page", parameters={"budget": 2})
    assert save(formats={"share": ".1%", "visits": ",d"}) is None
    table = read(folder)
    assert table["header"] == ["policy", "reward", "share", "visits", "exact"]
    assert table["rows"] == [
        ["first", "0.1", "25.0%", "1,200", "yes"],
        ["a, b", "0.333333", "0.0%", "2", "no"],  # no sign before a number that rounds to zero
        ["c", NONE, "100.0%", "3", "yes"],
    ]
    assert (table["heads"], table["notebook"], table["parameters"]) == (
        1,
        "part/page",
        {"budget": 2},
    )
    kept = pd.read_csv(folder / "tables/page-rewards.csv", index_col="policy")
    pd.testing.assert_frame_equal(kept, FRAME, rtol=1e-8)


def test_one_format_is_for_fractions_only(start_run):
    folder = start_run()
    save(formats=".2f")
    assert read(folder)["rows"][0][1:4] == ["0.10", "0.25", "1200"]


def test_index_levels_are_headings(start_run):
    folder = start_run()
    save(frame=FRAME.reset_index())
    assert read(folder)["heads"] == 0
    frame = FRAME.reset_index().set_index(["policy", "visits"])
    save("page-other", frame, labels={"visits": r"$n$, crawls"})
    table = read(folder, "page-other")
    assert table["heads"] == 2
    assert table["header"][:2] == ["policy", "$n$, crawls"]
    assert (folder / "tables/page-other.csv").read_text().startswith("policy,visits,reward")


def test_same_inputs_give_same_bytes(start_run):
    written = []
    for name in ("first", "second"):
        folder = start_run(name)
        save_data("page-instances", INSTANCES, "One row an instance.", COLUMNS)
        save(instances="page-instances")
        files = sorted(path for path in folder.rglob("*") if path.parent != folder)
        written.append({path.name: path.read_bytes() for path in files})
    assert set(written[0]) == {
        "page-rewards.csv", "page-rewards.json", "page-instances.csv", "page-instances.json",
    }  # fmt: skip
    assert written[0] == written[1]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"id": "Page"}, "id must be lower-case words"),
        ({"caption": " \n"}, "caption of the table 'page-rewards'"),
        ({"frame": FRAME.iloc[:0]}, r"must have rows and columns, got shape \(0, 4\)"),
        ({"frame": FRAME.rename_axis(None)}, "index of 'page-rewards' must have a name"),
        ({"frame": FRAME.set_axis(["a", "a", "b", "c"], axis=1)}, "must have one name each"),
        ({"frame": FRAME.rename(columns={"reward": 1})}, "must have one name each"),
        ({"formats": {"rewards": ".2f"}}, r"formats must name columns .* got \['rewards'\]"),
        ({"labels": {"Reward": "R"}}, r"labels must name columns .* got \['Reward'\]"),
        ({"instances": "page-unknown"}, "instances must be the id of data saved before"),
    ],
)
def test_useless_table_is_refused(start_run, change, said):
    folder = start_run()
    with pytest.raises(ValueError, match=said):
        save(**change)
    assert not (folder / "tables").exists()
    save()  # the id is still free


def draw(figure):
    return INSTANCES


def test_figures_tables_and_data_share_their_ids(start_run):
    folder = start_run()
    save_data("page-instances", INSTANCES, "One row an instance.", COLUMNS)
    with pytest.raises(ValueError, match="'page-instances' is taken: another data"):
        save("page-instances")
    save()
    with pytest.raises(ValueError, match="'page-rewards' is taken: another table"):
        save_figure("page-rewards", draw, "It falls.", "A line.")
    with pytest.raises(ValueError, match="instances must be the id of data saved before"):
        save_figure("page-curve", draw, "It falls.", "A line.", instances="page-rewards")
    save_figure("page-curve", draw, "It falls.", "A line.", instances="page-instances")
    description = json.loads((folder / "figures/page-curve.json").read_text())
    assert description["instances"] == "page-instances"


def test_data_explain_every_column(start_run):
    folder = start_run(notebook="part/page")
    save_data("page-instances", INSTANCES, "One row\n an instance.", COLUMNS)
    data = json.loads((folder / "data/page-instances.json").read_text())
    assert (data["description"], data["count"]) == ("One row an instance.", 2)
    assert [column["name"] for column in data["columns"]] == ["instance", "loss"]
    kept = pd.read_csv(folder / "data/page-instances.csv")
    pd.testing.assert_frame_equal(kept, INSTANCES, rtol=1e-8)


@pytest.mark.parametrize(
    ("description", "columns", "said"),
    [
        (" ", COLUMNS, "description of the data"),
        ("Rows.", {"instance": "a number"}, "columns of the data"),
        ("Rows.", COLUMNS | {"more": "what there is not"}, "columns of the data"),
        ("Rows.", COLUMNS | {"loss": " "}, "columns of the data"),
    ],
)
def test_data_that_nobody_explains_are_refused(start_run, description, columns, said):
    folder = start_run()
    with pytest.raises(ValueError, match=said):
        save_data("page-instances", INSTANCES, description, columns)
    assert not (folder / "data").exists()


def test_opened_notebook_shows_frame(start_run, monkeypatch, tmp_path):
    start_run()
    monkeypatch.delenv(VARIABLE)
    monkeypatch.chdir(tmp_path)
    run_facts.cache_clear()
    shown = []
    monkeypatch.setattr("IPython.display.display", shown.append)
    save()
    save()  # a cell may run twice
    assert [frame is FRAME for frame in shown] == [True, True]
