"""Publication of the book: data files, permalinks, citations, RO-Crate, PDF and release archive."""
