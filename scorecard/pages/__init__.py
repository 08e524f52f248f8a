"""The book's Sphinx extension: roles, directives, templates and post-processing of pages."""
