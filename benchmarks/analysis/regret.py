"""Normalised regret of runs: incumbents, noisy rewards, several objectives, budget means, running times.

With one objective, the regret of a run after an evaluation is 0 if the best configuration of the environment was found,
and 1 if nothing better than the median configuration was found:

    (best - incumbent) / (best - reference), clipped to [0, 1].

The incumbent is the best reward so far, the reference the median of the table's measured rows (`scales.rewards_of`), or
of random search. Several objectives: 1 - hypervolume / hypervolume of the table's front, with a reference point a tenth
beyond the front's worst corner; without a table, the metrics' bounds take the place of the front and of this point.

If rewards are noisy (arms, tables with repeats), the true mean of a row counts, not its luckiest draw: the incumbent is
the true mean of the row with the best mean of the run's own rewards so far, the earliest on ties, and at the end that
of the row that the agent recommends.

Regret is clipped at 1, the regret of the median configuration, so that a diverged first evaluation does not dominate
the score of a run.

If the best *is* the median, regret is 0/0: such runs are degenerate (`flat`), and excluded from averages unless an
environment has no others. If no scale is known, a score is minus the incumbent: raw, lower is better, and comparable on
one environment only. With several objectives it is minus the largest sum of their rewards so far.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from hpo_envs.agents.models.pareto import hypervolume, pareto_front
from hpo_envs.benchmarks.analysis.scales import Scale, of_header, scale_of
from hpo_envs.tables.table import Floats

Recorded = Any
"""A run as recorded: `hpo_envs.benchmarks.Run`, which imports this module."""

SOLVED = 1e-9
"""Largest regret of a run that found the best configuration: a tolerance for rounding."""

TARGETS = np.concatenate([np.logspace(0, -2, 21)[1:], [0.0]])
"""Targets of running times: 20 regrets from 0.79 to 0.01, evenly spaced in the logarithm, and 0."""

SHARES = np.linspace(0.0, 1.0, 101)[1:]
"""Fractions of the budget over which regret is averaged if the cost is not evaluations."""


def after(run: Recorded, most: float = 1.0) -> Floats:
    """Return the (k,) regret after each evaluation, or raw scores if no scale is known; it increases only with noise.

    `most` is the upper limit of the regret with one objective.

    Raises:
        ValueError: The header lacks a scale, or the scale is known and there are more than two objectives.
    """
    scale = of_header(run.header)
    if run.rewards.ndim == 2:
        return -np.maximum.accumulate(run.rewards.sum(axis=1)) if scale.source == "none" else _volumes(run, scale)
    return np.asarray(normalised(incumbents(run)[None], scale.best[None], scale.reference[None], most)[0])


def incumbents(run: Recorded) -> Floats:
    """Return the (k,) best rewards so far of a run with one objective; if noisy, the true means of the incumbents."""
    return run.evaluated["truth"][_favourites(run)] if noisy(run) else np.maximum.accumulate(run.rewards)


def normalised(incumbents: Floats, best: Floats, reference: Floats, most: float = 1.0) -> Floats:
    """Return the (n, k) regret, at most `most`, of the (n, k) incumbent rewards of n runs with one objective.

    `best` and `reference` are the (n, 1) rewards of regret 0 and 1; where the best is not above the reference, all
    regrets are 0. Without a scale they are (n, 0), and the result is minus the incumbents.
    """
    if not best.shape[1]:
        return -incumbents
    width = best - reference
    known = width > 0
    return np.where(known, np.clip((best - incumbents) / np.where(known, width, 1.0), 0.0, most), 0.0)


def of_rows(rewards: Floats) -> Floats:
    """Return the (n,) regret of each row of a table from its (n,) rewards; all NaN if the best reward is the median."""
    best, median = rewards.max(), np.median(rewards)
    if best <= median:
        return np.full(len(rewards), np.nan)
    return np.asarray(normalised(rewards[None], np.array([[best]]), np.array([[median]]))[0])


def raw(run: Recorded) -> bool:
    """Return whether no scale is known, so that scores are minus the incumbents; errors are those of `scale_of`."""
    return bool(scale_of(run.header)["source"] == "none")


def noisy(run: Recorded) -> bool:
    """Return whether a reward may differ from the true mean of its row, so that the run has these means."""
    return "truth" in run.evaluated


def _cells(run: Recorded) -> list[int]:
    """Return the number of each evaluation's (row, level) pair; pairs are numbered by their first evaluations."""
    known: dict[tuple[int, int], int] = {}
    where = zip(run.evaluated["row"].tolist(), run.evaluated["level"].tolist(), strict=True)
    return [known.setdefault(cell, len(known)) for cell in where]


def _favourites(run: Recorded) -> npt.NDArray[np.int64]:
    """(k,) index of the first evaluation of the cell with the best mean reward so far, the earliest cell on ties."""
    cells = _cells(run)
    n = max(cells) + 1
    sums, counts, means, first = [0.0] * n, [0] * n, [-np.inf] * n, [cells.index(cell) for cell in range(n)]
    best, favourites = 0, []
    for cell, reward in zip(cells, run.rewards.tolist(), strict=True):
        before = means[cell]
        sums[cell] += reward
        counts[cell] += 1
        means[cell] = sums[cell] / counts[cell]
        if cell == best and means[cell] < before:
            best = means.index(max(means))
        elif (means[cell], -cell) > (means[best], -best):
            best = cell
        favourites.append(first[best])
    return np.array(favourites)


def _volumes(run: Recorded, scale: Scale) -> Floats:
    """Return (k,) 1 - hypervolume fraction after each evaluation; a `ValueError` for more than two objectives."""
    if run.rewards.shape[1] != 2:
        raise ValueError(f"objectives must be one or two for hypervolume, got {run.rewards.shape[1]}")
    corner = -scale.reference
    whole = hypervolume(-scale.front, corner)
    shares = (_noisy_shares if noisy(run) else _shares)(run, corner)
    return np.clip(1.0 - shares / whole, 0.0, 1.0)


def _shares(run: Recorded, corner: Floats) -> Floats:
    """Return the (k,) hypervolume of the rewards after each evaluation, recomputed only if the front changes."""
    kept, now = np.empty((0, 2)), 0.0
    volumes = np.empty(len(run))
    for i, point in enumerate(-run.rewards):
        if (point < corner).all() and not (kept <= point).all(axis=1).any():
            kept = np.vstack([kept[~(kept >= point).all(axis=1)], point])
            now = hypervolume(kept, corner)
        volumes[i] = now
    return volumes


def _noisy_shares(run: Recorded, corner: Floats) -> Floats:
    """Return the (k,) hypervolume of the true means of those rows whose observed means so far are on the front."""
    cells = np.array(_cells(run))
    sums, counts = np.zeros((cells.max() + 1, 2)), np.zeros((cells.max() + 1, 1))
    truths, volumes = np.empty_like(sums), np.empty(len(run))
    for i, cell in enumerate(cells):
        sums[cell] += run.rewards[i]
        counts[cell] += 1
        truths[cell] = run.evaluated["truth"][i]
        met = len(np.unique(cells[: i + 1]))
        losses = -truths[:met][pareto_front(sums[:met] / counts[:met])]
        volumes[i] = hypervolume(losses[(losses < corner).all(axis=1)], corner)
    return volumes


def at_evaluations(regret: Floats, length: int) -> Floats:
    """Return the (..., length) regret after 1, 2, ... evaluations: the (..., k) given values, then the last one."""
    return regret[..., np.minimum(np.arange(length), regret.shape[-1] - 1)]


def at_costs(
    regret: Floats, costs: Floats, budget: float, shares: npt.ArrayLike = SHARES, *, raw: bool = False
) -> Floats:
    """Return the (..., shares) regret at fractions of the budget, from (..., k) regrets and costs of evaluations.

    Before the first result it is 1, or the first value if `raw`. An evaluation that exceeds the budget counts as
    complete at the end of the budget.
    """
    spent = np.minimum(np.cumsum(costs, axis=-1), budget) / budget
    done = (spent[..., None, :] <= np.asarray(shares)[:, None] + 1e-12).sum(axis=-1)
    start = regret[..., :1] if raw else np.ones_like(regret[..., :1])
    return np.take_along_axis(np.concatenate([start, regret], axis=-1), done, axis=-1)


def averaged(header: Mapping[str, Any], costs: Floats, regret: Floats) -> Any:
    """Return the (...) mean regret over the budget: over its evaluations, or over `SHARES` of it in another unit.

    `costs` and `regret` are (..., k), of each evaluation and after it; the runs must share their `header`.
    """
    budget = float(header["budget"])
    if header["cost_unit"] == "evaluations":
        total = max(round(budget), 1)
        kept = regret[..., :total]
        return (kept.sum(axis=-1) + (total - kept.shape[-1]) * kept[..., -1]) / total
    return at_costs(regret, costs, budget, raw=scale_of(header)["source"] == "none").mean(axis=-1)


def runtimes(regret: Floats, costs: Floats, targets: npt.ArrayLike = TARGETS, *, raw: bool = False) -> Floats:
    """Return the (..., targets) cost until the regret is at most each target; inf if never, or with raw scores."""
    if raw:
        return np.full((*regret.shape[:-1], *np.shape(targets)), np.inf)
    never = np.full_like(regret[..., :1], np.inf)
    spent = np.concatenate([np.cumsum(costs, axis=-1), never], axis=-1)
    met = regret[..., None, :] <= np.asarray(targets, dtype=float)[:, None] + SOLVED
    first = np.where(met.any(axis=-1), met.argmax(axis=-1), regret.shape[-1])
    return np.take_along_axis(spent, first, axis=-1)
