from __future__ import annotations

from dataclasses import fields

import pytest

from hpo_envs.tables.datasets.charmini.names import LANGUAGES
from hpo_envs.tables.datasets.charmini.packing import packing


def test_fields_are_those_of_an_epoch():
    pytest.importorskip("torch")
    from hpo_envs.tables.datasets.charmini.training.run import Epoch

    of = packing("hun")
    assert of.fields == tuple(field.name for field in fields(Epoch))
    assert {*of.counts, *of.losses} == {*of.fields}


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_ships_fits_and_is_complete(language):
    of = packing(language)
    arrays, empty = of.load(), of.pack([])
    assert {name: values.shape for name, values in arrays.items() if name != "machines"} == {
        name: values.shape for name, values in empty.items() if name != "machines"
    }
    assert of.complete(arrays) == {f"{language}-lstm": 64, f"{language}-transformer": 64}
