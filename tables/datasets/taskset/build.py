"""TaskSet's recurrent classifiers of reviews (Metz et al. 2020), from the copy of releaunifreiburg/DPL.

Each table has the same 1,000 configurations of Adam with eight hyperparameters, drawn log-uniformly, one run each of
10,000 updates. Upstream has three losses every 200 updates. Those of `KEPT` ship, rounded to `DIGITS` decimals and at
most `HIGHEST`. A run has diverged from its first NaN loss on; it ends at the next checkpoint, whose cost counts.
Seconds were not recorded.
"""

import numpy as np

from hpo_envs.tables import catalogue
from hpo_envs.tables.datasets.taskset import DIGITS, HIGHEST, KEPT, STEPS, TABLES, TASKS
from hpo_envs.tables.files import packs
from hpo_envs.tables.table import DIVERGED, OK, Hyperparameter, Metric, Table, searched

NAMES = TABLES

PACK = "taskset/pack.npz"

FILES = {name: f"taskset/FixedTextRNNClassification_imdb_{task}.json" for name, task in TASKS.items()}
"""Name in ids -> upstream's file."""

PARTS = {"validation_loss": "valid", "training_loss": "train", "test_loss": "test"}
"""Metric -> its name upstream."""

METRICS = (
    Metric("validation_loss", "nats", "min", 0.0, HIGHEST, "Mean negative log-likelihood of validation reviews."),
    Metric("training_loss", "nats", "min", 0.0, HIGHEST, "Mean negative log-likelihood of training reviews."),
    Metric("test_loss", "nats", "min", 0.0, HIGHEST, "Mean negative log-likelihood of test reviews."),
)

HELD_OUT = ("test_loss",)
"""Metrics that agents must not see."""


def _decades(name: str, low: int, high: int, description: str, complement: bool = False) -> Hyperparameter:
    ends = float(f"1e{low}"), float(f"1e{high}")
    return Hyperparameter(name, "float", *ends, log=True, description=description, complement=complement)


SPACE = (
    _decades("learning_rate", -8, 1, "Initial learning rate."),
    _decades("beta1", -4, 0, "Decay of the mean of gradients.", complement=True),
    _decades("beta2", -6, 0, "Decay of the mean of squared gradients.", complement=True),
    _decades("epsilon", -10, 3, "Added to the root of squared gradients."),
    _decades("l1", -8, 1, "Weight of the sum of absolute parameters in the loss."),
    _decades("l2", -8, 1, "Weight of the sum of squared parameters in the loss."),
    _decades("linear_decay", -7, -4, "Linear decay of the learning rate, a part of it each update."),
    _decades("exponential_decay", -6, -3, "Exponential decay of the learning rate, a rate each update."),
)
"""The search space; see Metz et al. (2020), appendix on the optimizer Adam8p."""


def shipped(name: str) -> Table:
    """Build a table from the pack."""
    data, configs = packs.read(PACK, name.partition("/")[2]), packs.read(PACK, "all")["configs"]
    values = np.stack([packs.unscaled(data[m.name], DIGITS) for m in METRICS], axis=-1)
    values[np.arange(len(KEPT)) >= data["ends"][:, None]] = np.nan
    levels = np.array(KEPT, np.float64) * STEPS
    status = np.where(data["ends"] < len(KEPT), DIVERGED, OK).astype(np.uint8)
    return Table(
        name, tuple(f"draw-{draw:03d}" for draw in range(len(configs))), METRICS, values[:, None],
        np.broadcast_to(levels, (len(configs), 1, len(KEPT))),
        catalogue.provenance("taskset", "measured", file=FILES[name.partition("/")[2]]), "updates",
        levels=levels, level_unit="updates", status=status[:, None], **searched(SPACE, configs),
    )  # fmt: skip
