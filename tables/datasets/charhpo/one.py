"""One configuration of the surrogate in Python's numbers, which NumPy's functions are slow for; the same bits.

`space.configurations` and `model.Surrogate.evaluate` say what is computed, for any number of rows.
"""

from __future__ import annotations

import functools
import math
from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

from hpo_envs.tables import exact
from hpo_envs.tables.datasets.charhpo import model, space
from hpo_envs.tables.datasets.charhpo.names import WARMUP_STEP
from hpo_envs.tables.draws import mix, uniform

_ODD = [int(weight) for weight in model.ODD]
_KNOTS = model.KNOTS.tolist()
_LOW, _HIGH = model.SCORES


@functools.cache
def _columns(arch: int) -> tuple[list[tuple[int, int, list[float]]], list[tuple[int, float, float, float]]]:
    """Column, number and list of values; column, low, span and high of ranges."""
    listed, counts, values, ranges, low, high = (a.tolist() for a in space.grids(arch))
    spans = [h - lo for lo, h in zip(low, high, strict=True)]
    return [*zip(listed, counts, values, strict=True)], [*zip(ranges, low, spans, high, strict=True)]


def configuration(arch: int, u: Sequence[float]) -> list[float]:
    """The raw values of 16 hyperparameters, from as many numbers in [0, 1]; as `space.configurations`."""
    listed, ranges = _columns(arch)
    out = [0.0] * len(u)
    for j, count, values in listed:
        place = int(u[j] * count)
        out[j] = values[place if place < count else count - 1]
    scheduler = out[space.SCHEDULER]
    for j, low, span, high in ranges:
        value = low + u[j] * span
        out[j] = value if value < high else high
    out[space.RATE] = within(exact.exp(out[space.RATE]), 1e-6, 0.01)
    if scheduler == 2.0:
        out[space.WARMUP] = WARMUP_STEP * (1.0 + min(u[space.WARMUP] * space.WARMUPS // 1.0, space.WARMUPS - 1.0))
    if scheduler != 1.0:
        for j in space.ONLY_PLATEAU:
            out[j] = 0.0
    return out


@functools.cache
def _scaling(arch: int) -> list[tuple[int, float, float, float, int]]:
    return [*zip(*(a.tolist() for a in model.scaling(arch)), strict=True)]


def inputs(arch: int, task: int, config: Sequence[float]) -> list[int]:
    """The 17 integer inputs of a configuration; as `model.inputs`."""
    scheduler = int(config[space.SCHEDULER])
    x = []
    for j, low, high, span, needs in _scaling(arch):
        if needs == -1 or needs == scheduler:
            value = config[j] if j != space.RATE else exact.log(config[j])
            value = low if value < low else high if value > high else value
            x.append(round((value - low) / span * model.UNIT))
        else:
            x.append(0)
    return [*x, scheduler, task // 2]


def normals(task: int, x: Sequence[int]) -> tuple[float, float]:
    """Two independent standard normal draws; as `model.normals`."""
    key = mix(sum(map(int.__mul__, x, _ODD)) & (2**64 - 1), task)
    radius = math.sqrt(-2.0 * exact.log(uniform(mix(key, 0))))
    cosine, sine = exact.circle(uniform(mix(key, 1)))
    return radius * cosine, radius * sine


def within(x: Any, low: Any, high: Any) -> Any:
    """The number of [low, high] next to x."""
    return low if x < low else high if x > high else x


class One:
    """A surrogate that answers one configuration at a time.

    Args:
        surrogate: The fitted parameters.
    """

    def __init__(self, surrogate: model.Surrogate) -> None:
        self._base, self._forests = surrogate.base.tolist(), surrogate.forests
        curves = (surrogate.level, surrogate.noise, surrogate.quantiles, surrogate.runtime_noise, model.WORDS)
        self._tasks = [*zip(*(c.tolist() for c in curves), strict=True)]
        self._at = surrogate.quantile_at.tolist()

    def evaluate(self, task: int, config: Sequence[float], noise: bool = True) -> tuple[float, float]:
        """Accuracy and runtime of 16 raw values; as `model.Surrogate.evaluate`."""
        level, scatter, quantiles, runtime_noise, word = self._tasks[task]
        (base, runtime_base), (forest, runtime_forest) = self._base[task % 2], self._forests[task % 2]
        x = inputs(task % 2, task, config)
        e1, e2 = normals(task, x) if noise else (0.0, 0.0)

        knot = (base + model.LEAF * forest.one(x) - _KNOTS[0]) / (_KNOTS[1] - _KNOTS[0])
        knot = within(knot, 0.0, len(_KNOTS) - 1.0)
        left = int(knot) if knot < len(_KNOTS) - 1 else len(_KNOTS) - 2
        w = knot - left
        mean = (1.0 - w) * level[left] + w * level[left + 1]
        score = mean + e1 * ((1.0 - w) * scatter[left] + w * scatter[left + 1])
        score = within(score, _LOW, _HIGH)

        at = within(bisect_right(self._at, score) - 1, 0, len(self._at) - 2)
        accuracy = model.interpolated(score, self._at[at], self._at[at + 1], quantiles[at], quantiles[at + 1])
        x.append(round((score - _LOW) / (_HIGH - _LOW) * model.UNIT))
        runtime = exact.exp(runtime_base + model.LEAF * runtime_forest.one(x) + e2 * runtime_noise)
        return round(accuracy / word) * word, round(runtime * 10.0) / 10.0
