"""Study of the page `restart-myopic`."""
