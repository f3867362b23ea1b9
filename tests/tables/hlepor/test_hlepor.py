"""The hLEPOR metric: parameters and tokens."""

from __future__ import annotations

import pytest

from hpo_envs.tables import hlepor


def test_presets_are_the_published_ones():
    assert hlepor.preset("default") == hlepor.Parameters(9, 1, 2, 2, 1, 7)
    assert hlepor.preset("cushlepor-lm-zh-en").vector() == (2.85, 4.73, 1, 1.01, 11.13, 4.62)
    assert hlepor.preset("cushlepor-psqm-en-de").vector() == (1.13, 1.71, 2, 1.06, 11.9, 1.01)
    with pytest.raises(ValueError, match="did you mean 'cushlepor-lm-en-de'"):
        hlepor.preset("cushlepor-lm-ende")


def test_tokens():
    assert hlepor.tokenize("  Das Haus, das alt ist. Es steht noch. ") == [
        *("das", "haus", ",", "das", "alt", "ist", "."),
        *("es", "steht", "noch", "."),
    ]
    assert hlepor.tokenize("") == []
    assert hlepor.tokenize("Ja", preprocess=str) == ["Ja"]
    with pytest.raises(TypeError, match="text must be a str"):
        hlepor.tokenize(None)
