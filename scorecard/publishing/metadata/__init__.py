"""URLs, citations, linked data and the research object of the book and its figures."""
