"""Study of the page `restart-applications`."""
