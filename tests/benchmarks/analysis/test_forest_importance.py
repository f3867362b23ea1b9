"""Functional ANOVA of forests compared with brute force over the partition of each tree."""

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hpo_envs.benchmarks.analysis import forest_importance as fi
from hpo_envs.tables import store

AXES = (fi.Dimension("a", (0.0, 1.0, 4.0)), fi.Dimension("b", (), -1.0, 3.0), fi.Dimension("c", (), 0.0, 1.0))


def fitted(axes: tuple[fi.Dimension, ...] = AXES, seed: int = 0):
    from sklearn.tree import DecisionTreeRegressor

    rng = np.random.default_rng(seed)
    x = np.column_stack([rng.choice(a.values, 60) if a.values else rng.uniform(a.low, a.high, 60) for a in axes])
    y = x[:, 0] * x[:, 1] + np.sin(3 * x[:, 2]) + 0.3 * rng.normal(size=60)
    return x, y, DecisionTreeRegressor(random_state=seed, max_leaf_nodes=25).fit(x, y)


def by_brute_force(predict, axes, thresholds):
    """Definition of Hutter et al. 2014 on the product of all intervals of all axes: weighted means, cell by cell."""
    parts, weights = [], []
    for axis, cuts in zip(axes, thresholds, strict=True):
        if axis.values:
            parts.append(list(axis.values))
            weights.append([1 / len(axis.values)] * len(axis.values))
        else:
            edges = [axis.low, *sorted({c for c in cuts if axis.low < c < axis.high}), axis.high]
            parts.append([(a + b) / 2 for a, b in itertools.pairwise(edges)])
            weights.append([(b - a) / (axis.high - axis.low) for a, b in itertools.pairwise(edges)])
    shape = [len(p) for p in parts]
    f = predict(np.array(list(itertools.product(*parts)))).reshape(shape)
    w = np.array([np.prod(c) for c in itertools.product(*weights)]).reshape(shape)
    mean = (f * w).sum()
    total = ((f - mean) ** 2 * w).sum()

    def mean_given(keep):
        drop = tuple(a for a in range(len(axes)) if a not in keep)
        return (f * w).sum(axis=drop, keepdims=True) / w.sum(axis=drop, keepdims=True)

    main = [((mean_given((i,)) - mean) ** 2 * w).sum() for i in range(len(axes))]
    pairs = np.zeros((len(axes), len(axes)))
    for i, j in itertools.combinations(range(len(axes)), 2):
        rest = mean_given((i, j)) - mean_given((i,)) - mean_given((j,)) + mean
        pairs[i, j] = pairs[j, i] = (rest**2 * w).sum()
    return np.array(main), pairs, total


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("cutoff", [None, 1.5])
def test_decomposition_of_a_tree_equals_brute_force(seed: int, cutoff: float | None) -> None:
    _, _, model = fitted(seed=seed)
    tree = model.tree_
    values, low, high = fi.boxes(tree, 3)
    clip = -np.inf if cutoff is None else cutoff
    main, pairs, total, _ = fi.decompose(np.maximum(values, clip), low, high, AXES)
    cuts = [tree.threshold[tree.feature == i] for i in range(3)]
    expected = by_brute_force(lambda x: np.maximum(model.predict(x), clip), AXES, cuts)
    np.testing.assert_allclose(main, expected[0], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(pairs, expected[1], rtol=1e-9, atol=1e-12)
    assert total == pytest.approx(expected[2])
    assert main.sum() + pairs.sum() / 2 < total, "three axes: what is left is of third order"


def test_decomposition_of_a_tree_equals_values_by_hand() -> None:
    """f = 0 where a <= 0.5, else 1 where b <= 1, else 3; a in {0, 1}, b uniform on [0, 4]."""
    low = np.array([[-np.inf, -np.inf], [0.5, -np.inf], [0.5, 1.0]])
    high = np.array([[0.5, np.inf], [np.inf, 1.0], [np.inf, np.inf]])
    axes = (fi.Dimension("a", (0.0, 1.0)), fi.Dimension("b", (), 0.0, 4.0))
    main, pairs, total, marginals = fi.decompose(np.array([0.0, 1.0, 3.0]), low, high, axes)
    # Mean 1.25; over b: 0 and 2.5; over a: .5 on a quarter, 1.5 on the rest.
    assert main == pytest.approx([1.25**2, 0.25 * 0.75**2 + 0.75 * 0.25**2])
    assert total == pytest.approx(0.5 * 1.25**2 + 0.125 * 0.25**2 + 0.375 * 1.75**2)
    assert (pairs[0, 1], marginals[1][1]) == (pytest.approx(total - main.sum()), pytest.approx([0.5, 1.5]))


def test_a_forest_finds_the_importance_on_a_complete_grid() -> None:
    table = store.load("nmthpo/swen")
    bleu = table.final("bleu")
    axes = [fi.Dimension(h.name, (*np.unique(c).tolist(),)) for h, c in zip(table.space, table.configs.T, strict=True)]
    found = fi.importance(table.configs, bleu, axes, trees=16)
    means = [[bleu[c == v].mean() for v in np.unique(c)] for c in table.configs.T]  # 767 of 768 cells are measured
    exact = np.array([np.var(m) for m in means]) / bleu.var()
    assert np.abs(found.main - exact).max() < 0.1
    assert np.argmax(found.main) == np.argmax(exact)
    assert found.score > 0.7
    assert found.ranked_pairs()[0][2] == found.pairs.max()
    points, mean, _ = found.marginals[0]
    assert points.tolist() == sorted({*table.configs[:, 0]})
    assert (mean >= bleu.min()).all()
    raised = fi.importance(table.configs, bleu, axes, trees=16, cutoff=float(np.median(bleu)))
    assert not np.allclose(raised.main, found.main, atol=0.02)


def test_marginals_of_ranges_are_the_predictions_in_their_cells() -> None:
    from sklearn.ensemble import RandomForestRegressor

    x = np.random.default_rng(0).uniform(size=(400, 1))
    y = (x[:, 0] > 0.8) + 0.0
    points, mean, std = fi.importance(x, y, [fi.Dimension("x")], trees=16).marginals[0]
    each = [t.predict(points[:, None]) for t in RandomForestRegressor(16, random_state=0).fit(x, y).estimators_]
    assert (mean.tolist(), std.tolist()) == (np.mean(each, axis=0).tolist(), np.std(each, axis=0).tolist())


def test_constant_scores_have_no_importance_and_wrong_shapes_are_rejected() -> None:
    x = np.random.default_rng(0).uniform(size=(20, 2))
    axes = (fi.Dimension("a"), fi.Dimension("b"))
    assert not fi.importance(x, np.ones(20), axes, trees=2).main.any()
    with pytest.raises(ValueError, match="configs, finite scores, axes must be"):
        fi.importance(x, np.ones(19), axes)


@pytest.mark.parametrize("case", json.loads(Path(__file__).with_name("fanova.json").read_text(encoding="utf-8")))
def test_decomposition_of_a_tree_equals_that_of_the_fanova_package(case: dict[str, Any]) -> None:
    """One tree of fanova 2.0.19 (pyrfr 0.9.0) on 40 points, as the values of its cells; with and without a cutoff.

    Its shares are those of `fANOVA(X, Y, space, n_trees=1, min_samples_leaf=3, cutoffs=...).quantify_importance`, with
    one substitution: the package reads the statistics of each tree (`marginal_prediction_stat_of_tree`), whose type
    pyrfr 0.9.0 does not wrap for Python; the forest's marginal mean, which is the tree's where there is one tree, took
    their place.
    """
    edges = [[0.0, *splits, 1.0] for splits in case["splits"]]
    cells = np.array(list(itertools.product(*(itertools.pairwise(e) for e in edges))))
    values = np.maximum(case["values"], -np.inf if case["cutoff"] is None else case["cutoff"])
    main, pairs, total, _ = fi.decompose(values, cells[:, :, 0], cells[:, :, 1], [fi.Dimension(name) for name in "abc"])
    for which, share in case["importance"].items():
        where = [int(i) for i in which]
        if len(where) < 3:
            ours = main[where[0]] if len(where) == 1 else pairs[where[0], where[1]]
            assert ours / total == pytest.approx(share, abs=1e-5)
