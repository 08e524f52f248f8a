"""What pages can say: the Sphinx extension, its roles, directives and templates."""
