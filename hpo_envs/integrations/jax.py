"""Look-ups and learning curves of any tables in JAX: one batch of arrays and pure functions (extra `jax`).

batch = export(["CharHPO-g2p-hun-lstm-v0", ("NMTLC-zhen-v0", {"budget": 1e6})])
states = jax.vmap(functools.partial(reset, batch))(jax.random.split(jax.random.key(0), 16_384))
states, reward, done = jax.vmap(functools.partial(step, batch))(states, actions)

Functions handle one episode; `jax.vmap` extends them to many. Rewards are those of the environments (of several
repeats, the mean), bit for bit in float64 (`jax.config.update("jax_enable_x64", True)`), else rounded to float32.
PyTorch reads all arrays by DLPack: `torch.from_dlpack(batch.values)`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np

from hpo_envs.agents.models.candidate_set import BOUND
from hpo_envs.agents.models.gp.stacked import TAIL
from hpo_envs.core.engines.curves.params import CurveParams
from hpo_envs.core.engines.lookup.params import LookupParams
from hpo_envs.core.params import ROUNDING

try:
    import jax
    import jax.numpy as jnp
    from jax import Array
except ModuleNotFoundError:
    raise ModuleNotFoundError('hpo_envs.integrations.jax needs jax: pip install "hpo_envs[jax]"') from None


class TaskBatch(NamedTuple):
    """Batch of T tables of at most R rows, L fidelities and D features, padded with zeros or the last fidelity.

    Attributes:
        values: (T, R, L) rewards, higher is better; those of several repeats are averaged.
        costs: (T, R, L) costs of training up to each fidelity, in the unit of the budget.
        ends: (T, R) index of the fidelity at which a run ends, of several repeats the latest; 0 for look-ups.
        features: (T, R, D) float32 features of the configurations, in [0, 1].
        rows: (T,) number of configurations of each table.
        budgets: (T,) budget of an episode.
        limits: (T,) number of steps after which an episode ends whatever its budget.
        paid: (T,) whether a repeated evaluation costs again: True for look-ups.
        per_step: (T,) whether a step that trains further costs 1, with `cost="evaluations"`.
        scales: (T, 2) median and best reward at the last fidelity, for normalised rewards in training.
    """

    values: Array
    costs: Array
    ends: Array
    features: Array
    rows: Array
    budgets: Array
    limits: Array
    paid: Array
    per_step: Array
    scales: Array


class EpisodeState(NamedTuple):
    """State of an episode; only the first H evaluations (the horizon) are recorded one by one.

    Attributes:
        task: Index of the table.
        reached: (R,) index of the fidelity that each configuration is trained to, plus 1; (0,) if there is only one
            fidelity.
        evaluated: (H,) distinct configurations among the first H evaluations, in ascending order, padded with R.
        rows: (H,) configuration of each of the first H evaluations, in order, then zeros.
        rewards: (H,) reward of each of them, then zeros.
        paid: (H,) cost of each of them, then zeros.
        complete: Number of configurations trained to their end; 0 for look-ups.
        steps: Number of all evaluations.
        spent: Cost of all evaluations.
        best: Largest reward of all evaluations; minus infinity at first.
    """

    task: Array
    reached: Array
    evaluated: Array
    rows: Array
    rewards: Array
    paid: Array
    complete: Array
    steps: Array
    spent: Array
    best: Array


def export(tasks: Sequence[str | tuple[str, Mapping[str, Any]]]) -> TaskBatch:
    """Convert the tables of some ids to arrays on the default device.

    Args:
        tasks: Ids, or ids with arguments of `gym.make` (`table=`, `objective=`, `budget=`, ...): look-ups of rows and
            learning curves, with one objective, one worker and all configurations in order.

    Raises:
        ValueError: An environment is of another kind.
    """
    parts = [_arrays(task, {}) if isinstance(task, str) else _arrays(*task) for task in tasks]
    found = {}
    for name in TaskBatch._fields:
        arrays = [np.asarray(part[name]) for part in parts]
        sizes = [max(each) for each in zip(*(a.shape for a in arrays), strict=True)]
        if name in ("values", "costs"):  # further fidelities repeat the last one
            arrays = [np.pad(a, [(0, 0), (0, sizes[1] - a.shape[1])], "edge") for a in arrays]
        if sizes:
            arrays = [np.pad(a, [(0, n - k) for n, k in zip(sizes, a.shape, strict=True)]) for a in arrays]
        found[name] = jnp.asarray(np.stack(arrays))
    return TaskBatch(**found)


def _arrays(env_id: str, kwargs: Mapping[str, Any]) -> dict[str, Any]:
    p = getattr(gym.make(env_id, disable_env_checker=True, **kwargs).unwrapped, "params", None)
    curves = isinstance(p, CurveParams)
    if not (isinstance(p, LookupParams | CurveParams) and p.kind != "grid" and len(p.tables) == 1) or p.vector:
        raise ValueError(f"tasks must be look-ups or curves of one table and one objective, got {env_id}")
    if not p.view.whole or (isinstance(p, CurveParams) and p.workers > 1):
        raise ValueError(f"tasks must have all configurations in order and one worker, got {env_id} {dict(kwargs)}")
    if isinstance(p, CurveParams):
        grid = np.indices((p.rows, len(p.levels))).reshape(2, -1).T
        values = p.truth(0, grid).reshape(p.rows, -1)
        kept = np.arange(p.repeats) < p.count[:, None]
        costs = p.costs.reshape(p.rows, p.repeats, -1).mean(axis=1, where=kept[..., None])
        ends = p.ends.reshape(p.rows, -1).max(axis=1, where=kept, initial=0)
    else:
        values = p.truth(0, np.arange(p.rows))[:, None]
        kept = np.arange(p.max_repeats) < p.repeats[:, None]
        costs = p.costs.reshape(p.rows, -1).mean(axis=1, where=kept)[:, None]
        ends = np.zeros(p.rows, np.int64)
    final = values[:, -1]
    return {
        "values": values, "costs": costs, "ends": ends.astype(np.int32),
        "features": p.table.features.astype(np.float32), "rows": np.int32(p.rows), "budgets": np.float64(p.budget),
        "limits": np.int32(p.steps), "paid": not curves,
        "per_step": p.cost_unit == "evaluations", "scales": np.array([np.median(final), final.max()]),
    }  # fmt: skip


def reset(batch: TaskBatch, key: Array, horizon: int = 20, task: Array | None = None) -> EpisodeState:
    """Begin an episode on the table `task`, by default a random one.

    Args:
        batch: The tables.
        key: Key that draws the table.
        horizon: Number of evaluations that are recorded; `free`, `random_row`, `observed` and `history` ignore later
            ones.
        task: Index of the table; None: a random one.
    """
    tables, rows, levels = batch.values.shape
    zeros = jnp.zeros(horizon, batch.values.dtype)
    return EpisodeState(
        jax.random.randint(key, (), 0, tables) if task is None else jnp.asarray(task),
        jnp.zeros(rows if levels > 1 else 0, jnp.int32), jnp.full(horizon, rows, jnp.int32),
        jnp.zeros(horizon, jnp.int32), zeros, zeros, jnp.int32(0), jnp.int32(0), jnp.zeros((), batch.values.dtype),
        jnp.asarray(-jnp.inf, batch.values.dtype),
    )  # fmt: skip


def step(
    batch: TaskBatch, state: EpisodeState, row: Array, level: Array | None = None
) -> tuple[EpisodeState, Array, Array]:
    """Evaluate a row at fidelity index `level` (default: the last); return the state, the reward and the done flag.

    On learning curves, a level beyond the end of a run is its end, and a level reached before costs nothing.
    """
    task, levels, row = state.task, batch.values.shape[2], jnp.asarray(row, jnp.int32)
    level = jnp.asarray(levels - 1 if level is None else level, jnp.int32)
    value, costs = batch.values[task, row, level], batch.costs[task, row]
    reached, complete = state.reached, state.complete
    if levels > 1:
        before = jnp.where(batch.paid[task], 0, reached[row])
        now = jnp.maximum(before, jnp.minimum(level, batch.ends[task, row]) + 1)
        cost = jnp.where(
            now > before, costs[now - 1] - jnp.where((before > 0) & ~batch.per_step[task], costs[before - 1], 0), 0
        )
        reached, end = reached.at[row].set(now), batch.ends[task, row]
        complete += ~batch.paid[task] & (before <= end) & (now > end)
    else:
        cost = costs[0]
    at, h = state.steps, state.rows.shape[0]
    place = (state.evaluated < row).sum()
    known = (at >= h) | (state.evaluated[jnp.minimum(place, h - 1)] == row)
    index = jnp.arange(h)
    inserted = jnp.where(index == place, row, jnp.where(index > place, jnp.roll(state.evaluated, 1), state.evaluated))
    after = EpisodeState(
        task, reached, jnp.where(known, state.evaluated, inserted), state.rows.at[at].set(row, mode="drop"),
        state.rewards.at[at].set(value, mode="drop"), state.paid.at[at].set(cost, mode="drop"), complete, at + 1,
        state.spent + cost, jnp.maximum(state.best, value),
    )  # fmt: skip
    budget = batch.budgets[task]
    ended = (budget - after.spent <= ROUNDING * budget) | (after.steps >= batch.limits[task])
    return after, value, ended | (complete >= batch.rows[task])


def free(batch: TaskBatch, state: EpisodeState) -> Array:
    """Return the (R,) bool mask of the table's configurations that are not in `evaluated`, False for padding."""
    rows = jnp.arange(batch.values.shape[1])
    found: Array = (rows < batch.rows[state.task]) & ~(rows[:, None] == state.evaluated).any(axis=1)
    return found


def random_row(batch: TaskBatch, state: EpisodeState, key: Array) -> Array:
    """Return a uniformly random configuration that is not in `evaluated`, of which one must be left, in O(H) time."""
    left = batch.rows[state.task] - (state.evaluated < batch.values.shape[1]).sum()
    k = jnp.floor(jax.random.uniform(key) * left).astype(jnp.int32)
    row: Array = jax.lax.fori_loop(0, len(state.evaluated), lambda i, at: at + (state.evaluated[i] <= at), k)
    return row


def sample(key: Array, scores: Array, mask: Array) -> Array:
    """Draw an index where the (n,) `mask` is true, with probability proportional to exp(score) of (n,) scores."""
    p = jnp.where(mask, jnp.exp(scores - jnp.max(scores, where=mask, initial=-jnp.inf)), 0)
    total, rows = jnp.cumsum(p), jnp.arange(len(p))
    found = (total <= jax.random.uniform(key) * total[-1]).sum()
    return jnp.minimum(found, jnp.where(mask, rows, 0).max())  # rounding may go beyond the last one


def standardised(state: EpisodeState) -> Array:
    """Return the (H,) recorded rewards, standardised and clipped as in `CandidateObservation`, then zeros."""
    y, seen = state.rewards, jnp.arange(state.rewards.shape[0]) < state.steps
    t = jnp.maximum(seen.sum(), 1)
    ordered = jnp.sort(jnp.where(seen, y, jnp.inf))
    median = 0.5 * (ordered[(t - 1) // 2] + ordered[t // 2])
    lead = state.best - median
    cut = jnp.where(lead > 0, jnp.maximum(y, median - TAIL * lead), y)
    apart = jnp.where(seen, cut - jnp.where(seen, cut, 0).sum() / t, 0)
    spread = jnp.sqrt(jnp.square(apart).sum() / t)
    floor = 1e-9 * jnp.maximum(1.0, jnp.abs(jnp.where(seen, y, 0)).max())
    return jnp.clip(apart / jnp.where(spread > floor, spread, 1), -BOUND, BOUND)


def observed(batch: TaskBatch, state: EpisodeState) -> Array:
    """Return (R, 2): 1 for each configuration in `evaluated`, else 0, and its last standardised reward, else 0."""
    z, at, (_, count, _) = standardised(state), jnp.arange(state.rows.shape[0]), batch.values.shape
    rows = jnp.where(at < state.steps, state.rows, count)
    last = jnp.full(count, -1).at[rows].max(at, mode="drop")  # `set` has no defined order for repeated rows
    return jnp.where(last[:, None] >= 0, jnp.stack([jnp.ones(count, z.dtype), z[last]], axis=1), 0)


def history(batch: TaskBatch, state: EpisodeState) -> Array:
    """Return (H, 4 + D): of each recorded evaluation 1, reward, cost, budget left, features in [-1, 1]; then zeros.

    Rewards are `standardised`, cost and budget left are fractions of the budget.
    """
    seen = (jnp.arange(state.rows.shape[0]) < state.steps)[:, None]
    budget = batch.budgets[state.task]
    left = jnp.maximum(1 - jnp.cumsum(state.paid) / budget, 0)
    x = 2 * batch.features[state.task, state.rows] - 1
    numbers = jnp.stack([jnp.ones_like(left), standardised(state), state.paid / budget, left], axis=1)
    return jnp.where(seen, jnp.concatenate([numbers, x], axis=1), 0)
