"""The surrogate in compiled loops; the bits of `model` and `space`."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hpo_envs.tables.datasets.charhpo import model, space
from hpo_envs.tables.datasets.charhpo.names import WARMUP_STEP
from hpo_envs.tables.datasets.charhpo.scalars import circle, exp, log, mix, uniform
from hpo_envs.tables.extras import jit
from hpo_envs.tables.table import Floats

_RATE, _SCHEDULER, _WARMUP, _PLATEAU = space.RATE, space.SCHEDULER, space.WARMUP, tuple(space.ONLY_PLATEAU)
_STEP, _WARMUPS, _UNIT, _LEAF, _ODD = WARMUP_STEP, space.WARMUPS, model.UNIT, model.LEAF, model.ODD
_LOW, _HIGH = model.SCORES
_KNOT, _GAP, _LAST = model.KNOTS[0], model.KNOTS[1] - model.KNOTS[0], len(model.KNOTS) - 1
_TREES, _LEAVES = model.load().leaves.shape[2:]  # constants: loops of a known length take two thirds of the time
_AT_ONCE = 4
_DE_BRUIJN, _SHIFT = np.uint32(0x077CB531), np.uint32(27)
"""A power of two times the one, shifted by the other, is another number below 32 for each (Leiserson et al. 1998)."""
_PLACES = np.array([(0x077CB531 << k & 0xFFFFFFFF) >> 27 for k in range(_LEAVES)])
_ONE, _ALL = np.uint32(1), np.uint32(0xFFFFFFFF)
_0, _1 = np.uint64(0), np.uint64(1)


class _Trees(NamedTuple):
    """Forests, (architecture, metric) on the first axis: 2 * architecture + metric.

    Attributes:
        tables: (4, 18) which table a column belongs to.
        counts: (4,) how many tables a forest has.
        lookup: (4, 18, UNIT + 1) what a value adds to the row of its table; rows of all forests are counted through.
        masks: (rows + 1, trees) uint32; the last row lets all leaves be reached.
        leaves: (4, trees * 32) int32, those of a tree in the order of `_PLACES`.
        base: (4,).
    """

    tables: Any
    counts: Any
    lookup: Any
    masks: Any
    leaves: Any
    base: Any


class _Constants(NamedTuple):
    """What encodes configurations and decodes scores; architectures or tasks on the first axis.

    Attributes:
        counts: (2, 16) how many values a listed hyperparameter has, 0 for the others.
        values: (2, 16, 128) these values.
        bounds: (2, 16, 2) low and high of ranges, NaN for the others.
        scales: (2, 15, 5) column, low, high, span and scheduler of each number, see `model.scaling`.
        curves: (24, 2, knots) level and noise.
        quantiles: (24, quantiles).
        quantile_at: (quantiles,).
        rest: (24, 2) standard deviation of the runtime, worth of a word.
    """

    counts: Any
    values: Any
    bounds: Any
    scales: Any
    curves: Any
    quantiles: Any
    quantile_at: Any
    rest: Any


@jit
def _configuration(u: Any, arch: int, c: Any, out: Any) -> None:
    for j in range(len(u)):
        count = c.counts[arch, j]
        if count > 0:
            out[j] = c.values[arch, j, min(int(u[j] * count), count - 1)]
        else:
            low, high = c.bounds[arch, j, 0], c.bounds[arch, j, 1]
            out[j] = min(low + u[j] * (high - low), high)
    out[_RATE] = min(max(exp(out[_RATE]), 1e-6), 0.01)
    out[_WARMUP] = 0.0
    if out[_SCHEDULER] == 2.0:
        out[_WARMUP] = _STEP * (1.0 + min(np.floor(u[_WARMUP] * _WARMUPS), _WARMUPS - 1.0))
    if out[_SCHEDULER] != 1.0:
        for j in _PLATEAU:
            out[j] = 0.0


@jit
def _inputs(config: Any, arch: int, task: int, c: Any, x: Any) -> None:
    rate, scheduler = log(config[_RATE]), config[_SCHEDULER]
    for i in range(len(x) - 3):
        s = c.scales[arch, i]
        j = int(s[0])
        value = rate if j == _RATE else config[j]
        code = int(np.rint((min(max(value, s[1]), s[2]) - s[1]) / s[3] * _UNIT))
        # `|`, not `or`: jumps that depend on a random scheduler would take most of the time.
        x[i] = code if (s[4] == -1.0) | (s[4] == scheduler) else 0
    x[-3], x[-2] = int(config[_SCHEDULER]), task // 2


@jit
def _normals(x: Any, task: int) -> tuple[float, float]:
    seed = _0
    for i in range(len(_ODD)):
        seed += np.uint64(x[i]) * _ODD[i]
    key = mix(seed, np.uint64(task))
    radius = np.sqrt(-2.0 * log(uniform(mix(key, _0))))
    cosine, sine = circle(uniform(mix(key, _1)))
    return radius * cosine, radius * sine


@jit
def _leaves(rows: Any, masks: Any, leaves: Any, alive: Any) -> int:
    """The sum of the leaves of a forest that a configuration reaches.

    Args:
        rows: (k * _AT_ONCE,) those of the masks that it lies in; the last one where tables are fewer.
        masks: (rows, _TREES) uint32.
        leaves: (_TREES * _LEAVES,) int32.
        alive: (_TREES,) uint32, overwritten.
    """
    total = 0
    for g in range(0, len(rows), _AT_ONCE):
        a, b, c, d = masks[rows[g]], masks[rows[g + 1]], masks[rows[g + 2]], masks[rows[g + 3]]
        for i in range(_TREES):
            alive[i] = (alive[i] if g else _ALL) & a[i] & b[i] & c[i] & d[i]
    for i in range(_TREES):
        lowest = np.uint32(alive[i] & (~alive[i] + _ONE))
        total += leaves[i * _LEAVES + np.int64(np.uint32(lowest * _DE_BRUIJN) >> _SHIFT)]
    return total


@jit
def _forests(tasks: Any, x: Any, columns: int, metric: int, t: Any, out: Any) -> None:
    """What the forests of a metric predict.

    All rows of tables are looked up before any is read, so that a processor can read ahead, and one architecture comes
    after the other: its cache holds hardly more than one forest.
    """
    most = (t.counts.max() + _AT_ONCE - 1) // _AT_ONCE * _AT_ONCE
    rows, alive = np.zeros((len(tasks), most), np.int64), np.empty(_TREES, np.uint32)
    for i in range(len(tasks)):
        f = 2 * (tasks[i] % 2) + metric
        rows[i, t.counts[f] :] = len(t.masks) - 1
        for j in range(columns):
            rows[i, t.tables[f, j]] += t.lookup[f, j, x[i, j]]
    for f in range(metric, 4, 2):
        for i in range(len(tasks)):
            if 2 * (tasks[i] % 2) + metric == f:
                out[i] = t.base[f] + _LEAF * _leaves(rows[i], t.masks, t.leaves[f], alive)


@jit
def _score(predicted: float, e: float, curves: Any) -> float:
    knot = min(max((predicted - _KNOT) / _GAP, 0.0), float(_LAST))
    left = min(int(knot), _LAST - 1)
    w = knot - left
    level = (1.0 - w) * curves[0, left] + w * curves[0, left + 1]
    noise = (1.0 - w) * curves[1, left] + w * curves[1, left + 1]
    return float(min(max(level + e * noise, _LOW), _HIGH))


@jit
def _accuracy(score: float, at: Any, quantiles: Any, word: float) -> float:
    k: Any = min(max(np.searchsorted(at, score, side="right") - 1, 0), len(at) - 2)
    slope = (quantiles[k + 1] - quantiles[k]) / (at[k + 1] - at[k])
    return float(np.rint((slope * (score - at[k]) + quantiles[k]) / word) * word)


@jit
def _answers(tasks: Any, u: Any, noise: bool, t: Any, c: Any, configs: Any, out: Any) -> None:
    n = len(tasks)
    x, e, predicted = np.empty((n, 18), np.int64), np.zeros((n, 2)), np.empty(n)
    for i in range(n):
        task = tasks[i]
        arch = task % 2
        _configuration(u[i], arch, c, configs[i])
        _inputs(configs[i], arch, task, c, x[i])
        if noise:
            e[i] = _normals(x[i], task)
    _forests(tasks, x, 17, 0, t, predicted)
    for i in range(n):
        task = tasks[i]
        score = _score(predicted[i], e[i, 0], c.curves[task])
        x[i, 17] = int(np.rint((score - _LOW) / (_HIGH - _LOW) * _UNIT))
        out[i, 0] = _accuracy(score, c.quantile_at, c.quantiles[task], c.rest[task, 1])
    _forests(tasks, x, 18, 1, t, predicted)
    for i in range(n):
        out[i, 1] = np.rint(exp(predicted[i] + e[i, 1] * c.rest[tasks[i], 0]) * 10.0) / 10.0


def answers(tasks: npt.NDArray[np.int64], u: Floats, noise: bool) -> tuple[Floats, Floats]:
    """Configurations (n, 16) of points of the unit cube (n, 16), and what tasks (n,) say of them, (n, 2).

    As `space.configurations` and `model.Surrogate.evaluate`.
    """
    configs, out = np.empty(u.shape), np.empty((len(u), 2))
    _answers(tasks, u, noise, *_constants(), configs, out)
    return configs, out


@functools.cache
def _constants() -> tuple[_Trees, _Constants]:
    surrogate = model.load()
    forests = [forest for pair in surrogate.forests for forest in pair]
    tables, lookup = np.zeros((4, 18), np.int64), np.zeros((4, 18, _UNIT + 1), np.int64)
    row = 0
    for f, forest in enumerate(forests):
        tables[f, forest.order] = forest.tables
        lookup[f, forest.order] = forest.lookup.reshape(len(forest.order), -1)
        lookup[f, forest.order[forest.groups]] += row
        row += len(forest.masks)
    leaves = np.empty((4, forests[0].masks.shape[1], _LEAVES), np.int32)
    leaves[..., _PLACES] = np.stack([forest.leaves for forest in forests]).reshape(leaves.shape)
    trees = _Trees(
        tables,
        np.array([len(forest.groups) for forest in forests]),
        lookup,
        np.concatenate([*(forest.masks for forest in forests), np.full_like(forests[0].masks[:1], -1 % 2**32)]),
        leaves.reshape(4, -1),
        surrogate.base.ravel(),
    )
    counts, values = np.zeros((2, 16), np.int64), np.zeros((2, 16, 128))
    bounds, scales = np.full((2, 16, 2), np.nan), np.empty((2, 15, 5))
    for arch in range(2):
        listed, count, value, ranges, low, high = space.grids(arch)
        counts[arch, listed], bounds[arch, ranges] = count, np.column_stack([low, high])
        values[arch, listed, : value.shape[1]] = value
        scales[arch] = np.column_stack(model.scaling(arch))
    curves = np.stack([surrogate.level, surrogate.noise], axis=1)
    rest = np.column_stack([surrogate.runtime_noise, model.WORDS])
    return trees, _Constants(counts, values, bounds, scales, curves, surrogate.quantiles, surrogate.quantile_at, rest)
