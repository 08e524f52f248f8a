"""From results to a site: pages staged and rendered, downloads that stand alone, shared files."""
