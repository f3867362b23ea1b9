"""Expected results of random search, in closed form."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpo_envs.benchmarks.analysis.statistics import expected_best


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
