"""What a crawl keeps on disk, and its progress read from there."""
