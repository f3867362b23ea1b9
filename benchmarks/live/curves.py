"""Training problems of 27 epochs: small models, families of synthetic curves, and recorded learning curves."""

import functools
import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.linear_model import SGDClassifier, SGDRegressor

from hpo_envs.benchmarks.live.problems import Config, halves
from hpo_envs.tables.user.space import Points
from hpo_envs.tuning.objective import Objective

EPOCHS = 27


@dataclass(frozen=True)
class CurveProblem:
    """A training problem with a score after each of `EPOCHS` epochs."""

    name: str
    search_space: Any  # as in `hpo_envs.tune`
    curve: Callable[[Config], Iterator[float]]  # yields the score without noise after each epoch; higher is better
    noise: float = 0.0  # standard deviation of the normal noise of each observed score

    def function(self, config: Config) -> float:
        """Return the score without noise after the last epoch."""
        return [*self.curve(config)][-1]


def _linear(model: Any, data: str, **fixed: Any) -> Iterator[float]:
    """Yield the accuracy or R^2 of a linear model after each epoch of `partial_fit`, at least -1, also if it diverges.

    It is trained on half of 300 rows and scored on the others; the targets of a regression are standardised.
    """
    x, y, v, w = halves(data, 300)
    if y.dtype == np.float64:
        y, w = ((part - y.mean()) / y.std() for part in (y, w))
    for _ in range(EPOCHS):
        try:
            model.partial_fit(x, y, **fixed)
            score = float(model.score(v, w))
        except ValueError as error:  # weights that are not finite
            if "finite" not in str(error) and "overflow" not in str(error):
                raise
            score = -1.0
        yield max(-1.0, score) if math.isfinite(score) else -1.0


def _network(c: Config, data: str) -> Iterator[float]:
    """Yield the accuracy of a network after each epoch of SGD; trained on half of 300 rows, scored on the rest."""
    x, y, v, w = halves(data, 300)
    rng, target = np.random.default_rng(0), np.eye(int(y.max()) + 1)[y]
    sizes = [x.shape[1], *[c["units"]] * c["layers"], target.shape[1]]
    weights = [c["scale"] * rng.normal(size=(m, n)) / math.sqrt(m) for m, n in itertools.pairwise(sizes)]
    speed = [np.zeros_like(weight) for weight in weights]
    act, slope = ACTIVATIONS[c["activation"]]
    for _ in range(EPOCHS):
        order = rng.permutation(len(x))
        with np.errstate(all="ignore"):
            for first in range(0, len(x), c["batch"]):
                rows = order[first : first + c["batch"]]
                layers = [x[rows]]
                for weight in weights[:-1]:
                    layers.append(act(layers[-1] @ weight))
                logits = layers[-1] @ weights[-1]
                odds = np.exp(logits - logits.max(axis=1, keepdims=True))
                error = (odds / odds.sum(axis=1, keepdims=True) - target[rows]) / len(rows)
                for k in reversed(range(len(weights))):
                    step = layers[k].T @ error + c["decay"] * weights[k]
                    error = (error @ weights[k].T) * slope(layers[k]) if k else error
                    speed[k] = c["momentum"] * speed[k] - c["lr"] * step
                    weights[k] = weights[k] + speed[k]
            top = functools.reduce(lambda z, weight: act(z @ weight), weights[:-1], v)
            yield float(np.mean((top @ weights[-1]).argmax(axis=1) == w))


ACTIVATIONS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "relu": (lambda z: np.maximum(z, 0.0), lambda a: a > 0.0),
    "tanh": (np.tanh, lambda a: 1.0 - a * a),
}
"""Activation functions, and their derivatives as functions of the activation."""


def factors(c: Config) -> Iterator[float]:
    """Yield minus the error (RMSE, at most 2) of a matrix factorisation on held-out entries, after each epoch."""
    rng = np.random.default_rng(60)
    truth = rng.normal(size=(60, 3)) @ rng.normal(size=(3, 40)) / math.sqrt(3.0) + 0.5 * rng.normal(size=(60, 40))
    known = rng.random((60, 40)) < 0.35
    a, b = (c["scale"] * rng.normal(size=(n, c["rank"])) for n in (60, 40))
    velocity = [np.zeros_like(a), np.zeros_like(b)]
    for _ in range(EPOCHS):
        for _ in range(4):
            with np.errstate(all="ignore"):
                error = np.where(known, truth - a @ b.T, 0.0)
                slopes = error @ b - c["decay"] * a, error.T @ a - c["decay"] * b
                velocity = [c["momentum"] * v + c["lr"] * s for v, s in zip(velocity, slopes, strict=True)]
                a, b = a + velocity[0], b + velocity[1]
        with np.errstate(all="ignore"):
            loss = float(np.sqrt(np.mean((truth - a @ b.T)[~known] ** 2)))
        yield -min(loss, 2.0) if math.isfinite(loss) else -2.0


def _traits(c: Config) -> tuple[float, float, float]:
    """Return quality, speed in [0, 1] and distance below the edge of divergence of a synthetic configuration."""
    x = np.array(
        [math.log10(c["lr"]) / 4.0 + 1.0, c["depth"] / 9.0, c["drop"] / 0.6, math.log10(c["decay"]) / 5.0 + 1.0]
    )
    offset = {"relu": 0.0, "tanh": 0.08, "gelu": -0.05}[c["act"]]
    centre = np.array([0.62 + offset, 0.55, 0.3, 0.45])
    d = np.array([3.0, 1.0, 0.7, 0.5]) * (x - centre) ** 2
    ripple = 0.03 * (1.0 - math.cos(9.0 * (x[1] - centre[1]) + 6.0 * (x[2] - centre[2])))
    quality = math.exp(-2.0 * float(d.sum())) - ripple - 0.4 * abs(offset)
    return (
        quality,
        float(np.clip(0.8 * x[0] + 0.2 * (1.0 - x[1]), 0.0, 1.0)),
        0.78 + offset - x[0] - 0.15 * (x[1] - 0.5),
    )


def _synthetic(shape: Callable[..., float]) -> Callable[[Config], Iterator[float]]:
    def curve(c: Config) -> Iterator[float]:
        traits = _traits(c)
        return (shape(*traits, epoch / EPOCHS, c) for epoch in range(1, EPOCHS + 1))

    return curve


def crossing(quality: float, speed: float, edge: float, t: float, c: Config) -> float:
    """Return the score at fraction t of a training, where the best trainings are slow and fast ones lead at first."""
    good = max(quality, 0.0)
    return quality * (1.0 - math.exp(-t / (0.02 + 0.5 * good**2 * (1.2 - speed))))


def overfitting(quality: float, speed: float, edge: float, t: float, c: Config) -> float:
    """Return the score at fraction t of a training; it falls late, earlier with more capacity and less dropout."""
    capacity: float = 0.5 + 0.05 * c["depth"] - c["drop"] + 0.3 * speed
    return quality * (1.0 - math.exp(-t / 0.1)) - 0.5 * capacity * max(0.0, t - 0.7 + 0.5 * capacity)


def slow(quality: float, speed: float, edge: float, t: float, c: Config) -> float:
    """Return the score at fraction t of a training; the better its final score, the later its steep rise begins."""
    begin = 0.55 * max(quality, 0.0)
    return 0.3 * (1.0 - quality) * t + quality * max(0.0, t - begin) / (1.0 - begin)


def diverging(quality: float, speed: float, edge: float, t: float, c: Config) -> float:
    """Return the score at fraction t of a training; beyond the best learning rates, it leads until it collapses."""
    good = (quality + 0.3 * speed) * (1.0 - math.exp(-t / 0.15))
    return good if edge > 0.0 or t < 0.15 + 0.4 * math.exp(8.0 * edge) else -0.2


def steady(quality: float, speed: float, edge: float, t: float, c: Config) -> float:
    """Return the score at fraction t of a training; the best trainings tend to lead from the start."""
    return quality * (1.0 - math.exp(-t / (0.1 + 0.2 * (1.0 - speed))))


@functools.cache
def _prepared(env_id: str) -> tuple[Objective, Any, np.ndarray[Any, Any]]:
    found = Objective(env_id)
    table, points = found.table, Points(found.table.space)
    known = np.array([points.row(table.config(row)) for row in range(len(table))])
    return found, points, points.unit(known)


def measured(env_id: str, metric: str) -> CurveProblem:
    """Return a problem with the recorded curves of a metric on an id, negated if lower is better.

    The curve of a configuration is that of the nearest one in the table (by the sum of absolute differences in [0, 1]),
    at 27 evenly spaced checkpoints; if there are fewer, some are repeated.
    """

    def curve(c: Config) -> Iterator[float]:
        found, points, units = _prepared(env_id)
        row = int(np.abs(units - points.unit(points.row(c)[None])).sum(axis=1).argmin())
        sign, levels = found.table.metrics[found.table.metric(metric)].sign, found.fidelities
        for epoch in range(1, EPOCHS + 1):
            level = levels[math.ceil(epoch * len(levels) / EPOCHS) - 1]
            yield sign * found(found.table.config(row), fidelity=level)[metric]

    return CurveProblem(env_id, Objective(env_id).space, curve)


# fmt: off
_SYNTHETIC = {
    "lr": (1e-4, 1.0, "log"), "depth": (1, 9), "drop": (0.0, 0.6), "decay": (1e-5, 1.0, "log"),
    "act": ["relu", "tanh", "gelu"],
}
_CLASSES = {
    "loss": ["hinge", "log_loss", "modified_huber"], "penalty": ["l2", "l1"], "alpha": (1e-6, 1.0, "log"),
    "eta0": (1e-5, 1.0, "log"), "average": [False, True],
}
_VALUES = {
    "loss": ["squared_error", "huber"], "penalty": ["l2", "l1"], "alpha": (1e-6, 1.0, "log"),
    "eta0": (1e-5, 0.3, "log"), "power_t": (0.0, 0.9), "epsilon": (1e-2, 3.0, "log"),
}
_NETWORK = {
    "units": (4, 64, "log"), "layers": (1, 3), "activation": ["relu", "tanh"], "lr": (1e-3, 3.0, "log"),
    "momentum": (0.0, 0.98), "decay": (1e-6, 1e-1, "log"), "scale": (0.1, 4.0, "log"), "batch": (25, 150, "log"),
}
_FACTORS = {
    "rank": (1, 20), "lr": (1e-4, 0.2, "log"), "momentum": (0.0, 0.95), "decay": (1e-3, 10.0, "log"),
    "scale": (1e-3, 2.0, "log"),
}

TRAININGS: tuple[CurveProblem, ...] = (
    CurveProblem("linear-cancer-epochs", _CLASSES, lambda c: _linear(
        SGDClassifier(learning_rate="constant", random_state=0, **c), "breast_cancer", classes=[0, 1])),
    CurveProblem("linear-diabetes-epochs", _VALUES, lambda c: _linear(
        SGDRegressor(learning_rate="invscaling", random_state=0, **c), "diabetes")),
    CurveProblem("network-digits", _NETWORK, functools.partial(_network, data="digits")),
    CurveProblem("network-cancer", _NETWORK, functools.partial(_network, data="breast_cancer")),
    CurveProblem("factors", _FACTORS, factors),
    *(CurveProblem(f.__name__, _SYNTHETIC, _synthetic(f)) for f in (crossing, overfitting, slow, diverging)),
    CurveProblem("noisy", _SYNTHETIC, _synthetic(steady), noise=0.05),
    measured("NMTLC-swen-v0", "log_perplexity"),
    measured("CharMiniLC-eng-transformer-v0", "accuracy"),
)
# fmt: on
"""Five problems with real trainings, five synthetic families, two ids of this suite."""
