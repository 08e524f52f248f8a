"""A form's texts are read and refused as `make run` does, on all pages that browsers run."""

import pytest

from scorecard.browser.form import check_text
from scorecard.running.notebooks import FILES
from scorecard.values import ParameterError
from tests.support import read_notebooks

TEXTS = (
    "", "1", "2", "-1", "0", "0.5", "1e3", "1e400", "nan", "inf", "x", "2.0", "true", "empty",
    "[]", "[1]", "[1, 1]", "[2, 1, 0.5]", "[a, b]", "[1, x]", "1, 2", "[", "999999999999",
)  # fmt: skip
PAGES = {name: page for name, page in read_notebooks().items() if "crawl/" not in page.page}


def outcome(check, *arguments):
    try:
        return repr(check(*arguments))
    except ParameterError as error:
        return f"refused: {error}"


@pytest.mark.parametrize("page", PAGES)
def test_texts_are_read_as_by_run(page):
    notebook = PAGES[page]
    numbers = {"N": 4} | {name: p.default for name, p in notebook.parameters.items()}
    for name, parameter in notebook.parameters.items():
        written = parameter.default
        texts = [*TEXTS, str(written).lower() if isinstance(written, bool) else str(written)]
        for text in texts if name not in FILES else ():
            read = outcome(check_text, vars(parameter), text, numbers)
            assert read == outcome(parameter.check, text, numbers), (name, text)
