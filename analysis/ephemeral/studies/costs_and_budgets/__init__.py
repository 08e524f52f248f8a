"""Study of the page `costs-and-budgets`."""
