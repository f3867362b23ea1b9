import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hpo_envs.benchmarks.analysis.importance import codes, complete, decompose
from hpo_envs.tables import store


def full_grid(*sizes: int) -> np.ndarray:
    return np.array(list(itertools.product(*(range(n) for n in sizes))), dtype=float)


def test_additive_function_has_main_effects_in_closed_form():
    x = full_grid(2, 3, 4)
    found = decompose(x, 3.0 * x[:, 0] + x[:, 1])
    parts = np.array([9 * 0.25, 2 / 3, 0.0])  # variances of 3a over {0, 1}, b over {0, 1, 2}, nothing
    np.testing.assert_allclose(found.main, parts / parts.sum(), atol=1e-12)
    np.testing.assert_allclose(found.pairs, 0.0, atol=1e-12)
    assert found.variance == pytest.approx(parts.sum())
    assert found.missing == 0


def test_pure_interaction_has_no_main_effect():
    x = full_grid(2, 2, 3)
    found = decompose(x, (2 * x[:, 0] - 1) * (2 * x[:, 1] - 1))
    np.testing.assert_allclose(found.main, 0.0, atol=1e-12)
    assert found.pairs[0, 1] == found.pairs[1, 0] == pytest.approx(1.0)
    assert found.joint(0, 1) == pytest.approx(1.0)
    assert found.joint(0, 2) == pytest.approx(0.0)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6))
def test_shares_of_two_hyperparameters_sum_to_one_and_ignore_order_and_units(seed):
    rng = np.random.default_rng(seed)
    x, y = full_grid(3, 4), rng.normal(size=12)
    a = decompose(x, y)
    assert a.main.sum() + a.pairs[0, 1] == pytest.approx(1.0)
    order = rng.permutation(12)
    b = decompose(10.0 ** x[order], 5.0 - 2.0 * y[order])
    np.testing.assert_allclose(a.main, b.main, atol=1e-10)
    np.testing.assert_allclose(a.pairs, b.pairs, atol=1e-10)


def test_missing_cells_of_pairwise_function_are_recovered():
    rng = np.random.default_rng(0)
    x = full_grid(3, 3, 3, 2)
    y = x[:, 0] + x[:, 1] * x[:, 2] + 0.5 * x[:, 3] * x[:, 0]
    keep = rng.permutation(len(x))[: int(0.8 * len(x))]
    keep = np.union1d(keep, [0, len(x) - 1])  # the extremes, so that the clip to the measured range does not bite
    whole, part = decompose(x, y), decompose(x[keep], y[keep])
    assert part.missing == len(x) - len(keep) > 0
    np.testing.assert_allclose(part.main, whole.main, atol=1e-9)
    np.testing.assert_allclose(part.pairs, whole.pairs, atol=1e-9)


def test_missing_cell_of_additive_function_is_recovered_though_interactions_are_not_determined():
    grid = complete(codes(full_grid(2, 3))[:5], np.array([3.0, 2.0, 4.0, 1.0, 0.0]))
    assert grid[1, 2] == pytest.approx(2.0)


def test_fill_stays_within_range_of_values():
    x = full_grid(2, 2)
    grid = complete(codes(x)[:3], np.array([0.0, 10.0, 10.0]))  # additive extrapolation would say 20
    assert grid[1, 1] == 10.0
    np.testing.assert_array_equal(grid.ravel()[:3], [0.0, 10.0, 10.0])


def test_quantile_flattens_what_distinguishes_bad_configurations():
    x = full_grid(4, 4)
    y = np.where(x[:, 0] < 3, -100.0 * x[:, 0], x[:, 1])  # the second matters in the best quarter only
    everything, top = decompose(x, y), decompose(x, y, quantile=0.8)
    assert everything.main[0] > 0.99
    assert top.main[1] > everything.main[1]
    assert top.main[1] + top.pairs[0, 1] > 0.4
    assert top.variance < everything.variance


def test_constant_function_has_no_importance():
    found = decompose(full_grid(2, 3), np.full(6, 7.0))
    assert found.variance == 0.0
    assert not found.main.any()
    assert not found.pairs.any()


@pytest.mark.parametrize(
    "x, y, quantile, message",
    [
        (full_grid(2, 2), [1.0, 2.0, 3.0], 0.0, "values must be 4 finite"),
        (full_grid(2, 2), [1.0, 2.0, 3.0, np.nan], 0.0, "values must be 4 finite"),
        (full_grid(2, 2)[[0, 0, 1]], [1.0, 2.0, 3.0], 0.0, "must not name a cell twice"),
        (full_grid(2, 2), [1.0, 2.0, 3.0, 4.0], 1.0, r"quantile must be in \[0, 1\), got 1.0"),
        (np.zeros((0, 2)), [], 0.0, "configs must be"),
        (np.zeros(3), [1.0, 2.0, 3.0], 0.0, "configs must be"),
    ],
)
def test_bad_input_is_rejected(x, y, quantile, message):
    with pytest.raises(ValueError, match=message):
        decompose(x, y, quantile)


def test_embedding_size_is_distinguishing_factor_on_enja():
    """Figure 5, middle: over all models of en-ja."""
    table = store.load("nmthpo/enja")
    found = decompose(table.configs, table.final("bleu"))
    names = [h.name for h in table.space]
    assert names[int(found.main.argmax())] == "embed"
    i, j = np.unravel_index(found.pairs.argmax(), found.pairs.shape)
    assert {names[i], names[j]} == {"init_lr", "embed"}
