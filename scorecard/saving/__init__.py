"""What a notebook saves: claims and numbers, figures, tables, data, each with its provenance."""
