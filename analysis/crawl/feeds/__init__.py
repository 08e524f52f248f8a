"""Reading of feeds: their items, and the rates that the dates in a listing tell."""
