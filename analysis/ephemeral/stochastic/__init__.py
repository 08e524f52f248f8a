"""Random content: simulation, the law of the content, and the index when content is observed."""
