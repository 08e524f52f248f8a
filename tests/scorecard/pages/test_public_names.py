"""The API pages hold every public name of every part, and each says what it is."""

import re
from importlib import import_module
from inspect import isroutine

import pytest

from scorecard.paths import BOOK, ROOT

PACKAGES = sorted(
    ".".join(path.parent.relative_to(ROOT).parts)
    for path in [*ROOT.glob("analysis/*/__init__.pyi"), *ROOT.glob("scorecard/__init__.pyi")]
)


def test_every_package_is_on_one_page():
    pages = [path.read_text(encoding="utf-8") for path in (BOOK / "api").glob("*.md")]
    shown = re.findall(r"^```\{public-names\} (\S+)$", "\n".join(pages), re.MULTILINE)
    assert sorted(shown) == PACKAGES


@pytest.mark.parametrize("name", PACKAGES)
def test_public_names_exist(name):
    module = import_module(name)
    assert sorted(module.__all__) == sorted(set(module.__all__))
    for public in module.__all__:
        thing = getattr(module, public)
        assert thing.__doc__, f"{name}.{public} has no docstring"
    with pytest.raises(AttributeError, match="no_such_name"):
        module.no_such_name  # noqa: B018


@pytest.mark.parametrize("name", [name for name in PACKAGES if name != "scorecard"])
def test_public_functions_have_examples(name):
    """Doctest runs them. A result's class is shown by the function that returns it.

    The functions of `scorecard` write into a notebook's run; the notebooks show them.
    """
    module = import_module(name)
    functions = [public for public in module.__all__ if isroutine(getattr(module, public))]
    lacking = [public for public in functions if ">>>" not in getattr(module, public).__doc__]
    assert lacking == []
