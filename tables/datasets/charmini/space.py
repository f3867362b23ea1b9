"""The sixteen hyperparameters of CharHPO in smaller ranges, and the configurations drawn from them."""

import functools
from collections.abc import Mapping
from typing import Any

import numpy as np

from hpo_envs.tables import draws
from hpo_envs.tables.datasets.charhpo import hyperparameters
from hpo_envs.tables.datasets.charhpo.hyperparameters import IF_WARMUP, PLATEAU, deactivate, grid, number
from hpo_envs.tables.datasets.charhpo.space import natural
from hpo_envs.tables.datasets.charmini import ARCHITECTURES, DRAWN
from hpo_envs.tables.table import Floats, Hyperparameter


@functools.cache
def space(architecture: str) -> tuple[Hyperparameter, ...]:
    """Return the search space of an architecture, in the order of CharHPO's; ValueError if it is unknown."""
    decoder = (1, 2) if architecture == "transformer" else (1,)
    smaller = (
        grid("batch_size", tuple(range(32, 257, 16)), "Examples a batch."),
        number("learning_rate", 1e-4, 0.03, "Initial learning rate of Adam.", log=True),
        grid("warmup_samples", tuple(range(100, 20_001, 100)), "Warmup in samples, in steps of 100.", IF_WARMUP),
        grid("patience", (1, 2, 3, 4, 5), "Evaluations without progress that a plateau lasts.", PLATEAU),
        grid("embedding_size", (16, 32, 48, 64), "Size of the embeddings; the transformer's width."),
        grid("hidden_size", tuple(range(32, 129, 16)), "Size of the LSTM; the transformer's feed-forward layers."),
        grid("encoder_layers", (1, 2), "Encoder layers."),
        grid("decoder_layers", decoder, "Decoder layers; fixed at 1 for the LSTM."),
    )
    of_name = {h.name: h for h in smaller}
    return tuple(of_name.get(h.name, h) for h in hyperparameters.space(architecture))


@functools.cache
def drawn(architecture: str) -> Floats:
    """(128, 16) stored numbers of the configurations, in the order of training; inactive hyperparameters are 0."""
    searched = space(architecture)
    key = draws.mix(0x43686172, ARCHITECTURES.index(architecture))
    cells = np.arange(DRAWN * len(searched)).reshape(DRAWN, -1)
    u = draws.uniform_many(draws.mix_many(np.array([[key]], np.uint64), cells))
    return deactivate(searched, np.column_stack([natural(h, x) for h, x in zip(searched, u.T, strict=True)]))


def active(architecture: str, config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the natural values of active hyperparameters, which alone affect training; KeyError if one is missing."""
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
