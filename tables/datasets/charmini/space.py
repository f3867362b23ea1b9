"""The sixteen hyperparameters of CharHPO in smaller ranges, and the configurations drawn from them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from hpo_envs.tables import draws
from hpo_envs.tables.checks import one_of
from hpo_envs.tables.datasets.charhpo.hyperparameters import PLATEAU, SCHEDULER, WARMUP, deactivate, grid, number
from hpo_envs.tables.datasets.charhpo.space import natural
from hpo_envs.tables.datasets.charmini import ARCHITECTURES, DRAWN
from hpo_envs.tables.table import Floats, Hyperparameter

_KEY = 0x43686172
"""Seed of the draws of the configurations."""


def space(architecture: str) -> tuple[Hyperparameter, ...]:
    """The search space of an architecture, in the order of CharHPO's.

    Raises:
        ValueError: No such architecture.
    """
    one_of("architecture", architecture, ARCHITECTURES)
    decoder, heads = ((1, 2), (2, 4, 8)) if architecture == "transformer" else ((1,), (1,))

    warmups = tuple(range(100, 20_001, 100))
    return (
        grid("batch_size", tuple(range(32, 257, 16)), "Examples a batch."),
        number("learning_rate", 1e-4, 0.03, "Initial learning rate of Adam.", log=True),
        number("beta1", 0.8, 0.999, "Adam's decay of the first moment."),
        number("beta2", 0.98, 0.999, "Adam's decay of the second moment."),
        number("label_smoothing", 0.0, 0.2, "Label smoothing."),
        SCHEDULER,
        grid("warmup_samples", warmups, "Warmup in samples, in steps of 100.", WARMUP),
        number("factor", 0.1, 0.9, "Factor by which a plateau reduces the learning rate.", PLATEAU),
        number("min_lr", 1e-7, 1e-3, "Learning rate below which a plateau does not reduce.", PLATEAU),
        grid("patience", (1, 2, 3, 4, 5), "Evaluations without progress that a plateau lasts.", PLATEAU),
        grid("embedding_size", (16, 32, 48, 64), "Size of the embeddings; the transformer's width."),
        grid("hidden_size", tuple(range(32, 129, 16)), "Size of the LSTM; the transformer's feed-forward layers."),
        grid("encoder_layers", (1, 2), "Encoder layers."),
        grid("decoder_layers", decoder, "Decoder layers; fixed at 1 for the LSTM."),
        grid("attention_heads", heads, "Attention heads; fixed at 1 for the LSTM."),
        number("dropout", 0.0, 0.5, "Dropout."),
    )


def drawn(architecture: str) -> Floats:
    """(128, 16) the configurations in the order in which they are trained, inactive hyperparameters at 0."""
    hyperparameters = space(architecture)
    key = draws.mix(_KEY, ARCHITECTURES.index(architecture))
    cells = np.arange(DRAWN * len(hyperparameters)).reshape(DRAWN, -1)
    u = draws.uniform_many(draws.mix_many(np.array([[key]], np.uint64), cells))
    return deactivate(
        hyperparameters, np.column_stack([natural(h, x) for h, x in zip(hyperparameters, u.T, strict=True)])
    )


def active(architecture: str, config: Mapping[str, Any]) -> dict[str, Any]:
    """A configuration of natural values without the inactive ones, which do not affect training.

    Raises:
        KeyError: An active hyperparameter is missing.
    """
    kinds: dict[str, Any] = {"int": int, "float": float, "categorical": str}
    return {
        h.name: kinds[h.kind](config[h.name])
        for h in space(architecture)
        if h.condition is None or config[h.condition[0]] in h.condition[1]
    }


def configuration(architecture: str, draw: int) -> dict[str, Any]:
    """The active natural values of a drawn configuration."""
    pairs = zip(space(architecture), drawn(architecture)[draw], strict=True)
    return active(architecture, {h.name: h.natural(value) for h, value in pairs})
