"""Study of the page `age-of-information`."""
