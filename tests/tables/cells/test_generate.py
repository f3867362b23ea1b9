"""The generator."""

from __future__ import annotations

import numpy as np
import pytest

from hpo_envs.tables import cells
from hpo_envs.tables.cells.generate import HIDDEN


def test_generated_cells_obey_the_rules_and_the_seed() -> None:
    one, two = (
        [cells.generate(rng) for _ in range(60)] for rng in (np.random.default_rng(3), np.random.default_rng(3))
    )
    assert one == two
    assert all(cells.accepted(c) for c in one)
    assert {c.hidden for c in one} == {1, 2, 3}
    assert sum(HIDDEN) == pytest.approx(1.0)
    assert all(c.hidden == 2 for c in (cells.generate(np.random.default_rng(i), hidden=2) for i in range(5)))


@pytest.mark.parametrize("kwargs", [{"hidden": 0}, {"hidden": 4}, {"nodes": 5}, {"nodes": 25}])
def test_generator_arguments(kwargs: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="must be None or an int in"):
        cells.generate(np.random.default_rng(0), **kwargs)
