from __future__ import annotations

from dataclasses import fields

import pytest

from hpo_envs.tables.datasets.cellmini.measured import PACKING


def test_fields_are_those_of_an_epoch():
    pytest.importorskip("torch")
    from hpo_envs.tables.datasets.cellmini.training.run import Epoch

    assert PACKING.fields == PACKING.losses == tuple(field.name for field in fields(Epoch))


def test_trainings_are_named_by_cell_and_seed():
    assert PACKING.place("299-1") == (299, 1)
    assert PACKING.complete(PACKING.pack([])) == {"": 0}
