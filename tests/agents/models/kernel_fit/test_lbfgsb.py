"""Many problems side by side end where SciPy ends with each."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import pytest
from scipy.optimize import minimize

from hpo_envs.agents.models.kernel_fit import lbfgsb
from tests.agents.helpers import RNG

Floats = np.ndarray

LOW, HIGH = np.array([-2.0, -1.0, -0.5]), np.array([2.0, 3.0, 1.0])


def bowls(points: Floats, which: Sequence[int]) -> tuple[Floats, Floats]:
    """Functions of three variables, of which some have their minimum beyond a bound."""
    shift = np.array(which)[:, None] * np.array([0.3, -0.2, 0.4])
    gap = points - shift
    return np.sum(gap**4 + np.cos(3.0 * points), axis=1), 4.0 * gap**3 - 3.0 * np.sin(3.0 * points)


def one(point: Floats, k: int) -> tuple[float, Floats]:
    value, slope = bowls(point[None], [k])
    return float(value[0]), slope[0]


@pytest.mark.parametrize("steps", [1, 2, 5, 200])
@pytest.mark.parametrize("without", [False, True])
def test_minimisers_are_those_of_scipy(steps: int, without: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bit for bit, for any number of iterations, and also where its routine cannot be had."""
    assert lbfgsb._routine() is not None, "this SciPy takes other arguments: estimates are made one at a time"
    if without:
        monkeypatch.setattr(lbfgsb, "_routine", lambda: None)
    starts = RNG(3).uniform(-3.0, 3.0, (9, 3))
    found = lbfgsb.minimise_each(bowls, starts, LOW, HIGH, steps)
    bounds, options = list(zip(LOW, HIGH, strict=True)), {"maxiter": steps}
    for k, (start, point) in enumerate(zip(starts, found, strict=True)):
        first = np.clip(start, LOW, HIGH)
        there = minimize(one, first, (k,), jac=True, method="L-BFGS-B", bounds=bounds, options=options)
        assert point.tobytes() == there.x.tobytes()


def test_functions_are_evaluated_together_and_no_more_once_their_problem_has_ended() -> None:
    asked: list[list[int]] = []

    def both(points: Floats, which: Sequence[int]) -> tuple[Floats, Floats]:
        asked.append(list(which))
        return bowls(points, which)

    lbfgsb.minimise_each(both, RNG(3).uniform(-3.0, 3.0, (9, 3)), LOW, HIGH, 200)
    assert asked[0] == list(range(9))
    assert all(set(later) <= set(earlier) for earlier, later in itertools.pairwise(asked))


def test_another_routine_is_not_trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    """A version that takes other arguments, or means something else by its codes, is noticed."""
    from scipy.optimize import _lbfgsb

    old = lbfgsb.scipy, "__version__", "1.14.1"
    for where, name, other in ((_lbfgsb, "setulb", lambda: None), (lbfgsb, "_WANTS_BOTH", 7), old):
        with monkeypatch.context() as changed:
            changed.setattr(where, name, other)
            lbfgsb._routine.cache_clear()
            with pytest.warns(RuntimeWarning, match="kernels are estimated one at a time, .*SciPy 1.* cannot be used"):
                assert lbfgsb._routine() is None
    lbfgsb._routine.cache_clear()
    assert lbfgsb._routine() is not None
