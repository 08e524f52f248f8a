"""Study of the page `learners`."""
