"""Study of the page `orders`: orders of indexing, places and prices in a simulation."""
