"""The sixteen hyperparameters of the sweeps, and their conditions."""

from typing import Any

import numpy as np

from hpo_envs.tables.checks import one_of
from hpo_envs.tables.datasets.charhpo import ARCHITECTURES, SCHEDULERS
from hpo_envs.tables.table import Floats, Hyperparameter, active

PLATEAU = ("scheduler", ("reduceonplateau",))
IF_WARMUP = ("scheduler", ("warmupinvsqrt",))
"""Conditions of the hyperparameters of a scheduler."""


def number(name: str, low: float, high: float, text: str, condition: Any = None, log: bool = False) -> Hyperparameter:
    """Return a float hyperparameter with a continuous range."""
    return Hyperparameter(name, "float", low, high, log, (), condition, text)


def grid(name: str, values: tuple[int, ...], text: str, condition: Any = None, log: bool = False) -> Hyperparameter:
    """Return an int hyperparameter with a list of ascending values."""
    return Hyperparameter(name, "int", values[0], values[-1], log, values, condition, text)


def space(architecture: str) -> tuple[Hyperparameter, ...]:
    """The search space of an architecture, in the order of Table 2.

    The learning rate is drawn log-uniformly, the others uniformly. Attention heads and decoder layers of the LSTM are
    fixed at 1 (section 4.1), so that both architectures have the same sixteen names.

    Raises:
        ValueError: The architecture is unknown.
    """
    one_of("architecture", architecture, ARCHITECTURES)
    transformer = architecture == "transformer"
    encoder, decoder, heads = ((2, 4, 6, 8), (2, 4, 6, 8), (2, 4, 8)) if transformer else ((1, 2), (1,), (1,))

    return (
        grid("batch_size", tuple(range(16, 2049, 16)), "Examples a batch."),
        number("learning_rate", 1e-6, 0.01, "Initial learning rate of Adam.", log=True),
        number("beta1", 0.8, 0.999, "Adam's decay of the first moment."),
        number("beta2", 0.98, 0.999, "Adam's decay of the second moment."),
        number("label_smoothing", 0.0, 0.2, "Label smoothing."),
        Hyperparameter("scheduler", "categorical", 0, 2, False, SCHEDULERS, None, "Learning rate scheduler."),
        Hyperparameter(
            "warmup_samples", "int", 100, 5_000_000, False, (), IF_WARMUP, "Warmup in samples, in steps of 100."
        ),
        number("factor", 0.1, 0.9, "Factor by which a plateau reduces the learning rate.", PLATEAU),
        number("min_lr", 1e-7, 1e-3, "Learning rate below which a plateau does not reduce.", PLATEAU),
        grid("patience", (1, 2, 3, 4, 5), "Evaluations without progress that make a plateau.", PLATEAU),
        grid("embedding_size", tuple(range(16, 513, 16)), "Size of the embeddings."),
        grid("hidden_size", tuple(range(64, 2049, 64)), "Size of the hidden layers."),
        grid("encoder_layers", encoder, "Encoder layers."),
        grid("decoder_layers", decoder, "Decoder layers; fixed at 1 for the LSTM."),
        grid("attention_heads", heads, "Attention heads; fixed at 1 for the LSTM."),
        number("dropout", 0.0, 0.5, "Dropout."),
    )


def deactivate(hyperparameters: tuple[Hyperparameter, ...], configs: Floats) -> Floats:
    """A copy of (n, d) raw configurations with inactive hyperparameters at 0 (appendix A)."""
    return np.where(active(hyperparameters, configs), configs, 0.0)
