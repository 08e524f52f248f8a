"""The index by its definition, value functions, and the documents' formulas as printed."""
