"""Scale of normalised regret: best known and median reward, reference point of the hypervolume, noise.

It is part of the header of each run, so that scores need neither the table nor other runs.
"""

import functools
import itertools
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hpo_envs.agents.models.pareto import pareto_front
from hpo_envs.core.params import Params
from hpo_envs.tables.table import LOST, Floats

REFERENCES = Path(__file__).with_name("references.json")
"""File of the scales of spaces that no table lists, made by `python -m hpo_envs.benchmarks.references`."""

ELSEWHERE = ("table", "budget", "cost", "objective", "task", "lang", "architecture", "sweeps")
"""Arguments that change no reward, or that another part of a reference's name contains."""

ARRAYS = ("signs", "best", "reference", "front")


@dataclass(frozen=True)
class Scale:
    """Scale of normalised regret; never shown to an agent.

    Attributes:
        source: Origin of the scale: `table`; `reference` (the committed study of a space that no table lists); `given`
            (by the user); `bounds` (of the metrics: several objectives of a space that no table lists); or `none`: raw
            scores.
        signs: (m,) factors from rewards to native units.
        best: (m,) best reward of each objective; empty if the source is `none`.
        reference: (m,) reward of regret 1, the median; with several objectives the reference point of the hypervolume;
            empty if the source is `none`.
        front: (J, m) rewards of the Pareto front; empty with one objective.
        repeats: Largest number of repeats averaged in a true mean; 1: rewards are the truth.
        noise: Root of the mean variance of a row's repeats, in standard deviations of the rows' means.
    """

    source: str
    signs: Floats
    best: Floats
    reference: Floats
    front: Floats
    repeats: int = 1
    noise: float = 0.0

    def header(self) -> dict[str, Any]:
        """Return the scale as plain data, for the header of a run."""
        arrays = {name: getattr(self, name).tolist() for name in ARRAYS}
        return {"source": self.source, **arrays, "repeats": self.repeats, "noise": self.noise}


def scale_of(header: Mapping[str, Any]) -> dict[str, Any]:
    """Return the scale in the header of a run as plain data; a header without one raises a `ValueError`."""
    if "scale" not in header:
        raise ValueError(f"header must have a scale, got none for {header['agent']} on {header['env']}: repeat the run")
    return header["scale"]  # type: ignore[no-any-return]


def of_header(header: Mapping[str, Any]) -> Scale:
    """Return the `Scale` in the header of a run; errors are those of `scale_of`."""
    h, m = scale_of(header), len(header["objectives"])
    signs, best, reference, front = (np.array(h[name], float) for name in ARRAYS)
    return Scale(h["source"], signs, best, reference, front.reshape(-1, m), int(h["repeats"]), float(h["noise"]))


class Scales:
    """The scales of the episodes of one environment, from its id, parameters and arguments."""

    def __init__(self, env_id: str, params: Params, env_kwargs: Mapping[str, Any]) -> None:
        self._id, self._params = env_id, params
        self._rewards = functools.cache(functools.partial(rewards_of, params))
        self._arguments = {k: v for k, v in env_kwargs.items() if k not in ELSEWHERE}

    def of(self, table: int, rows: npt.NDArray[np.int64] | None = None) -> Scale:
        """Return the scale of an episode on a table (index in `params.tables`) and its (k,) rows; None: all."""
        p, nothing = self._params, np.empty(0)
        if p.known is not None:
            return self._named("given", *p.known)
        if (known := self._rewards(table)) is not None:
            final, peaks = known if rows is None else (a[rows] for a in known)
            final = final[~np.isnan(final).any(axis=1)]
            if len(final):
                if p.vector:
                    return self._several(final, table)
                # A run may stop at any level, and the best one need not be the last.
                return self._named("table", np.nanmax(peaks, axis=0), np.median(final, axis=0), **self._noise(table))
        if p.vector and p.bounded:
            return self._named("bounds", p.high, p.low)
        found = None if p.vector else references().get(name_of(self._id, p, table, self._arguments))
        return self._named("reference", *found) if found else self._named("none", nothing, nothing)

    def headers(self, tables: npt.NDArray[np.int64], rows: npt.NDArray[np.int64] | None) -> list[dict[str, Any]]:
        """Return `Scale.header` of each of n episodes; the dicts may share lists.

        `tables` are (n,) indices in `params.tables`, `rows` the (n, k) table rows of the episodes; None: all rows.
        """
        found: dict[int, dict[str, Any]] = {}
        for table in np.unique(tables).tolist():
            index = np.flatnonzero(tables == table)
            found |= zip(index.tolist(), self._each(table, None if rows is None else rows[index]), strict=False)
        return [found[i] for i in range(len(tables))]

    def _each(self, table: int, rows: npt.NDArray[np.int64] | None) -> Iterable[dict[str, Any]]:
        """Return the headers of the scales of one table's episodes; if `rows` is None, repeat one header endlessly."""
        p = self._params
        first = self.of(table, None if rows is None else rows[0]).header()
        if rows is None:
            return itertools.repeat(first)
        known = None if p.known is not None or p.vector else self._rewards(table)
        if known is None or np.isnan(known[0]).any():
            return (self.of(table, r).header() for r in rows)
        final, peaks = (a[:, 0][rows] for a in known)
        ends = zip(np.nanmax(peaks, axis=1).tolist(), np.median(final, axis=1).tolist(), strict=True)
        return ({**first, "best": [best], "reference": [median]} for best, median in ends)

    def _named(self, source: str, best: npt.ArrayLike, reference: npt.ArrayLike, **facts: Any) -> Scale:
        best, reference = np.array(best, float), np.array(reference, float)
        front = best[None] if self._params.vector else np.empty((0, self._params.reward_dim))
        return Scale(source, self._params.signs, best, reference, **{"front": front, **facts})

    def _several(self, final: Floats, table: int) -> Scale:
        """Return the scale for several objectives; its reference point is a tenth beyond the front's worst corner."""
        front = final[pareto_front(final)]
        front = front[np.lexsort(front.T[::-1])]  # whatever the order of the rows
        best, worst = front.max(axis=0), front.min(axis=0)
        span = np.where(best > worst, best - worst, np.maximum(np.abs(best), 1.0))
        return self._named("table", best, worst - 0.1 * span, front=front, **self._noise(table))

    def _noise(self, table: int) -> dict[str, Any]:
        """`repeats` and `noise` of a scale, both of the first objective; empty for a table without repeats."""
        t, name = self._params.tables[table], self._params.objectives[0]
        if t.repeats == 1:
            return {}
        ends = t.ends(name)
        count = (~np.isnan(ends)).sum(axis=1)
        several = ends[count > 1]
        within = np.nanvar(several, axis=1, ddof=1).mean() if len(several) else 0.0
        between = np.nanstd(t.final(name))
        noise = float(np.sqrt(within) / between) if between > 0 else 0.0
        return {"repeats": int(count.max()), "noise": noise}


def rewards_of(params: Params, table: int) -> tuple[Floats, Floats] | None:
    """Return (rows, m) true rewards at the last level, and (rows, m) best ones at any level, of a table.

    None if the table is not the whole space. Rows without measurements are NaN, and in tables with repeats those with a
    failed or diverged repeat.
    """
    t = params.tables[table]
    if params.kind in ("box", "graph"):
        return None
    if t.repeats == 1 and params.kind != "arms":
        columns = [t.metric(name) for name in params.objectives]
        final = np.stack([t.final(name) for name in params.objectives], axis=1) * params.signs
        return final, np.fmax.reduce(t.values[:, 0][..., columns] * params.signs, axis=1)
    means = params.truth(table, every_action(params, len(t)))
    assert means is not None
    means = means.reshape(len(t), -1, params.reward_dim).copy()
    means[np.isin(t.status, LOST).any(axis=1)] = np.nan
    return means[:, -1], means.max(axis=1)


def every_action(params: Params, rows: int) -> npt.NDArray[np.int64]:
    """Return all actions on a table, row by row: (rows,), (rows * levels, 2) with a fidelity, (rows, d) on grids."""
    if params.kind == "fidelity":
        assert params.levels is not None
        return np.stack(np.divmod(np.arange(rows * len(params.levels)), len(params.levels)), axis=1)
    if params.kind == "grid":
        space: Any = params.action_space
        return np.stack(np.unravel_index(np.arange(rows), tuple(space.nvec)), axis=1)
    return np.arange(rows)


def name_of(env_id: str, params: Params, table: int, arguments: Mapping[str, Any]) -> str:
    """Return the name of a reference: id, table and hash of its content, objectives, arguments that change rewards."""
    t = params.tables[table]
    rest = [json.dumps(dict(arguments), sort_keys=True, default=repr)] if arguments else []
    return " ".join([env_id, t.name, t.provenance.kind, t.provenance.sha256, *params.objectives, *rest])


@functools.cache
def references() -> dict[str, tuple[list[float], list[float]]]:
    """Return ([best reward], [reference reward]) in the committed study, by the name from `name_of`."""
    text = json.loads(REFERENCES.read_text(encoding="utf-8"))
    return {r["name"]: ([r["best"]], [r["reference"]]) for r in text["references"]}
