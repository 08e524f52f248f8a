"""Models and policies behind a reproducible book on scheduling web crawlers.

Sub-packages carry the names of the book's parts: `ephemeral`, `restarts`, `bandits`, `learning`,
`robots`, `trace` and `crawl`, and `joint` for crawler and indexing engine together; `mdp` holds the
solvers that they share.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import lazy_loader

__version__ = "0.1.0"
DISTRIBUTION = "which-source-next"


def missing_extra(error: ModuleNotFoundError, extra: str) -> ModuleNotFoundError:
    """Return an error that says how to install what is missing.

    Parameters
    ----------
    error : ModuleNotFoundError
        What Python raised.
    extra : str
        Extra of the distribution that has the library.

    Returns
    -------
    ModuleNotFoundError
        The same error, if a module of this package is missing.

    Examples
    --------
    >>> missing_extra(ModuleNotFoundError("No module named 'yaml'", name="yaml"), "book")
    ModuleNotFoundError("yaml is not installed: pip install 'which-source-next[book]'")
    """
    if error.name is None or error.name.partition(".")[0] == "analysis":
        return error
    message = f"{error.name} is not installed: pip install '{DISTRIBUTION}[{extra}]'"
    return ModuleNotFoundError(message, name=error.name)


def attach_stub(package: str, file: str, extra: str) -> tuple[Callable[[str], Any], Any, Any]:
    """Attach a stub as `lazy_loader.attach_stub` does, for a package that needs an extra.

    Parameters
    ----------
    package, file : str
        ``__name__`` and ``__file__`` of the package.
    extra : str
        Extra to name where a library is missing.
    """
    load, list_names, public = lazy_loader.attach_stub(package, file)

    def __getattr__(name: str) -> Any:
        try:
            return load(name)
        except ModuleNotFoundError as error:
            raise missing_extra(error, extra) from None

    return __getattr__, list_names, public
