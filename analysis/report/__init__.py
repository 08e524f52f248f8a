"""From notebook to book: what a notebook calls to leave figures, numbers and records behind."""

from analysis.report.figures import save_figure
from analysis.report.records import is_document_run, record, save_value
from analysis.report.style import COLOURS, figure

__all__ = ["COLOURS", "figure", "is_document_run", "record", "save_figure", "save_value"]
