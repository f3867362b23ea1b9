"""Zhang and Duh 2020: 1,983 transformers on six language pairs.

Each pair has a grid of hyperparameters (Table 1); the cells that failed to train or did not learn were left out by
the authors (footnote 7). `nmthpo/{pair}` has the measured cells; `nmthpo/{pair}-grid` has every cell of the grid in
grid order, the last hyperparameter varying fastest, the missing ones with status `failed`, BLEU 0 and the other metrics
at their worst measured value.

Quirks of the files: a GPU memory of 0 means that it was not recorded (zh-en 1 row, sw-en 25, so-en 9) and is kept; on
zh-en rows that differ only in bpe often share BLEU and perplexity (76 distinct models in 118 rows), so three rows tie
for the best.
"""

import itertools
from typing import Any

import numpy as np

from hpo_envs.tables import catalogue
from hpo_envs.tables.datasets.nmthpo import TABLES
from hpo_envs.tables.files import packs
from hpo_envs.tables.table import FAILED, OK, Floats, Hyperparameter, Metric, Provenance, Table, searched

NAMES = TABLES

UNHASHED = tuple(name for name in TABLES if name.endswith("-grid"))
"""Tables whose actions are values of hyperparameters, not rows."""

METRICS = (
    Metric("bleu", "BLEU", "max", 0.0, 100.0, "Translation accuracy on the validation set."),
    Metric("decoding_seconds", "s", "min", 0.0, 1e5, "GPU wall clock time for decoding the validation set."),
    Metric("perplexity", "", "min", 1.0, 1e6, "Perplexity on the validation set at convergence."),
    Metric("updates", "updates", "min", 0.0, 1e8, "Number of updates until the model converged."),
    Metric("gpu_memory", "MiB", "min", 0.0, 1e6, "GPU memory used for training; 0 = not recorded."),
    Metric("parameters", "", "min", 0.0, 1e11, "Number of model parameters."),
)
"""Columns of the upstream `.evals` files (section 3.4), unnamed there: the second is the decoding time, because
with it, and not with the third, the Pareto fronts are those of the `.fronts` files. Upper bounds of metrics without
one are observation caps."""

PACK = "nmthpo/pack.npz"

DECIMALS = np.array([[2], [4], [6], [0], [0], [0]])
"""Number of decimals of each metric."""

_LAYERS = {"swen": (1, 2, 4, 6), "soen": (1, 2, 4)}


def space(pair: str) -> tuple[Hyperparameter, ...]:
    """The search space of a pair (Table 1), in the column order of the upstream `.hyps` files.

    The scales reproduce upstream's `.hyps_scaled`: logarithmic for embedding size and for the vocabulary of the two
    small pairs, linear otherwise.
    """
    low_resource = pair in _LAYERS
    bpe = (1000, 2000, 4000, 8000, 16000, 32000) if low_resource else (10000, 30000, 50000)
    layers = _LAYERS.get(pair, (2, 4))
    return (
        Hyperparameter("bpe", "int", bpe[0], bpe[-1], low_resource, bpe, None, "Number of BPE symbols."),
        Hyperparameter("layers", "int", layers[0], layers[-1], False, layers, None, "Encoder and decoder layers."),
        Hyperparameter("embed", "int", 256, 1024, True, (256, 512, 1024), None, "Embedding size."),
        Hyperparameter("hidden", "int", 1024, 2048, False, (1024, 2048), None, "Hidden units of a layer."),
        Hyperparameter("heads", "int", 8, 16, False, (8, 16), None, "Self-attention heads."),
        Hyperparameter(
            "init_lr", "float", 0.0003, 0.001, False, (0.0003, 0.0006, 0.001), None, "Initial learning rate of Adam."
        ),
    )


def grid(pair: str) -> Floats:
    """(cells, 6) all configurations of a pair's grid, the last hyperparameter varying fastest."""
    return np.array(list(itertools.product(*(h.values for h in space(pair)))), dtype=np.float64)


def shipped(name: str) -> Table:
    """Build a table from the pack."""
    pair = _pair(name)
    data = packs.read(PACK, pair)
    index, cells, evals = data["cells"], grid(pair), packs.unscaled(data["evaluations"], DECIMALS).T
    if name.endswith("-grid"):
        values = np.tile(evals.max(axis=0), (len(cells), 1))
        values[:, 0] = 0.0
        values[index] = evals
        status = np.full(len(cells), FAILED, np.uint8)
        status[index] = OK
        note = (
            f"{len(cells) - len(index)} of {len(cells)} grid cells failed to train or did not learn (footnote 7): "
            "BLEU 0, the other metrics at their worst measured value."
        )
        provenance = catalogue.provenance("nmthpo", "measured", note)
        return _assemble(name, cells, values, provenance, status=status[:, None])
    return _assemble(name, cells[index], evals, catalogue.provenance("nmthpo", "measured"))


def _assemble(name: str, configs: Floats, values: Floats, provenance: Provenance, **status: Any) -> Table:
    """Make a Table of (rows, 6) configurations and (rows, 6) metrics; the cost is column 3, the number of updates."""
    hyperparameters = space(_pair(name))
    shown = {v: f"{v:g}" for h in hyperparameters for v in h.values}
    keys = tuple("-".join(map(shown.__getitem__, config)) for config in configs.tolist())
    axes, values = searched(hyperparameters, configs), values[:, None, None, :]
    return Table(name, keys, METRICS, values, values[..., 3], provenance, "updates", **axes, **status)


def _pair(name: str) -> str:
    return name.partition("/")[2].removesuffix("-grid")
