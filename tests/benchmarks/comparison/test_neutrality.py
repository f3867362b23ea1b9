"""Random samplers through their adapters."""

import numpy as np
import pytest

from hpo_envs.benchmarks.comparison import neutrality


def test_the_expected_best_of_random_draws_is_exact() -> None:
    truth = np.array([3.0, 1.0, 4.0, 1.0, 5.0, 9.0])
    rng = np.random.default_rng(0)
    drawn = np.maximum.accumulate(truth[np.argsort(rng.random((20_000, 6)), axis=1)], axis=1)
    assert neutrality.expected(truth, 6) == pytest.approx(drawn.mean(axis=0), abs=0.08)
    assert neutrality.expected(truth, 6)[[0, -1]] == pytest.approx([truth.mean(), 9.0])


def test_tables_whose_best_is_their_median_have_no_regret() -> None:
    """Two of the 24 tables of CharHPO; a single NaN would leave the family and the total without an interval."""
    flat = {"CharHPO-inflection-hai-lstm-v0", "CharHPO-g2p-geo-lstm-v0"}
    assert all(np.isnan(neutrality.regrets(i)).all() for i in flat)
    found = neutrality.ids("CharHPO")
    assert not flat & {*found}
    rows = np.array([neutrality.differences("random", i, 3) for i in found])
    assert np.isfinite([neutrality.fixed_tasks(rows).low, neutrality.fixed_tasks(rows).high]).all()


def test_tables_are_those_of_each_family() -> None:
    assert [len(neutrality.ids(name)) for name in neutrality.FAMILIES] == [32, 22, 6]
    difference = neutrality.differences("random", "CharMini-eng-lstm-v0", 50)
    assert abs(difference.mean()) < 4 * difference.std() / np.sqrt(50)
