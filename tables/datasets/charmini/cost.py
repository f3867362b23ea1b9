"""Formula for the cost of training, the same in the table and in the live environment.

Measured seconds differ between machines and repetitions, so costs are computed by a formula from the configuration. Its
median error on the seconds of the English trainings that ship is 7 per cent (LSTM) and 9 per cent (transformer).
"""

import functools
import math
from collections.abc import Mapping
from typing import Any

from hpo_envs.tables import exact
from hpo_envs.tables.datasets.charmini import DRAWN, ENGLISH, TRAINED_ON, facts
from hpo_envs.tables.datasets.charmini.space import configuration

COEFFICIENTS = {"lstm": (2.6e-4, 0.051, 0.165), "transformer": (1.33e-3, 0.0313, 0.0115)}
"""Seconds per unit of each term of `work`, by architecture, fitted to trainings on one core of a Xeon."""


def work(architecture: str, config: Mapping[str, Any], language: str = ENGLISH) -> tuple[float, float, float]:
    """Return the terms of the cost of an epoch with its evaluation, given natural values of the hyperparameters.

    Returns:
        Updates times the sequential steps of one; then, for the LSTM, billions of multiplications and additions, and 1
        (a constant); for the transformer, thousands of numbers computed per word, and heads times attention layers.
    """
    updates = math.ceil(TRAINED_ON / config["batch_size"])
    of = facts.of(language)
    size, width = config["embedding_size"], config["hidden_size"]
    encoder, decoder = config["encoder_layers"], config["decoder_layers"]
    if architecture == "lstm":
        letter = 4 * width * (size + width // 2) + (encoder - 1) * 4 * width * (width + width // 2)
        phoneme = 4 * width * (size + width) + 3 * width**2 + (of.phonemes + 1) * width
        words = 3 * TRAINED_ON + of.development + of.test  # a backward pass costs two forward passes
        multiplied = 2e-9 * words * (of.word * letter + of.pronunciation * phoneme)
        return float(updates * (2 * encoder * 9 + 11)), multiplied, 1.0
    letter = encoder * (8 * size + 3 * width) + decoder * 2 * size
    phoneme = decoder * (14 * size + 3 * width)
    made = 1e-3 * (of.word * letter + of.pronunciation * phoneme)
    attention = config["attention_heads"] * (encoder + 2 * decoder)
    return float(updates * (2 * encoder + 3 * decoder)), made, float(attention)


@functools.cache
def mean(architecture: str, language: str = ENGLISH) -> float:
    """Mean cost of an epoch of the drawn configurations."""
    costs = (epoch(architecture, configuration(architecture, draw), language) for draw in range(DRAWN))
    return exact.total(costs) / DRAWN


def epoch(architecture: str, config: Mapping[str, Any], language: str = ENGLISH) -> float:
    """Cost of each epoch: about its seconds on one core of the machine on which English was measured."""
    terms = zip(COEFFICIENTS[architecture], work(architecture, config, language), strict=True)
    return exact.total(c * w for c, w in terms)
