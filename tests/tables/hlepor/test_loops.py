"""Passes over segments as loops have the bits of NumPy's."""

from __future__ import annotations

import numpy as np
import pytest

from hpo_envs.tables import extras, hlepor
from hpo_envs.tables.hlepor import loops


def test_scores_have_the_bits_of_numpys_form(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ["a b c d", "a cat", "", "nothing alike", "d c b a", ""]
    statistics = hlepor.collect(
        [t.split() for t in texts], [t.split() for t in ["a c b d", "a cat", "x", "else", "a b c d", ""]]
    )
    vectors = np.random.default_rng(0).uniform(0.1, 10.0, (20, 6))
    vectors[:, 2] = np.arange(20) % 9
    vectors[0, 3:] = vectors[1, :2] = 0.0
    found = []
    for form in (None, loops):
        monkeypatch.setattr(extras, "loops", lambda module, form=form: form)
        found.append(hlepor.Basis(statistics).scores(vectors))
    assert found[0].tobytes() == found[1].tobytes()


def test_products_are_those_of_the_centred_numbers() -> None:
    both, other = np.random.default_rng(0).normal(size=(2, 50)), np.arange(50.0)
    centred = both[0] - 0.25
    loops.products(both, 0.25, other)
    assert both.tobytes() == np.array([centred * other, centred * centred]).tobytes()
