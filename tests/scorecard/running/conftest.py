"""Notebooks of three lines, and the jobs that run them."""

import pytest

from scorecard.running import notebooks
from scorecard.running.notebooks import Notebook
from scorecard.running.runner import Job

#: How the text of a notebook begins.
NOTEBOOK_HEAD = """---
jupytext:
  text_representation: {extension: .md, format_name: myst}
kernelspec: {name: python3, display_name: Python 3, language: python}
---

"""
PAGE = """# A page

```{code-cell} ipython3
:tags: [parameters]

number: int = 3  # none; any; a number
```

```{code-cell} ipython3
import json
from pathlib import Path

facts = json.loads(Path("run.json").read_text())
%s
```
"""
GOOD = "print(number, facts['document'])\nnumber**2"


@pytest.fixture
def job(tmp_path, monkeypatch):
    """Return a function that writes a notebook and gives the job to run it."""
    monkeypatch.setattr(notebooks, "BOOK", tmp_path / "book")

    def make(name, code=GOOD, **parameters):
        path = tmp_path / "book" / "part" / f"{name}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(NOTEBOOK_HEAD + PAGE % code)
        notebook = Notebook(path)
        target = tmp_path / "results" / "part" / name
        return Job(notebook, notebook.resolve(parameters), target, "paper")

    return make
