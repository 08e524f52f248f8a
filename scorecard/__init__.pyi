from .saving.claims import MACHINE_CHECKED, Claim
from .saving.figures import COLOURS, figure, save_figure
from .saving.records import is_document_run, record_claims, save_value, save_values
from .saving.tables import NONE, save_data, save_table
from .saving.words import claim
from .text import (
    clean_for_markdown,
    clean_for_mathtext,
    clean_text,
    differ_as_formatted,
    format_change,
    format_interval,
    format_plus_minus,
    format_range,
    format_rounded,
    join_words,
    pluralise,
)

__all__ = [
    "COLOURS",
    "MACHINE_CHECKED",
    "NONE",
    "Claim",
    "claim",
    "clean_for_markdown",
    "clean_for_mathtext",
    "clean_text",
    "differ_as_formatted",
    "figure",
    "format_change",
    "format_interval",
    "format_plus_minus",
    "format_range",
    "format_rounded",
    "is_document_run",
    "join_words",
    "pluralise",
    "record_claims",
    "save_data",
    "save_figure",
    "save_table",
    "save_value",
    "save_values",
]
