"""The tokeniser."""

from __future__ import annotations

import pytest

from hpo_envs.tables import hlepor


def test_tokens():
    assert hlepor.tokenize("  Das Haus, das alt ist. Es steht noch. ") == [
        *("das", "haus", ",", "das", "alt", "ist", "."),
        *("es", "steht", "noch", "."),
    ]
    assert hlepor.tokenize("") == []
    assert hlepor.tokenize("Ja", preprocess=str) == ["Ja"]
    with pytest.raises(TypeError, match="text must be a str"):
        hlepor.tokenize(None)
