"""Successive halving with survivors chosen by a network that ranks learning curves; the network and its weights."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from hpo_envs.agents.base import lost
from hpo_envs.agents.models import Floats
from hpo_envs.agents.multifidelity.hyperband import Plan, SuccessiveHalving
from hpo_envs.agents.problem import Problem

WEIGHTS = Path(__file__).with_name("curve_ranker.json")

POINTS, STEPS = 6, 3
"""Numbers of last values of a curve that the network reads, and of observations from one rung to the next."""

KERNELS = (2, 3, 4, 5)
"""Widths of the convolutions, as in LCRankNet (Wistuba and Pedapati 2020) and LCRankNet-v2 (Zhang and Duh 2024)."""

CHANNELS, HIDDEN, SLOPE = 8, 16, 0.1
"""Channels of each width, hidden units, and the slope of the leaky ReLU for negative numbers."""


def shapes() -> dict[str, tuple[int, ...]]:
    """Return the shape of each array of the network by name: convolutions (out, width), layers (out, in), biases."""
    convolutions = {f"conv{k}.weight": (CHANNELS, k) for k in KERNELS} | {f"conv{k}.bias": (CHANNELS,) for k in KERNELS}
    inputs = len(KERNELS) * CHANNELS + 3
    layers = {"inner.weight": (HIDDEN, inputs), "inner.bias": (HIDDEN,), "outer.weight": (1, HIDDEN)}
    return convolutions | layers


def inputs(curves: Floats, share: float) -> tuple[Floats, Floats]:
    """Return the inputs of the network for the runs of a rung.

    Args:
        curves: (n, POINTS) rewards at the last observed checkpoints, the current one last.
        share: Resource of the rung as a fraction of a full training.

    Returns:
        (n, POINTS) curves, shifted by the median and divided by the interquartile range of the runs' last values, then
        clipped to [-5, 5]; (n, 3) last and best value of each of these curves, and natural logarithm of `share`.
    """
    low, middle, high = np.quantile(curves[:, -1], [0.25, 0.5, 0.75])
    scaled = np.clip((curves - middle) / max(float(high - low), 1e-9 * max(abs(float(middle)), 1.0)), -5.0, 5.0)
    more = np.column_stack([scaled[:, -1], scaled.max(axis=1), np.full(len(curves), np.log(share))])
    return scaled, more


def score(w: Mapping[str, Floats], curves: Floats, more: Floats) -> Floats:
    """Return the (n,) scores of runs from their `inputs`: the last scaled value plus the output of the network."""
    found = [more]
    for k in KERNELS:
        windows = np.lib.stride_tricks.sliding_window_view(curves, k, axis=1)
        found.append(_leaky(windows @ w[f"conv{k}.weight"].T + w[f"conv{k}.bias"]).max(axis=1))
    hidden = _leaky(np.concatenate(found, axis=1) @ w["inner.weight"].T + w["inner.bias"])
    return np.asarray(more[:, 0] + (hidden @ w["outer.weight"].T)[:, 0])


def _leaky(x: Floats) -> Floats:
    return np.where(x > 0, x, SLOPE * x)


class RankerWeights(NamedTuple):
    """Trained weights: their name, the languages of the tables that they were fitted to, and arrays, see `shapes`."""

    name: str
    languages: frozenset[str]
    arrays: Mapping[str, Floats]


@functools.cache
def shipped() -> tuple[RankerWeights, ...]:
    """Return all shipped weights, read from `WEIGHTS` by the first call."""
    found = []
    for record in json.loads(WEIGHTS.read_text()):
        flat = np.array(record["numbers"])
        ends = np.cumsum([int(np.prod(s)) for s in shapes().values()])
        parts = np.split(flat, ends[:-1])
        arrays = {name: part.reshape(s) for (name, s), part in zip(shapes().items(), parts, strict=True)}
        found.append(RankerWeights(record["name"], frozenset(record["languages"]), arrays))
    return tuple(found)


def unseen(languages: Sequence[str]) -> list[RankerWeights]:
    """Return the shipped weights trained on none of the languages, those with the most training languages first."""
    return sorted((w for w in shipped() if not w.languages & {*languages}), key=lambda w: -len(w.languages))


def has_unseen(problem: Problem, /, seen: bool = False, **hyperparameters: Any) -> bool:
    """Return whether some weights were trained on none of the problem's languages; True if `seen` allows any."""
    return seen or bool(unseen(problem.held_out))


class CurveRanker(SuccessiveHalving):
    """Successive halving with survivors chosen by a network that ranks learning curves.

    On the way to each rung a run is observed up to `STEPS` times, which is free if the budget is in units of training.
    At the end of a rung the network scores the runs by the last `POINTS` values of their curves, relative to the other
    runs of the rung; the runs with the best scores survive, instead of those with the best rewards. The network was
    trained on the NMTLC tables to rank runs by the best value of their whole curve, by default not on the problem's
    languages.

    Formula:
        score = last + v' leaky(U [max-pooled convolutions of the curve, last, best, log share] + b)
        weights = argmin E[log(1 + exp(-(score_i - score_j)))] over pairs of runs of which i ends higher
        rung i: n_i rows, keep the n_{i+1} with the highest scores, as in SuccessiveHalving

    Paper: Martin Wistuba and Tejaswini Pedapati. Learning to Rank Learning Curves. ICML 2020 (the loss). Xuan Zhang and
    Kevin Duh. Best Practices of Successive Halving on Neural Machine Translation and Large Language Models. AMTA 2024
    (machine translation; its LCRankNet-v2 also reads hyperparameters and embeddings of the tasks).

    Complexity: O(n) a rung of n rows.

    Example:
        from hpo_envs import run
        runs = run("curve-ranker", "NMTLC-swen-v0", seeds=range(2))
        runs.best()  # the row, and the fidelity that it was trained to

    Args:
        seen: Whether weights trained on the problem's languages are allowed.
        **options: See `SuccessiveHalving`; `score` and `shift` have no effect.

    Raises:
        ValueError: All weights were trained on a language of the problem, and `seen` is False; or see `Halving`.
    """

    def __init__(self, problem: Problem, seed: int, seen: bool = False, **options: Any) -> None:
        found = unseen(() if seen else problem.held_out)
        if not found:
            languages = ", ".join(problem.held_out)
            raise ValueError(f"seen must be True on languages of all trained weights, got False on {languages}")
        self._network, self.trained_on = found[0].arrays, found[0].languages
        super().__init__(problem, seed, **options)

    def run_bracket(self, rungs: list[tuple[int, int]]) -> Plan:
        """Yield the actions of a bracket, rung by rung; the network chooses survivors among the successful runs."""
        rows, alive = self.candidates, self.start(rungs[0][0])
        curves: dict[int, list[float]] = {int(row): [] for row in alive}
        for i, (_, resource) in enumerate(rungs):
            stops = [rows.level_of(max(resource * self.eta ** (j / STEPS - 1.0), 1.0)) for j in range(1, STEPS + 1)]
            ended = set()
            for row in alive.tolist():
                for level in dict.fromkeys(stops):
                    action = rows.submit(row, level)
                    reward, info = yield action
                    rows.note(action, reward, info)
                    self._spent += info["cost"]
                    if lost(info):
                        ended.add(row)
                        break
                    curves[row].append(float(reward))
            alive = np.array([row for row in alive.tolist() if row not in ended], np.intp)
            if i + 1 < len(rungs) and len(alive):
                last = np.array([_padded(curves[row]) for row in alive.tolist()])
                scores = score(self._network, *inputs(last, min(max(resource, 1) / rows.maximum, 1.0)))
                alive = alive[np.argsort(-scores, kind="stable")[: rungs[i + 1][0]]]


def _padded(curve: list[float]) -> list[float]:
    """Return the last `POINTS` values of a curve; a shorter curve is padded in front with its first value."""
    return [curve[0]] * (POINTS - len(curve)) + curve[-POINTS:]
