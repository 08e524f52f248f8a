"""A Scrapy project that crawls a list of feeds by the index policy."""
