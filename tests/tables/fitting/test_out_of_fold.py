import csv
import itertools
import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hpo_envs.tables import store
from hpo_envs.tables.datasets.nmthpo import build as nmthpo
from hpo_envs.tables.datasets.nmthpo import fit as fit_nmthpo
from hpo_envs.tables.fitting import out_of_fold as sur
from hpo_envs.tables.fitting import regression
from tests.helpers import ROOT

PAIRS = list(nmthpo.PAIRS)


def waves(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = rng.uniform(size=(n, 2))
    return x, np.sin(5 * x[:, 0]) + x[:, 1] + 0.05 * rng.normal(size=n)


# ------------------------------------------------------------------------------------------------ draws and folds


def test_draws_depend_on_seed_and_own_key_alone():
    keys = [f"row {i}" for i in range(50)]
    draws = sur.uniforms("a", keys)
    np.testing.assert_array_equal(sur.uniforms("a", keys[::-1])[::-1], draws)
    np.testing.assert_array_equal(sur.uniforms("a", keys[10:20]), draws[10:20])
    assert not np.intersect1d(draws, sur.uniforms("b", keys)).size
    assert sur.uniforms("a", ["row 0"])[0] == 0.9418314699031987  # golden: another platform must draw the same


def test_normals_are_standard():
    from scipy.stats import kstest

    assert kstest(sur.normals("seed", [str(i) for i in range(4000)]), "norm").pvalue > 0.001


@settings(max_examples=30, deadline=None)
@given(st.lists(st.sampled_from("abcdefghij"), min_size=12, max_size=60), st.integers(2, 6))
def test_folds_keep_groups_whole_and_balanced(groups, k):
    distinct = sorted(set(groups))
    if len(distinct) < k:
        with pytest.raises(ValueError, match=f"k must be between 2 and the number of groups, {len(distinct)}, got {k}"):
            sur.folds(groups, k)
        return
    fold = sur.folds(groups, k)
    of = {g: {int(f) for g2, f in zip(groups, fold, strict=True) if g2 == g} for g in distinct}
    assert all(len(f) == 1 for f in of.values())
    sizes = np.bincount([f.pop() for f in of.values()], minlength=k)
    assert sizes.max() - sizes.min() <= 1


# ------------------------------------------------------------------------------------------------ regressions

FITS = {
    "gaussian_process": regression.gaussian_process,
    "extra_trees": lambda x, y: regression.extra_trees(x, y, 50),
    "boosted_trees": regression.boosted_trees,
    "stacked": regression.stacked(regression.gaussian_process, lambda x, y: regression.extra_trees(x, y, 50)),
    "least_squares": regression.least_squares,
}


@pytest.mark.parametrize("name", FITS)
def test_regression_predicts_new_rows_as_well_as_it_says(name):
    """The error of `held_out` must tell the error on new rows, not the (smaller) one on training rows."""
    x, y = waves(80)
    new_x, new_y = waves(300, seed=1)
    fitted = FITS[name](x, y)
    said, true = np.sqrt(((fitted.held_out - y) ** 2).mean()), np.sqrt(((fitted.predict(new_x) - new_y) ** 2).mean())
    assert 0.6 < said / true < 1.7
    if name != "least_squares":  # a straight line cannot
        assert true < 0.6 * new_y.std()


def test_leave_one_out_of_least_squares_is_refitting():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(12, 3)), rng.normal(size=12)
    held_out = regression.least_squares(x, y).held_out
    for i in range(12):
        rest = np.arange(12) != i
        assert held_out[i] == pytest.approx(float(x[i] @ np.linalg.lstsq(x[rest], y[rest])[0]))


def test_leave_one_out_of_gaussian_process_is_conditioning_without_the_row():
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

    x, y = waves(30)
    held_out = regression.gaussian_process(x, y).held_out
    z = (y - y.mean()) / y.std()
    kernel = ConstantKernel(1.0, (1e-2, 1e3)) * Matern(np.ones(2), (0.05, 100.0), nu=2.5) + WhiteKernel(0.1, (1e-4, 2))
    rows = np.argsort(sur.uniforms("gaussian process", [str(i) for i in range(30)]), kind="stable")
    tuned = GaussianProcessRegressor(kernel).fit(x[rows], z[rows]).kernel_
    for i in (0, 7, 29):
        rest = np.arange(30) != i
        alone = GaussianProcessRegressor(tuned, optimizer=None).fit(x[rest], z[rest]).predict(x[[i]])[0]
        assert held_out[i] == pytest.approx(alone * y.std() + y.mean(), abs=1e-8)


def test_stack_prefers_the_better_regression():
    x, y = waves(80)
    useless = lambda x, y: sur.Fitted(lambda new: np.zeros(len(new)), np.zeros(len(y)))  # noqa: E731
    both, alone = regression.stacked(useless, regression.gaussian_process)(x, y), regression.gaussian_process(x, y)
    np.testing.assert_allclose(both.predict(x), alone.predict(x), atol=0.05)


# ------------------------------------------------------------------------------------------------ out of fold


def test_prediction_of_a_cell_does_not_depend_on_its_measurement():
    x, y = waves(60)
    groups = [str(i) for i in range(60)]
    fold = sur.folds(groups, 5)
    fit = FITS["stacked"]
    before, _ = sur.out_of_fold(fit, x, y, fold)
    changed = y.copy()
    changed[17] += 100.0
    after, _ = sur.out_of_fold(fit, x, changed, fold)
    same_fold = fold == fold[17]
    np.testing.assert_array_equal(after[same_fold], before[same_fold])
    assert (after[~same_fold] != before[~same_fold]).all()  # the others did learn from it


def test_unrecorded_targets_are_predicted_and_never_learnt_from():
    x, y = waves(40)
    y[:5] = np.nan
    fold = sur.folds([str(i) for i in range(40)], 4)
    predicted, new = sur.out_of_fold(regression.gaussian_process, x, y, fold, x[:5])
    assert np.isfinite(predicted).all()
    np.testing.assert_allclose(new, regression.gaussian_process(x[5:], y[5:]).predict(x[:5]), atol=0.05)


# ------------------------------------------------------------------------------------------------ noise


def noisy_world(n: int = 1500):
    rng = np.random.default_rng(3)
    predicted = np.column_stack([rng.uniform(0, 10, n), rng.uniform(0, 1, n)])
    normal = rng.multivariate_normal([0, 0], [[1, -0.7], [-0.7, 1]], n)
    residuals = normal * np.column_stack([np.where(predicted[:, 0] < 5, 3.0, 0.3), np.full(n, 0.1)])
    keys = [str(i) for i in range(n)]
    return predicted, residuals, keys


def test_noise_has_the_size_and_correlation_of_the_residuals():
    predicted, residuals, keys = noisy_world()
    noise = sur.residual_noise(predicted, residuals, [keys, keys], keys, "s", local_ranks=True)
    for rows, size in ((predicted[:, 0] < 4.5, 3.0), (predicted[:, 0] > 5.5, 0.3)):
        assert noise[rows, 0].std() == pytest.approx(size, rel=0.15)
    assert noise[:, 1].std() == pytest.approx(0.1, rel=0.1)
    calm = predicted[:, 0] > 5.5
    assert np.corrcoef(noise[calm], rowvar=False)[0, 1] == pytest.approx(-0.7, abs=0.1)
    plain = sur.residual_noise(predicted, residuals, [keys, keys], keys, "s")
    assert -0.6 < np.corrcoef(plain[calm], rowvar=False)[0, 1] < -0.4  # what mixing sizes does to the correlation
    # Independent of the residual that it replaces.
    assert abs(np.corrcoef(noise[:, 1], residuals[:, 1])[0, 1]) < 0.08


def test_residual_correlation_is_not_decided_by_one_row():
    _, residuals, _ = noisy_world()
    residuals = residuals[residuals[:, 0] != 0] / np.abs(residuals).max(axis=0)
    spoiled = residuals.copy()
    spoiled[0] = 1e6
    found, after = sur.residual_correlation(residuals)[0, 1], sur.residual_correlation(spoiled)[0, 1]
    assert -0.75 < found < -0.45
    assert after == pytest.approx(found, abs=0.02)


def test_noise_of_a_cell_ignores_the_residuals_of_its_group():
    predicted, residuals, keys = noisy_world(120)
    groups = [str(i // 2) for i in range(120)]
    before = sur.residual_noise(predicted, residuals, [groups, keys], groups, "s", 20)
    residuals[:2] = np.nan  # as if never recorded
    after = sur.residual_noise(predicted, residuals, [groups, keys], groups, "s", 20)
    # The correlation matrix loses two of 120 rows, which moves the second metric's level a little.
    np.testing.assert_array_equal(after[:2, 0], before[:2, 0])


def test_shared_keys_share_the_noise():
    predicted, residuals, keys = noisy_world(60)
    predicted[1] = predicted[0]
    groups = ["0", "0", *keys[2:]]
    noise = sur.residual_noise(predicted, residuals, [groups, keys], groups, "s", 20)
    assert noise[0, 0] == noise[1, 0]
    assert noise[0, 1] != noise[1, 1]


def test_error_in_closed_form():
    e = sur.error(np.array([1.0, 2.0, 3.0, np.nan]), np.array([1.0, 3.0, 2.0, 7.0]))
    assert e.r2 == pytest.approx(1 - (2 / 3) / (2 / 3))
    assert e.tau == pytest.approx(1 / 3)
    assert e.rmse == pytest.approx((2 / 3) ** 0.5)


@pytest.mark.parametrize("scale", [sur.LINEAR, sur.LOG, sur.logit(100.0)], ids=lambda s: s.name)
def test_scales_invert(scale):
    v = np.array([0.01, 1.0, 50.0, 99.0])
    np.testing.assert_allclose(scale.back(scale.to(v)), v, rtol=1e-12)


# ------------------------------------------------------------------------------------------------ what ships


@pytest.mark.parametrize("pair", PAIRS)
def test_shipped_values_are_physical_and_rounded(pair):
    table = store.load(f"nmthpo/{pair}-grid", "surrogate")
    assert table.provenance.kind == "surrogate"
    assert len(table) == len(nmthpo.grid(pair))
    assert table.metric_names == tuple(fit_nmthpo.RULES)
    for metric, rule in fit_nmthpo.RULES.items():
        v = table.final(metric)
        assert (v >= rule.low).all(), metric
        assert (v <= rule.high).all(), metric
        np.testing.assert_allclose(v / rule.step, np.rint(v / rule.step), rtol=0, atol=1e-6, err_msg=metric)


def test_shipped_files_are_small():
    assert (fit_nmthpo.DATA / "nmthpo.npz").stat().st_size < 100_000
    assert (fit_nmthpo.DATA / "nmthpo_fit.csv").stat().st_size < 10_000


@pytest.mark.measured
@pytest.mark.parametrize("pair", PAIRS)
def test_same_configurations_in_the_same_order(pair):
    for name in (f"nmthpo/{pair}", f"nmthpo/{pair}-grid"):
        measured, embedded = store.load(name, "measured"), store.load(name, "surrogate")
        assert measured.keys == embedded.keys
        assert measured.space == embedded.space
        assert measured.metrics == embedded.metrics
        np.testing.assert_array_equal(measured.features, embedded.features)


@pytest.mark.measured
@pytest.mark.parametrize("pair", PAIRS)
def test_no_measurement_travels_in_disguise(pair):
    """Shipped values coincide with measured ones as often as they do with those of the neighbouring ranks.

    The number of parameters is exempt: it is arithmetic, and nobody has to train a model to know it.
    """
    measured, embedded = store.load(f"nmthpo/{pair}", "measured"), store.load(f"nmthpo/{pair}", "surrogate")
    for metric in ("bleu", "decoding_seconds", "perplexity", "gpu_memory"):
        a, b = measured.final(metric), embedded.final(metric)
        rank = np.argsort(np.argsort(a, kind="stable"), kind="stable")
        by_rank = np.sort(a)
        chance = np.mean([(by_rank[np.clip(rank + s, 0, len(a) - 1)] == b).mean() for s in (-3, -2, -1, 1, 2, 3)])
        deviation = np.sqrt((chance + 1 / len(a)) / len(a))
        assert (a == b).mean() <= chance + 4 * deviation, metric


@pytest.mark.measured
@pytest.mark.parametrize("pair", PAIRS)
def test_landscape_is_about_as_hard_as_the_measured(pair):
    from hpo_envs.benchmarks.papers.nmthpo.landscape import agreement, landscape

    measured, embedded = store.load(f"nmthpo/{pair}", "measured"), store.load(f"nmthpo/{pair}", "surrogate")
    a, b = landscape(measured), landscape(embedded)
    assert abs(a["best"] - b["best"]) < 0.6
    for q in (0.99, 0.9, 0.5):
        assert abs(a[f"quantile {q}"] - b[f"quantile {q}"]) < 0.6
    for effort in ("evaluations to top 1%", "evaluations to best - 0.5"):
        assert 1 / 4 <= a[effort] / b[effort] <= 4
    common = agreement(measured, embedded)
    assert common["importance, rank correlation"] > 0.75
    assert common["importance, largest difference"] < 0.1


def test_documented_numbers_are_the_committed_ones():
    from hpo_envs.benchmarks.papers.nmthpo.landscape import markdown

    page = ROOT / "docs" / "embedded-tables.md"
    for line in markdown().splitlines():
        assert line in page.read_text(encoding="utf-8")


@pytest.mark.measured
def test_committed_landscape_is_that_of_the_shipped_values():
    from hpo_envs.benchmarks.papers.nmthpo import landscape as comparison

    with open(comparison.OUT) as file:
        committed = list(csv.DictReader(file))
    assert [row for row in committed if row["table"] == "jaen"] == comparison.compare("jaen")


def test_expected_evaluations_in_closed_form():
    from hpo_envs.benchmarks.papers.nmthpo.landscape import evaluations_to_reach, pareto_size, top_percent

    v = np.array([3.0, 1.0, 4.0, 1.0, 5.0])
    first = [min(order.index(i) + 1 for i in (2, 4)) for order in map(list, itertools.permutations(range(5)))]
    assert evaluations_to_reach(v, 4.0) == pytest.approx(np.mean(first))
    with pytest.raises(ValueError, match="target must be at most the best value, 5.0, got 6"):
        evaluations_to_reach(v, 6.0)
    assert top_percent(v, 40.0) == 4.0
    assert top_percent(v, 1.0) == 5.0
    assert pareto_size([1, 2, 3, 2], [1, 2, 3, 3]) == 3


def committed_errors() -> dict[tuple[str, str], dict[str, str]]:
    with open(fit_nmthpo.DATA / "nmthpo_fit.csv") as file:
        return {(row["table"], row["metric"]): row for row in csv.DictReader(file)}


@pytest.mark.measured
def test_refitting_gives_what_ships_and_its_committed_error():
    """The smallest pair; `python -m hpo_envs.tables.datasets.nmthpo.fit --check` does this for all."""
    zhen = fit_nmthpo.fit("zhen")
    fit_nmthpo.check({"zhen_values": zhen.grid(), "zhen_measured": zhen.cells})
    for row in fit_nmthpo.report(zhen):
        assert float(committed_errors()["zhen", row["metric"]]["r2"]) == pytest.approx(float(row["r2"]), abs=5e-3)


@pytest.mark.parametrize("change", ["one value much", "many values a little"])
def test_check_rejects_other_values(change):
    with np.load(fit_nmthpo.DATA / "nmthpo.npz") as shipped:
        values = shipped["zhen_values"].copy()
    fit_nmthpo.check({"zhen_values": values})
    if change == "one value much":
        values[3, 0] += 0.5
    else:
        values[: len(values) // 8, 4] += 1.0
    with pytest.raises(ValueError, match="zhen_values must agree with the shipped values"):
        fit_nmthpo.check({"zhen_values": values})


@pytest.mark.measured
def test_committed_errors_are_those_of_the_shipped_values():
    committed = committed_errors()
    assert len(committed) == len(PAIRS) * len(fit_nmthpo.RULES)
    for (pair, metric), row in committed.items():
        y = store.load(f"nmthpo/{pair}", "measured").final(metric)
        y = np.where((metric == "gpu_memory") & (y == 0), np.nan, y)
        e = sur.error(y, store.load(f"nmthpo/{pair}", "surrogate").final(metric))
        assert float(row["r2_noise"]) == pytest.approx(e.r2, abs=6e-4)
        assert float(row["tau_noise"]) == pytest.approx(e.tau, abs=6e-4)


def test_zhen_rows_that_differ_in_bpe_alone_share_what_they_share_upstream():
    table = store.load("nmthpo/zhen", "surrogate")
    groups = np.array(fit_nmthpo.groups("zhen", table.configs))
    twins = [np.flatnonzero(groups == g) for g in np.unique(groups)]
    assert (len(twins), max(len(t) for t in twins)) == (57, 3)
    for metric, rule in fit_nmthpo.RULES.items():
        v = table.final(metric)
        assert all(np.ptp(v[t]) == 0 for t in twins) == (rule.repeated or metric == "parameters"), metric
    fold = sur.folds(list(groups), 20, "nmthpo zhen")
    assert all(len(set(fold[t])) == 1 for t in twins)


def test_same_draws_in_another_process_with_another_hash_seed():
    code = "from hpo_envs.tables.fitting import out_of_fold as s; "
    code += "print(s.folds(list('abcdef'), 3), s.normals('x', ['k'])[0])"
    out = [
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert out[0] == out[1] != ""
