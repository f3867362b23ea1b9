"""Expected results of random search, in closed form."""

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpo_envs.benchmarks.analysis.statistics import expected_best
from hpo_envs.tables import store
from hpo_envs.tables.datasets.charhpo import build as charhpo

GRID = np.array([1, 2, 5, 10, 20, 50, 100, 150])


def z_values(best: Any, accuracy: Any, replacement: bool = False) -> Any:
    """(budgets,) z of the means of (runs, 200) best-so-far values; 0 where the closed form has no spread."""
    mean, deviation = expected_best(accuracy, GRID, replacement)
    error = deviation / np.sqrt(len(best))
    gap = best[:, GRID - 1].mean(axis=0) - mean
    assert np.abs(gap[error < 1e-9]).max(initial=0.0) < 1e-9
    return np.where(error < 1e-9, 0.0, gap / np.maximum(error, 1e-9))


@given(st.lists(st.integers(-5, 5), min_size=1, max_size=6), st.booleans(), st.data())
def test_closed_form_equals_enumeration(values: list[int], replacement: bool, data: st.DataObject) -> None:
    b = data.draw(st.integers(1, 3 if replacement else min(4, len(values))))
    draws = itertools.product(values, repeat=b) if replacement else itertools.permutations(values, b)
    best = [max(d) for d in draws]
    mean, deviation = expected_best(values, [b], replacement)
    assert mean[0] == pytest.approx(np.mean(best), abs=1e-9)
    assert deviation[0] == pytest.approx(np.std(best), abs=1e-7)


def test_whole_table_is_certain_without_replacement() -> None:
    values = np.random.default_rng(0).normal(size=1000)
    mean, deviation = expected_best(values, replacement=False)
    assert mean[-1] == pytest.approx(values.max())
    assert deviation[-1] == pytest.approx(0.0, abs=1e-6)
    assert (np.diff(mean) > -1e-12).all()
    assert mean[0] == pytest.approx(values.mean())


def test_closed_form_equals_simulation_on_every_sweep() -> None:
    rng = np.random.default_rng(0)
    z, with_replacement = [], []
    for name in charhpo.NAMES:
        accuracy = store.load(name).final("accuracy")
        order = rng.permuted(np.tile(accuracy, (500, 1)), axis=1)
        best = np.maximum.accumulate(order, axis=1)
        z.append(z_values(best, accuracy))
        with_replacement.append(z_values(best, accuracy, True))
    # 95.4 % of independent cells would lie within two standard errors.
    assert (np.abs(z) <= 2).mean() > 0.92
    assert np.abs(np.mean(z)) < 0.4  # cells of a sweep depend on each other: two standard deviations of 24
    # Teeth: with replacement the curve is another one, once a search has seen much of its table.
    assert (np.array(with_replacement)[:, -2] > 2).mean() > 0.7


@pytest.mark.parametrize(
    ("values", "budgets", "replacement", "message"),
    [
        ([1.0, np.nan], None, True, "finite"),
        ([], None, True, "shape"),
        ([1.0, 2.0], [0], True, "ints >= 1, got"),
        ([1.0, 2.0], [1.5], True, "ints >= 1, got"),
        ([1.0, 2.0], [3], False, "<= 2, got"),
    ],
)
def test_errors(values: list[float], budgets: object, replacement: bool, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        expected_best(values, budgets, replacement)  # type: ignore[arg-type]
