"""Recompute a page in the reader's browser: its code, its form, and the comparison with the book.

`bundle` writes what a browser needs into the site, `runtime` brings the Python runtime for browsers
there, and `run` is the Python that a Web Worker runs. The worker and the panel are plain JavaScript
in the folder ``files``; nothing of it is loaded before a reader asks for it.
"""
