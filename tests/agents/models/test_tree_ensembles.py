"""Ensembles of regression trees compared with scikit-learn's."""

import numpy as np
import pytest
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.tree import DecisionTreeRegressor

from hpo_envs.agents.models.tree_ensembles import Splits, boosted

EVERY = 10**6


@pytest.fixture
def data() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Continuous and coarse features, the observed rows, and noisy targets of all rows."""
    rng = np.random.default_rng(0)
    x = rng.random((200, 9))
    x[:, 5:] = np.round(x[:, 5:] * 4) / 4
    y = np.sin(5 * x[:, 0]) + x[:, 1] * x[:, 8] + rng.normal(0, 0.1, len(x))
    return x, rng.permutation(200)[:90], y


@pytest.mark.parametrize(("depth", "least"), [(1, 2), (3, 2), (6, 2), (4, 12), (None, 20), (None, 2)])
def test_a_tree_equals_that_of_scikit_learn(data: tuple, depth: int | None, least: int) -> None:
    x, rows, y = data
    found = Splits(x, EVERY).grow(rows, y[None, rows], np.ones((1, 90)), depth=depth, least=least)
    tree = DecisionTreeRegressor(max_depth=depth, min_samples_split=least, random_state=0).fit(x[rows], y[rows])
    assert found.shape == (1, 200)
    assert np.abs(found[0, rows] - tree.predict(x[rows])).max() < 1e-12
    # Between known rows, thresholds lie halfway between the values of all rows, not only of the known ones.
    assert np.corrcoef(found[0], tree.predict(x))[0, 1] > 0.95


def test_weights_of_rows_equal_repetitions(data: tuple) -> None:
    x, rows, y = data
    times = np.random.default_rng(1).integers(0, 4, (3, 90))
    splits = Splits(x, EVERY)
    found = splits.grow(rows, np.tile(y[rows], (3, 1)), times.astype(float), depth=3)
    for prediction, count in zip(found, times, strict=True):
        again = np.repeat(rows, count)
        alone = splits.grow(again, y[None, again], np.ones((1, len(again))), depth=3)
        assert np.allclose(prediction, alone[0], atol=1e-12)


def test_a_tree_on_constant_features_is_the_mean(data: tuple) -> None:
    _, rows, y = data
    constant = Splits(np.ones((200, 2))).grow(rows, y[None, rows], np.ones((1, 90)))
    assert np.allclose(constant, y[rows].mean())


def test_boosting_equals_that_of_scikit_learn(data: tuple) -> None:
    x, rows, y = data
    samples = np.zeros((2, 90), bool)
    samples[0, :40] = samples[1, 30:] = True
    found = boosted(Splits(x, EVERY), rows, y[rows], samples, trees=30, depth=3, rate=0.3)
    for prediction, chosen in zip(found, samples, strict=True):
        seen = rows[chosen]
        model = GradientBoostingRegressor(n_estimators=30, max_depth=3, learning_rate=0.3, random_state=0)
        assert np.abs(prediction[seen] - model.fit(x[seen], y[seen]).predict(x[seen])).max() < 1e-9


def test_a_share_of_the_features_is_drawn_for_each_node(data: tuple) -> None:
    x, rows, y = data
    splits = Splits(x)
    allowed = splits._drawn(500, 1 / 3, np.random.default_rng(0))
    asked = np.array([[allowed[:, splits.feature == f].any(axis=1)] for f in range(9)])[:, 0].T
    assert (asked.sum(axis=1) == 3).all()
    assert asked.mean(axis=0) == pytest.approx(1 / 3, abs=0.1)
    targets, weights = np.tile(y[rows], (40, 1)), np.ones((40, 90))
    roots = splits.grow(rows, targets, weights, depth=1, share=1 / 3, rng=np.random.default_rng(0))
    assert len(np.unique(roots.round(9), axis=0)) > 3
    with pytest.raises(ValueError, match="rng must be a generator where share < 1, got None"):
        splits.grow(rows, targets, weights, share=0.5)


def test_features_with_many_values_are_split_at_quantiles() -> None:
    x = np.random.default_rng(0).normal(size=(1000, 1)) ** 3
    splits = Splits(x, 9)
    assert len(splits.feature) == len(np.unique(splits.rank)) == 9
    below = np.sort((splits.code <= splits.rank).mean(axis=0))
    assert below == pytest.approx(np.linspace(0, 1, 9), abs=0.01)
