"""From results to pages: staging, the Sphinx extension, its templates and the API pages."""
