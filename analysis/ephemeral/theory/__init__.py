"""The index by its definition, value functions, and how far the printed formulas hold."""
