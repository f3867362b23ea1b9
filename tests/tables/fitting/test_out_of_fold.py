import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hpo_envs.tables.fitting import out_of_fold as sur
from hpo_envs.tables.fitting import regression


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
