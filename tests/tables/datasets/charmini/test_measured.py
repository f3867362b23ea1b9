from __future__ import annotations

from dataclasses import fields

import pytest

from hpo_envs.tables.datasets.charmini.measured import PACKING


def test_fields_are_those_of_an_epoch():
    pytest.importorskip("torch")
    from hpo_envs.tables.datasets.charmini.training.run import Epoch

    assert PACKING.fields == tuple(field.name for field in fields(Epoch))
    assert {*PACKING.counts, *PACKING.losses} == {*PACKING.fields}


def test_what_ships_fits():
    arrays = PACKING.load()
    assert set(arrays) == set(PACKING.pack([]))
    assert arrays["counts"].shape == PACKING.pack([])["counts"].shape
