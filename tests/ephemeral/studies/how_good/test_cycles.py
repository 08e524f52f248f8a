from analysis.ephemeral.studies.how_good import cycles


def test_some_set_has_cycles_of_unlike_rewards():
    found = cycles.cycles_of_random_sets(7, 1)
    assert (found.worst <= found.start).all()
    assert (found.start <= found.best).all()
    assert found.spread[6] > 1e-3
    assert (found.spread < cycles.APART).any()
