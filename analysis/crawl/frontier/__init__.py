"""The state of a crawl: which sources are fetched in which epoch, whatever fetches them."""
