from .saving.claims import Claim
from .saving.figures import save_figure
from .saving.records import is_document_run, record, record_claims, save_value
from .saving.style import COLOURS, figure
from .saving.tables import save_data, save_table
from .text import as_markdown, as_mathtext, as_plain

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
    "save_data",
    "save_figure",
    "save_table",
    "save_value",
]
