"""The import graph of the code, found when a site is built: the runtime lacks grimp.

Pages with recorded experiments show a hash of the code that computed them
(`analysis.fingerprint`). In a browser the hash is taken of the files there; only which module
imports which is read from the archive of the code.
"""

from __future__ import annotations

import json
import sys
from importlib.util import find_spec
from types import ModuleType, SimpleNamespace

from scorecard.paths import ROOT

#: File of the graph in the archive of the code: modules that a module imports, by its name.
FILE = "imports.json"


def write_imports(packages: tuple[str, ...]) -> str:
    """Return the import graph of packages as JSON, as `analysis.fingerprint` asks for it."""
    import grimp

    graph = grimp.build_graph(*packages, cache_dir=None, exclude_type_checking_imports=True)
    imported = {
        module: sorted(graph.find_modules_directly_imported_by(module)) for module in graph.modules
    }
    return json.dumps(imported, sort_keys=True)


def replace_grimp() -> None:
    """Where grimp is missing, have ``import grimp`` give the graph of the archive."""
    if "grimp" in sys.modules or find_spec("grimp"):
        return
    module = ModuleType("grimp", "The import graph of the archive.")
    module.build_graph = lambda *_, **__: read_graph()  # type: ignore[attr-defined]
    sys.modules["grimp"] = module


def replace_ipython() -> None:
    """Where IPython is missing, have text that a cell shows be that text."""
    if "IPython" in sys.modules or find_spec("IPython"):
        return
    module, display = ModuleType("IPython"), ModuleType("IPython.display")
    module.get_ipython = lambda: None  # type: ignore[attr-defined]  # as Matplotlib asks
    display.Markdown = str  # type: ignore[attr-defined]
    sys.modules |= {"IPython": module, "IPython.display": display}


def read_graph() -> SimpleNamespace:
    """Return the graph of the archive, with what `analysis.fingerprint` asks of it."""
    imported: dict[str, list[str]] = json.loads((ROOT / FILE).read_bytes())
    return SimpleNamespace(
        modules=imported.keys(),
        find_modules_directly_imported_by=lambda module: set(imported[module]),
    )
