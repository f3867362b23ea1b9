"""Surrogate of a cell's training on WikiText-2: log perplexity curves, seconds, divergence, noise.

Fitted to the measured cells by `python -m hpo_envs.tables.fit_cells` of commit d3d760a3, which reproduces it bit by
bit with OpenBLAS's SkylakeX kernel; `data/cells_report.json` has its held-out error. The probe rounded differently
then, so that 0.6 % of generated cells now reach other leaves. There are five models of curves and seconds, each trained
without one fifth of the cells. The fold of a cell is a hash of its key, and its prediction comes from the model trained
without that fifth, so that the held-out error is the error of the surrogate. The probability of divergence comes from
one model of all cells. Residual noise, drawn once per cell, makes the landscape as rugged as the measured one; smaller
noise per repeat represents the training seed.
"""

import functools
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from hpo_envs.tables import exact
from hpo_envs.tables.cells.canonical import canonical, key
from hpo_envs.tables.cells.probe import probe
from hpo_envs.tables.cells.recipe import EXAMPLES, MAX_LINEAR, OPERATIONS, Cell
from hpo_envs.tables.datasets.nasbenchnlp import CAP, EPOCHS
from hpo_envs.tables.files import atomic
from hpo_envs.tables.table import Floats

SEEDS = 8
"""Number of training seeds of a simulated cell."""

FOLDS = 5
"""Number of models, each trained without the cells of one fold."""

COMPONENTS = 6
"""Number of modelled principal components of the log curves; the last target is the logarithm of seconds per epoch."""

DEPTH = 3
"""Depth of the trees, stored as complete binary trees."""

JITTER = 0.003
"""Relative standard deviation of the seconds of one epoch around the run's mean (median absolute change 0.002)."""

FLOORS = (4.18, 4.18, 3.0)
"""Log perplexity below which no simulated curve can go: validation, test and training.

The first two are the log test perplexity of a fully trained AWD-LSTM, log 65.8 = 4.187, rounded down (Merity et al.
2017, Table 2); curves
are modelled as log(loss - floor).
"""

CONVENTIONAL = frozenset(canonical(cell) for cell in EXAMPLES.values())
"""Conventional cells in canonical form, which never diverge in the surrogate."""


@dataclass(frozen=True)
class SimulatedTraining:
    """One simulated training.

    Attributes:
        losses: (epochs, 3) validation, test and training log perplexity; the last row is NaN if it diverged.
        seconds: (epochs,) wall time of each epoch.
        diverged: Whether the loss became NaN in the last epoch.
        divergence_probability: Predicted probability of divergence.
    """

    losses: Floats
    seconds: Floats
    diverged: bool
    divergence_probability: float


def inputs(cell: Cell) -> Floats:
    """(d,) inputs of the model for a cell: the probe; counts of operations, states, nodes; inputs of linears / 3."""
    features, cell = probe(cell), canonical(cell)
    counts = np.bincount([op for op, _ in cell.nodes], minlength=len(OPERATIONS))
    reads = sum(len(sources) for op, sources in cell.nodes if op == 0)
    return np.concatenate([features, counts, [cell.hidden, len(cell.nodes), reads / MAX_LINEAR]])


def fold(name: str) -> int:
    """Return the fold of a canonical key, a hash in 0 to FOLDS - 1."""
    return int.from_bytes(hashlib.blake2b(f"fold|{name}".encode(), digest_size=8).digest(), "little") % FOLDS


def uniform(*parts: object) -> float:
    """A draw in the open interval (0, 1) that is a hash of its arguments."""
    digest = hashlib.blake2b("|".join(map(str, parts)).encode(), digest_size=8).digest()
    return ((int.from_bytes(digest, "little") >> 11) + 0.5) * 2.0**-53


def uniforms(count: int, *parts: object) -> Floats:
    """(count,) draws `uniform(*parts, i)` for i = 0, 1, ..."""
    start = hashlib.blake2b(("|".join(map(str, parts)) + "|").encode(), digest_size=8)
    digests = []
    for i in range(count):
        digest = start.copy()
        digest.update(b"%d" % i)
        digests.append(digest.digest())
    bits = np.frombuffer(b"".join(digests), "<u8") >> np.uint64(11)
    return (bits.astype(np.float64) + 0.5) * 2.0**-53


@functools.cache
def _parameters() -> dict[str, npt.NDArray[np.float64]]:
    arrays = atomic.read_npz(Path(__file__).parent / "data" / "cells_model.npz")
    return {name: array.astype(np.float64) for name, array in arrays.items()}


def evaluate_trees(x: Floats, features: npt.NDArray[np.intp], thresholds: Floats, leaves: Floats) -> Floats:
    """(...,) sums of complete binary trees at (d,) inputs.

    `features` are the (..., trees, 2**DEPTH - 1) inputs of inner nodes; those up to `thresholds`, of the same shape, go
    left. `leaves` are (..., trees, 2**DEPTH).
    """
    node = np.zeros(features.shape[:-1], dtype=np.intp)
    for _ in range(DEPTH):
        at = node[..., None]
        right = x[np.take_along_axis(features, at, -1)[..., 0]] > np.take_along_axis(thresholds, at, -1)[..., 0]
        node = 2 * node + 1 + right
    return np.asarray(np.take_along_axis(leaves, (node - features.shape[-1])[..., None], -1)[..., 0].sum(axis=-1))


def predict(cell: Cell) -> Floats:
    """(COMPONENTS + 1,) predicted targets of a cell without noise, by the model that was not trained on its fold."""
    return _predict(cell).copy()


@functools.lru_cache(maxsize=65_536)
def _predict(cell: Cell) -> Floats:
    p = _parameters()
    f = fold(key(cell))
    x = inputs(cell)
    trees = evaluate_trees(x, p["features"][f].astype(np.intp), p["thresholds"][f], p["leaves"][f])
    return np.asarray(p["start"][f] + trees)


def divergence_probability(cell: Cell) -> float:
    """Probability that a training diverges (logistic regression on two features of the cell; 0 for `CONVENTIONAL`)."""
    if canonical(cell) in CONVENTIONAL:
        return 0.0
    p = _parameters()
    z = p["divergence"][0] + float(exact.product(divergence_inputs(cell), p["divergence"][1:]))
    return round(1.0 / (1.0 + float(exact.exp(-z))), 6)


def divergence_inputs(cell: Cell) -> Floats:
    """(2,) log10 of the largest state of the untrained network, clipped to [-1, 3], and the number of products."""
    largest = float(np.clip(probe(cell)[3], -1.0, 3.0))
    return np.array([largest, sum(OPERATIONS[op] == "elementwise_prod" for op, _ in canonical(cell).nodes)])


def noise(draws: Floats, p: Mapping[str, Floats]) -> Floats:
    """(COMPONENTS + 1,) residual noise of a cell from as many normal draws: quantiles of held-out residuals."""
    levels = exact.normal_level(exact.product(p["root"], draws)).tolist()
    grid = _grid(p["quantiles"].shape[1])
    return np.array([np.interp(u, grid, q) for u, q in zip(levels, p["quantiles"], strict=True)])


@functools.cache
def _grid(n: int) -> Floats:
    """(n,) the levels of the known quantiles."""
    return np.linspace(0.0, 1.0, n)


def simulate(cell: Cell, repeat: int = 0, name: str = "") -> SimulatedTraining:
    """Simulate the training of a cell; each repeat has its own seed, `name` is the canonical key if known."""
    name, p, n = name or key(cell), _parameters(), COMPONENTS + 1
    # All draws at once: the quantiles of many take hardly longer than those of few.
    draws = [uniforms(n, "cell", name), uniforms(n, "repeat", name, repeat), uniforms(EPOCHS, "seconds", name, repeat)]
    of_cell, of_repeat, jitter = np.split(exact.normal_quantile(np.concatenate(draws)), (n, 2 * n))
    targets = predict(cell) + noise(of_cell, p)
    targets += p["repeat"] * of_repeat
    probability = divergence_probability(cell)
    diverged = uniform("diverges", name) < probability
    return outcome(targets, jitter, name, repeat, diverged, probability)


def curves(above: Floats) -> Floats:
    """(..., EPOCHS, 3) losses from (..., 3 * EPOCHS) values of loss - floor."""
    return np.swapaxes(above.reshape(*above.shape[:-1], len(FLOORS), EPOCHS), -1, -2) + FLOORS


def outcome(
    targets: Floats, jitter: Floats, name: str, repeat: int, diverged: bool, probability: float
) -> SimulatedTraining:
    """Simulated training from (COMPONENTS + 1,) targets and (EPOCHS,) standard normal draws for the seconds."""
    p = _parameters()
    logs = (p["mean"] + exact.product(targets[:-1], p["components"]), targets[-1] + JITTER * jitter)
    numbers = exact.exp(np.concatenate(logs))
    losses = np.asarray(np.round(np.minimum(curves(numbers[:-EPOCHS]), CAP), 4))
    seconds = np.round(numbers[-EPOCHS:], 2)
    if diverged:
        # Half of the measured runs that diverged did so in the first epoch, the others anywhere (release: 4 runs).
        u = uniform("epoch", name, repeat)
        end = 1 if u < 0.5 else 2 + int((u - 0.5) * 2 * (EPOCHS - 2))
        losses, seconds = losses[:end].copy(), seconds[:end]
        losses[-1] = np.nan
    return SimulatedTraining(np.asarray(losses, np.float64), np.asarray(seconds, np.float64), diverged, probability)
