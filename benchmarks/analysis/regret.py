"""Normalised regret: what makes runs on different environments comparable. Pure functions of saved runs.

The regret of a run after an evaluation is 0 where the best that the environment has was found, and 1 where nothing
better than a middling configuration was:

    (best - incumbent) / (best - origin), kept between 0 and 1.

One objective: incumbent is the best reward so far, origin the median row of the table. Bandits: incumbent is the true
mean of the arm with the best mean score so far (at the end: of the recommended arm), origin the median arm. Several
objectives: 1 - hypervolume / hypervolume of the table's front, bounded by the front's worst corner and a tenth more.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hpo_envs import registry
from hpo_envs.agents.models.hypervolume import hypervolume
from hpo_envs.agents.models.pareto import pareto_front
from hpo_envs.benchmarks.analysis import reference, subsets
from hpo_envs.benchmarks.runs import Run
from hpo_envs.tables import store
from hpo_envs.tables.table import Table

Floats = npt.NDArray[np.float64]

TARGETS = np.concatenate([np.logspace(0, -2, 21)[1:], [0.0]])
"""Regrets that running times are measured to: 20 from 0.79 to 0.01, evenly spaced in the logarithm, and 0."""

SHARES = np.linspace(0.0, 1.0, 101)[1:]
"""Shares of the budget at which regret is read where costs are not evaluations."""


@dataclass(frozen=True)
class Scale:
    """What the regret of a run is measured with; never shown to an agent.

    Attributes:
        best: (m,) best reward of each objective.
        origin: (m,) rewards that count as having found nothing.
        volume: Hypervolume of the front, with several objectives.
        means: (arms,) true means of a bandit's arms.
        source: Where `best` comes from: "table", "searched" (the best that a long search found) or "seen" (the best
            of table and compared runs, because nobody knows better).
    """

    best: Floats
    origin: Floats
    source: str
    volume: float = 0.0
    means: Floats | None = None


def key(run: Run) -> str:
    """What runs must share to be measured with the same scale."""
    h = run.header
    parts = (h["env"], h["env_kwargs"], h["table"], h["kind"], h["sha256"], h["objectives"], *subsets.key(h))
    return json.dumps(parts, sort_keys=True, default=repr)


def scales(runs: Sequence[Run]) -> dict[str, Scale]:
    """The scale of every problem among these runs, by `key`.

    Raises:
        ValueError: A table has changed since a run was made, or a front is asked for that is not known.
    """
    groups: dict[str, list[Run]] = {}
    for r in runs:
        groups.setdefault(key(r), []).append(r)
    return {k: _scale(group) for k, group in groups.items()}


def _scale(group: list[Run]) -> Scale:
    h = group[0].header
    spec, family = registry.find(h["env"]), registry.family_of(h["env"])
    first = np.median([np.atleast_1d(r.rewards[0]) for r in group], axis=0)
    if reference.searched(h["env"]):
        best = np.maximum(reference.of_run(group[0]).best, max(r.rewards.max() for r in group))
        return Scale(best, first, "searched")
    answers_more = spec is None or family is None or spec.surrogate_only or family.optimum == "seen"
    if not store.exists(h["table"]):
        seen = np.concatenate([r.rewards.reshape(len(r), -1) for r in group])
        return _several(seen, "seen") if seen.shape[1] > 1 else Scale(seen.max(axis=0), first, "seen")
    table = reference.table_of(h)
    bandit = family is not None and family.score == "final"
    scale = of_table(subsets.of(table, subsets.key(h)), h["objectives"], bandit=bandit)
    if bandit:  # by the table's rows, whichever of them an episode has
        scale = dataclasses.replace(scale, means=reference.final_rewards(table, h["objectives"])[:, 0])
    if answers_more and len(h["objectives"]) == 1:
        best = np.maximum(scale.best, max(r.rewards.max() for r in group))
        return Scale(best, scale.origin, "seen")
    return scale


def of_table(table: Table, objectives: Sequence[str], *, bandit: bool = False) -> Scale:
    """The scale of a finite table: rows at their last level, repeats averaged; the best at any level.

    Args:
        table: The table.
        objectives: Names of the rewarded metrics.
        bandit: Whether rows are arms.
    """
    final = reference.final_rewards(table, objectives)
    if bandit:
        return Scale(final.max(axis=0), np.median(final, axis=0), "table", means=final[:, 0])
    if len(objectives) > 1:
        return _several(final, "table")
    # A run may stop at any level, and the best one need not be the last.
    with np.errstate(all="ignore"):
        column = table.metric(objectives[0])
        curves = table.values[..., column] * table.metrics[column].sign
        best = max(float(final.max()), float(np.nanmax(curves)) if curves.shape[2] > 1 else -np.inf)
    return Scale(np.array([best]), np.median(final, axis=0), "table")


def _several(points: Floats, source: str) -> Scale:
    front = points[pareto_front(points)]
    if front.shape[1] != 2:
        raise ValueError(f"objectives must be one or two for hypervolume, got {front.shape[1]}")
    best, worst = front.max(axis=0), front.min(axis=0)
    span = np.where(best > worst, best - worst, np.maximum(np.abs(best), 1.0))
    origin = worst - 0.1 * span
    return Scale(best, origin, source, volume=hypervolume(-front, -origin))


def after(run: Run, scale: Scale) -> Floats:
    """(k,) regret after each evaluation; never rises but for bandits, whose favourite may change."""
    if scale.means is not None:
        return _regret(_favourites(run, len(scale.means), scale.means), scale)
    if run.rewards.ndim == 2:
        return _volumes(run.rewards, scale)
    return _regret(np.maximum.accumulate(run.rewards), scale)


def final(run: Run, scale: Scale) -> float:
    """Regret at the end; for bandits that of the recommended arm."""
    if scale.means is not None:
        arm = int(np.ravel(run.recommended)[0])
        return float(_regret(scale.means[[arm]], scale)[0])
    return float(after(run, scale)[-1])


def _regret(incumbent: Floats, scale: Scale) -> Floats:
    width = float(scale.best[0] - scale.origin[0])
    if width <= 0.0:
        return np.zeros(len(incumbent))
    return np.clip((scale.best[0] - incumbent) / width, 0.0, 1.0)


def _favourites(run: Run, arms: int, means: Floats) -> Floats:
    """True mean of the arm whose scores so far have the best mean; arms never pulled are no candidates."""
    pulled = np.zeros((len(run), arms))
    pulled[np.arange(len(run)), run.actions.astype(int)] = 1.0
    counts = np.cumsum(pulled, axis=0)
    sums = np.cumsum(pulled * run.rewards[:, None], axis=0)
    estimates = np.where(counts > 0, sums / np.maximum(counts, 1), -np.inf)
    return np.asarray(means[estimates.argmax(axis=1)])


def _volumes(rewards: Floats, scale: Scale) -> Floats:
    """1 - hypervolume share after each evaluation; recomputed only where the front grows."""
    losses, corner = -rewards, -scale.origin
    kept = np.empty((0, 2))
    regret, now = np.empty(len(rewards)), 1.0
    for i, point in enumerate(losses):
        if (point < corner).all() and not (kept <= point).all(axis=1).any():
            kept = np.vstack([kept[~(kept >= point).all(axis=1)], point])
            now = min(max(1.0 - hypervolume(kept, corner) / scale.volume, 0.0), 1.0)
        regret[i] = now
    return regret


def at_evaluations(regret: Floats, length: int) -> Floats:
    """(length,) regret after 1, 2, ... evaluations; what a run that stopped early had stays."""
    return regret[np.minimum(np.arange(length), len(regret) - 1)]


def at_costs(regret: Floats, costs: Floats, budget: float, shares: npt.ArrayLike = SHARES) -> Floats:
    """Regret at shares of the budget: of what was finished by then, 1 before the first result.

    The last evaluation counts at the whole budget even where it cost more than was left.
    """
    spent = np.minimum(np.cumsum(costs), budget) / budget
    done = np.searchsorted(spent, np.asarray(shares) + 1e-12, "right")
    return np.concatenate([[1.0], regret])[done]


def anytime(run: Run, regret: Floats) -> float:
    """Regret averaged over the budget: over its evaluations, or over its shares where cost is something else."""
    budget = float(run.header["budget"])
    if run.header["cost_unit"] == "evaluations":
        total = max(round(budget), 1)
        kept = regret[:total]
        return float((kept.sum() + (total - len(kept)) * kept[-1]) / total)
    return float(at_costs(regret, run.costs, budget).mean())


def runtimes(run: Run, regret: Floats, targets: npt.ArrayLike = TARGETS) -> Floats:
    """(targets,) cost until the regret is first at most each target, inf if it never was."""
    spent = np.append(np.cumsum(run.costs), np.inf)
    lowest = np.minimum.accumulate(regret)
    # A hair of slack: regrets are quotients of binary fractions.
    met = lowest[None, :] <= np.asarray(targets, dtype=float)[:, None] + 1e-9
    first = np.where(met.any(axis=1), met.argmax(axis=1), len(regret))
    return np.asarray(spent[first])
