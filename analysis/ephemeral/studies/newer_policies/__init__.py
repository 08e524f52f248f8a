"""Study of the page `newer-policies`."""
