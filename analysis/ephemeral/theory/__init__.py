"""Equations and formulas of the report and the slides, each by a second method."""
