"""Arithmetic with the same bits everywhere is close to NumPy's, and independent of the batch."""

import math
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest

from hpo_envs.tables import exact

RNG = np.random.default_rng(0)
WIDE, NEAR = RNG.uniform(-700.0, 700.0, 5_000), RNG.normal(size=5_000) * np.array([[1.0], [1e-3], [1e-9]])
NUMBERS = np.concatenate([WIDE, NEAR.ravel()])
LEVELS = np.concatenate([RNG.random(5_000), np.exp(RNG.uniform(-36.0, -1.0, 500)), 1.0 - RNG.random(500) / 1e9])

CASES: dict[str, tuple[Any, Any, Any, int]] = {
    "exp": (exact.exp, np.exp, NUMBERS, 1),
    "log": (exact.log, np.log, np.concatenate([np.exp(WIDE), RNG.uniform(0.5, 2.0, 5_000)]), 2),
    "log10": (exact.log10, np.log10, RNG.uniform(1e-6, 1e6, 5_000), 4),
    "tanh": (exact.tanh, np.tanh, NUMBERS, 6),
}


@pytest.mark.parametrize("name", CASES)
def test_functions_are_numpys_within_few_units_in_last_place(name: str) -> None:
    ours, numpys, x, units = CASES[name]
    want = numpys(x)
    assert (np.abs(ours(x) - want) <= units * np.spacing(np.abs(want))).all()


@pytest.mark.parametrize("name", [*CASES, "normal_quantile"])
def test_number_has_same_bits_alone_and_in_any_array(name: str) -> None:
    f, x = (CASES[name][0], CASES[name][2]) if name in CASES else (exact.normal_quantile, LEVELS)
    many = f(x)
    some = range(0, len(x), 7)
    assert b"".join(f(x[i : i + 1]).tobytes() for i in some) == many[some].tobytes()
    assert f(x[:6].reshape(2, 3)).tobytes() == many[:6].tobytes()
    if name != "tanh":  # which takes arrays only
        assert isinstance(f(float(x[0])), float)


def test_ends_of_range() -> None:
    x = np.array([np.inf, -np.inf, np.nan, 0.0, 1e4, -1e4])
    for some in (x, np.tile(x, 3)):
        assert np.array_equal(exact.exp(some)[:6], [np.inf, 0.0, np.nan, 1.0, np.inf, 0.0], equal_nan=True)
        assert np.array_equal(exact.log(some)[:5], [np.inf, np.nan, np.nan, -np.inf, math.log(1e4)], equal_nan=True)
    assert exact.tanh(np.array([np.inf, -np.inf, 0.0, 1e300, -20.0])).tolist() == [1.0, -1.0, 0.0, 1.0, -1.0]
    assert (exact.log(0.0), exact.log(5e-324)) == (-np.inf, pytest.approx(math.log(5e-324), rel=1e-15))
    assert exact.exp(np.zeros((0, 2))).shape == (0, 2)


def test_circle() -> None:
    turns = np.concatenate([np.arange(9) / 8, RNG.random(5_000)])
    cosine, sine = exact.circle(turns)
    assert np.abs(cosine - np.cos(2 * np.pi * turns)).max() < 1e-15
    assert np.abs(sine - np.sin(2 * np.pi * turns)).max() < 1e-15
    for i in range(0, 2_000, 3):
        few = exact.circle(turns[i : i + 3])
        assert (few[0].tobytes(), few[1].tobytes()) == (cosine[i : i + 3].tobytes(), sine[i : i + 3].tobytes())


def test_normal_distribution() -> None:
    quantiles = exact.normal_quantile(LEVELS)
    want = np.array([NormalDist().inv_cdf(p) for p in LEVELS.tolist()])
    assert quantiles == pytest.approx(want, rel=1e-14, abs=1e-15)
    assert exact.normal_level(quantiles) == pytest.approx(LEVELS, abs=2e-15)
    assert exact.normal_level(np.array([-9.0, 0.0, 9.0])).tolist() == [0.0, 0.5, 1.0]


def test_product_is_one_whatever_it_is_computed_with() -> None:
    a, b = RNG.normal(size=(300, 40)), RNG.normal(size=(40, 30))
    many = exact.product(a, b)
    assert many == pytest.approx(a @ b, rel=1e-12, abs=1e-12)
    assert np.concatenate([exact.product(row[None], b) for row in a]).tobytes() == many.tobytes()
    assert exact.product(a.reshape(3, 100, 40), b).tobytes() == many.tobytes()
    assert exact.product(a[0], b).tobytes() == many[0].tobytes()
    assert exact.product(a, b[:, 0]) == pytest.approx(many[:, 0], rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("n", [1, 32, 97, 200])
def test_factors_add_without_rounding(n: int) -> None:
    matrix = RNG.normal(size=(5, n))
    a = RNG.normal(size=(n, 4)) * np.array([1.0, 1e6, 1e-3, 0.0])
    bound = np.abs(a).max()
    got = exact.Factor(matrix).times(a, bound)
    assert got == pytest.approx(matrix @ a, abs=n * bound * 2.0**-20)
    # What needs no more bits than are kept is exact: integers here.
    small, wide = np.rint(matrix * 1e4), np.rint(a)
    products = exact.Factor(small).times(wide, np.abs(wide).max())
    assert products.tolist() == (small.astype(int).astype(object) @ wide.astype(int).astype(object)).tolist()
    # No order of adding changes a bit.
    order = RNG.permutation(n)
    assert exact.Factor(matrix[:, order]).times(a[order], bound).tobytes() == got.tobytes()
    assert exact.Factor(matrix).times(a[:, :1], bound).tobytes() == got[:, :1].tobytes()


def test_rounded_keeps_bits() -> None:
    x = RNG.normal(size=1_000)
    got = exact.rounded(x)
    assert (np.abs(got - x) <= np.abs(x) * 2.0**-40).all()
    assert not (got.view(np.int64) & 0x1FFF).any()
    assert exact.rounded(np.nextafter(got, np.inf)).tobytes() == got.tobytes()
