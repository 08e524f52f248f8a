"""A run of a notebook without a notebook: the folder, the variable and what the runner wrote."""

import json

import pytest

from scorecard import record
from scorecard.record import VARIABLE, run_facts


@pytest.fixture
def start_run(tmp_path, monkeypatch):
    """Return a function that pretends to be the kernel of a new run and returns its folder."""

    def start(name="run", *, document=True, notebook="part/some-notebook", parameters=None):
        folder = tmp_path / name
        folder.mkdir()
        facts = {"notebook": notebook, "parameters": parameters or {}, "given": {}, "files": {}}
        text = json.dumps({**facts, "document": document, "profile": "paper", "key": "k"})
        (folder / "run.json").write_text(text)
        (folder / "seconds.txt").write_text("1.0\n")
        (folder / "cpu.txt").write_text("2.5\n")
        monkeypatch.setenv(VARIABLE, str(folder))
        monkeypatch.setattr(record, "_claims", {})
        monkeypatch.setattr(record, "_values", {})
        monkeypatch.setattr(record, "saved", {})
        run_facts.cache_clear()
        return folder

    yield start
    run_facts.cache_clear()
