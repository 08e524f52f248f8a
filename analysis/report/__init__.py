"""From notebook to book: what a notebook calls to leave figures, numbers and records behind."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from analysis.report.claims import Claim
    from analysis.report.figures import save_figure
    from analysis.report.records import is_document_run, record, record_claims, save_value
    from analysis.report.style import COLOURS, figure
    from analysis.report.text import as_markdown, as_mathtext, as_plain

__all__ = [
    "COLOURS",
    "Claim",
    "as_markdown",
    "as_mathtext",
    "as_plain",
    "figure",
    "is_document_run",
    "record",
    "record_claims",
    "save_figure",
    "save_value",
]

#: Loaded when asked for: the process that starts a notebook's kernel draws and records nothing.
_HOMES = {
    "COLOURS": "style",
    "Claim": "claims",
    "as_markdown": "text",
    "as_mathtext": "text",
    "as_plain": "text",
    "figure": "style",
    "is_document_run": "records",
    "record": "records",
    "record_claims": "records",
    "save_figure": "figures",
    "save_value": "records",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
