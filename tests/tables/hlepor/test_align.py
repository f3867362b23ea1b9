"""Alignments: the readings of the position difference."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from hpo_envs.tables import hlepor
from hpo_envs.tables.hlepor import align

HERE = Path(__file__).parent


def own() -> tuple[list[list[str]], list[list[str]]]:
    pairs = json.loads((HERE / "own_segments.json").read_text(encoding="utf-8"))
    return [p["hypothesis"].split() for p in pairs], [p["reference"].split() for p in pairs]


def test_released_variant_equals_the_package():
    """Golden scores of hLepor 0.0.4 on sentences of our own, 20 parameter vectors."""
    golden = json.loads((HERE / "package_golden.json").read_text(encoding="utf-8"))
    hypotheses, references = own()
    scores = hlepor.Basis(hlepor.collect(hypotheses, references, variant="released")).scores(golden["vectors"])
    assert np.array(golden["scores"]).shape == (20, len(hypotheses))
    assert np.abs(scores - golden["scores"]).max() < 1e-11


def test_the_golden_sentences_tell_the_variants_apart():
    golden = json.loads((HERE / "package_golden.json").read_text(encoding="utf-8"))
    for variant in ("paper", "relative"):
        scores = hlepor.Basis(hlepor.collect(*own(), variant=variant)).scores(golden["vectors"])
        assert np.abs(scores - golden["scores"]).max() > 1e-3


def test_the_words_around_a_place_are_those_of_slices() -> None:
    side = [1 << k for k in range(5)]
    for i in range(5):
        described, released = (around(side, i, 14) for around in (align._described_context, align._released_context))
        for n in range(14):
            right = side[i + 1 : i + n + 1]
            assert described[n] == sum({*side[max(i - n, 0) : i], *right})
            assert released[n] == sum({*side[i - n : i], *right})
