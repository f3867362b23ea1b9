"""What a training costs, by a formula: the same in the table and where models are really trained.

Seconds of one core are different on every machine and never the same twice, so costs are what a formula says of the
configuration: its updates times the layers and steps that each takes one after the other, and its multiplications.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from hpo_envs.tables.datasets.charmini.names import SPLITS

LETTERS, PHONEMES = 6.7, 6.65
"""Mean letters of a word, and phonemes with the end."""

_SYMBOLS = 40
_PASSES = 3
"""Forward, and twice as much backward."""

COEFFICIENTS = {"lstm": (4.2e-4, 0.062), "transformer": (6.5e-3, 0.096)}
"""Seconds of a layer's step in an update, and of 10^9 multiplications and additions, by architecture."""


def work(architecture: str, config: Mapping[str, Any]) -> tuple[float, float]:
    """Steps of layers, and 10^9 multiplications and additions, of an epoch with its evaluation.

    Args:
        architecture: `lstm` or `transformer`.
        config: Natural values.
    """
    updates = math.ceil(SPLITS["train"] / config["batch_size"])
    size, width = config["embedding_size"], config["hidden_size"]
    encoder, decoder = config["encoder_layers"], config["decoder_layers"]
    if architecture == "lstm":
        steps = updates * (2 * encoder * 9 + 11)
        letter = 4 * width * (size + width // 2) + (encoder - 1) * 4 * width * (width + width // 2)
        phoneme = 4 * width * (size + width) + 3 * width**2 + _SYMBOLS * width
    else:
        steps = updates * (2 * encoder + 3 * decoder)
        feed = 2 * size * width
        letter = encoder * (4 * size**2 + feed) + decoder * 2 * size**2
        phoneme = decoder * (6 * size**2 + feed) + _SYMBOLS * size
    words = _PASSES * SPLITS["train"] + SPLITS["development"] + SPLITS["test"]
    return float(steps), 2e-9 * words * (LETTERS * letter + PHONEMES * phoneme)


def epoch(architecture: str, config: Mapping[str, Any]) -> float:
    """Cost of each epoch: about the seconds that it takes a core of the machine that the table was measured on."""
    return sum(c * w for c, w in zip(COEFFICIENTS[architecture], work(architecture, config), strict=True))
