"""The program that makes the embedded segments."""

from __future__ import annotations

import numpy as np

from hpo_envs.tables.datasets.cushlepor import fit as fit_cushlepor
from hpo_envs.tables.datasets.cushlepor import model


def test_surrogate_is_what_its_program_makes():
    made = fit_cushlepor.make()
    with np.load(model.FILE) as shipped:
        assert sorted(shipped) == sorted(made)
        for key, array in made.items():
            assert np.array_equal(shipped[key], array), key
