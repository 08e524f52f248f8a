from .saving.claims import MACHINE_CHECKED, Claim
from .saving.figures import COLOURS, figure, save_figure
from .saving.records import is_document_run, record_claims, save_value, save_values
from .saving.tables import NONE, save_data, save_table
from .saving.words import claim
from .text import (
    apart,
    as_markdown,
    as_mathtext,
    as_plain,
    counted,
    listed,
    moves,
    plus_minus,
    rounded,
    span,
    within,
)

__all__ = [
    "COLOURS",
    "MACHINE_CHECKED",
    "NONE",
    "Claim",
    "apart",
    "as_markdown",
    "as_mathtext",
    "as_plain",
    "claim",
    "counted",
    "figure",
    "is_document_run",
    "listed",
    "moves",
    "plus_minus",
    "record_claims",
    "rounded",
    "save_data",
    "save_figure",
    "save_table",
    "save_value",
    "save_values",
    "span",
    "within",
]
