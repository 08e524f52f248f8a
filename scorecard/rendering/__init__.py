"""Rendering of the site: staging, Sphinx, portable notebooks, static files shared by reruns."""
