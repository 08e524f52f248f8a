"""Directives that show what notebooks saved, under conditions or as explorables."""
