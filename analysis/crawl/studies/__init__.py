"""The crawls behind the chapters of this part."""
