"""Study of the page `restart-indexability`."""
