"""Recompute a page in the reader's browser: its code, its form, and the comparison with the book.

`bundle` writes what a browser needs into the site, `run` is the Python that a Web Worker runs, with
`stand_ins` for libraries that the runtime lacks. The worker and the panel are plain JavaScript in
the folder ``files``; nothing of it is loaded before a reader asks for it.
"""
