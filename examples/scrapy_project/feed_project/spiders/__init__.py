"""Spiders of the project, which `scrapy list` shows."""
