"""Functions of one number in loops have the bits of those of arrays, compiled or as Python runs them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hpo_envs.tables import draws, exact
from hpo_envs.tables.datasets.charhpo import scalars

RNG = np.random.default_rng(0)
NUMBERS = np.concatenate([RNG.uniform(-700.0, 700.0, 300), RNG.normal(size=300), [0.0, -0.0, 1.0, -690.0, 700.0]])


@pytest.mark.parametrize(
    "one,many,x",
    [
        (scalars.exp, exact.exp, NUMBERS),
        (scalars.log, exact.log, np.exp(NUMBERS)),
        (scalars.log, exact.log, RNG.random(300)),
    ],
)
def test_functions_have_the_bits_of_arrays(one: Any, many: Any, x: Any) -> None:
    assert [one(v) for v in x.tolist()] == many(x).tolist()


def test_angles_and_draws_have_the_bits_of_arrays() -> None:
    keys = RNG.integers(0, 2**64, 300, dtype=np.uint64)
    with np.errstate(over="ignore"):
        mixed = np.array([scalars.mix(key, np.uint64(3)) for key in keys], np.uint64)
    assert (mixed == draws.mix_many(keys, 3)).all()
    u = draws.uniform_many(mixed)
    assert [scalars.uniform(bits) for bits in mixed] == u.tolist()
    assert scalars.uniform(np.uint64(2**64 - 1)) == draws.uniform(2**64 - 1) < 1.0
    assert np.array([scalars.circle(v) for v in u.tolist()]).T.tobytes() == np.array(exact.circle(u)).tobytes()
