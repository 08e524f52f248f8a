"""The exact optimum of a few sources."""

from analysis.ephemeral import four_sources, optimal_average_reward


def test_what_no_source_fits_into_is_not_spent():
    """A budget is a cost, not a number of sources."""
    sources = four_sources()
    assert optimal_average_reward(sources, 1.5) == optimal_average_reward(sources, 1)
