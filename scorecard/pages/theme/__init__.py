"""Post-processing of the theme's pages and static files."""
