"""The study of the page ``book/crawl/listing.md``: rates from the dates that feeds print."""
