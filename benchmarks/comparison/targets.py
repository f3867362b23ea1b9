"""Targets of Zhang and Duh (2020) and their tolerances: pure functions of saved runs, and a table of them.

With one objective: fixed-target best, fixed-target close and fixed budget (their section 4.1). With several:
fixed-target one and all, and fixed budget, of the Pareto front (section 4.2). Runtime is counted in evaluations.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from hpo_envs.benchmarks.analysis import intervals, regret
from hpo_envs.benchmarks.analysis.scales import of_header
from hpo_envs.benchmarks.runs import Run
from hpo_envs.tables.table import Floats


def first_reaching(reached: npt.ArrayLike) -> float:
    """Return the 1-based position of the first True, inf if there is none."""
    return float(next(iter(np.flatnonzero(reached) + 1), np.inf))


def ftb(rewards: npt.ArrayLike, best: float) -> float:
    """Fixed-target best: evaluations until the (k,) rewards reach the best of the table, inf if never (section 4.1)."""
    return first_reaching(np.asarray(rewards, dtype=float) >= best)


def ftc(rewards: npt.ArrayLike, best: float, tolerance: float = 0.5) -> float:
    """Fixed-target close: evaluations until (k,) rewards reach `best - tolerance`, inf if never (Table 3: 0.5 or 1)."""
    return first_reaching(np.asarray(rewards, dtype=float) >= best - tolerance - 1e-9)  # 26.09 - 0.5 is rounded


def fb(rewards: npt.ArrayLike, best: float, budget: int = 20) -> float:
    """Fixed budget: best of the table minus best of the first `budget` of (k,) rewards (section 4.1; 20 in Table 3)."""
    return float(best - np.max(np.asarray(rewards, dtype=float)[:budget]))


def fto(rewards: npt.ArrayLike, front: npt.ArrayLike) -> float:
    """Fixed-target one: evaluations until (k, m) rewards meet the (J, m) Pareto front, inf if never (section 4.2)."""
    return first_reaching(_members(rewards, front).any(axis=1))


def fta(rewards: npt.ArrayLike, front: npt.ArrayLike) -> float:
    """Fixed-target all: evaluations until (k, m) rewards have all of the (J, m) front, inf if never (section 4.2)."""
    found = np.logical_or.accumulate(_members(rewards, front), axis=0)
    return first_reaching(found.all(axis=1))


def fbp(rewards: npt.ArrayLike, front: npt.ArrayLike, budget: int) -> float:
    """Fixed budget: number of points of the (J, m) front among the first `budget` of (k, m) rewards (section 4.2)."""
    return float(_members(np.asarray(rewards, dtype=float)[:budget], front).any(axis=0).sum())


def _members(rewards: npt.ArrayLike, front: npt.ArrayLike) -> npt.NDArray[np.bool_]:
    """(k, J) bool: which evaluation is which point of the front."""
    r, f = np.asarray(rewards, dtype=float), np.asarray(front, dtype=float)
    return np.asarray((r[:, None, :] == f[None, :, :]).all(axis=2))


def attainment(sets: Sequence[npt.ArrayLike], grid: npt.ArrayLike, share: float = 0.5) -> Floats:
    """Return the best second reward that a fraction of the runs attained together with each first reward.

    This is an empirical attainment surface (Fonseca, Grunert da Fonseca and Paquete 2005): at least `share` of the runs
    found a point at least as good in both rewards.

    Args:
        sets: Per run (k, 2) rewards, higher is better.
        grid: (g,) first rewards.
        share: Fraction of the runs, above 0 and at most 1.

    Returns:
        (g,) second rewards, -inf where too few runs attained the first.
    """
    levels = np.asarray(grid, dtype=float)
    best = np.full((len(sets), len(levels)), -np.inf)
    for i, points in enumerate(sets):
        p = np.asarray(points, dtype=float)
        p = p[np.argsort(-p[:, 0], kind="stable")]
        # Points whose first reward is at least the level are a prefix.
        count = np.searchsorted(-p[:, 0], -levels, "right")
        running = np.concatenate([[-np.inf], np.maximum.accumulate(p[:, 1])])
        best[i] = running[count]
    needed = max(int(np.ceil(share * len(sets) - 1e-9)), 1)
    return np.asarray(-np.sort(-best, axis=0)[needed - 1])


LEGEND = """\
best: best reward of a run (with repeats, the true mean of its incumbent); fb: how far it stays below the best of the
table; ftb: evaluations until the table's best;
ftc: evaluations until {close}. Several objectives: fbp: points of the Pareto front found; fto:
evaluations until one of them; fta: until all. A target that some runs never met has no mean: the share that met it.
Mean ± standard deviation [95 % interval of the mean for other seeds]"""

CLOSE = 0.1
"""Default tolerance of `ftc`, as a fraction of best - median."""


def tolerance_of(run: Run, tolerance: float | None) -> float:
    """Return the tolerance of `ftc` for a run with one objective, in units of the reward.

    None stands for `CLOSE` times the distance from median to best, or 0 if no scale is known.
    """
    if tolerance is not None:
        return tolerance
    scale = of_header(run.header)
    return 0.0 if scale.source == "none" else CLOSE * float(scale.best[0] - scale.reference[0])


def legend(by_agent: Mapping[str, Sequence[Run]], tolerance: float | None = None) -> str:
    """Return the legend of the targets for runs of one id; arguments are those of `summarise`."""
    first = next(iter(by_agent.values()))[0]
    (name, *others), close = first.header["objectives"], "close to it"
    if not others and of_header(first.header).source != "none":
        close = f"within {tolerance_of(first, tolerance):.3g} of it, in the unit of {name}"
        close += "" if tolerance is not None else f" ({CLOSE:g} of what the best is above the median; --tolerance)"
    return LEGEND.format(close=close)


def score(run: Run, tolerance: float | None = None) -> dict[str, float]:
    """Return targets of a run: `best` and, with a scale, `fb`, `ftb`, `ftc`; of several objectives `fbp`, `fto`, `fta`.

    If rewards are noisy, true means take their place, see `regret.incumbents`.

    Raises:
        ValueError: Several objectives without a known front; or a run without evaluations or without a scale.
    """
    scale, rewards = of_header(run.header), run.evaluated.get("truth", run.rewards)
    if not len(run):
        raise ValueError(f"runs must have at least one evaluation, got none with seed {run.seed}")
    if rewards.ndim == 2:
        if scale.source in ("bounds", "none"):
            env, got = run.header["env"], rewards.shape[1]
            raise ValueError(f"objective must be one name on {env}, whose Pareto front is not known, got {got}")
        front = scale.front
        return {"fbp": fbp(rewards, front, len(run)), "fto": fto(rewards, front), "fta": fta(rewards, front)}
    rewards = regret.incumbents(run)
    top = float(rewards[-1])
    if scale.source == "none":
        return {"best": top}
    best = float(scale.best[0])
    close = ftc(rewards, best, tolerance_of(run, tolerance))
    return {"best": top, "fb": best - top, "ftb": ftb(rewards, best), "ftc": close}


def summarise(by_agent: Mapping[str, Sequence[Run]], tolerance: float | None = None) -> list[dict[str, Any]]:
    """Return a record per agent and target: n, fraction of runs that reached it; mean, std and interval if all did.

    `by_agent` are runs on one id by agent; `tolerance` is that of `tolerance_of`.

    Raises:
        ValueError: There are no runs, or they are on different ids or kinds of tables; see also `score`.
    """
    mixed = {(run.header["env"], run.header["kind"]) for runs in by_agent.values() for run in runs}
    if len(mixed) != 1:
        raise ValueError(f"runs must share id and kind of table, got {sorted(mixed)}")
    records = []
    for agent, runs in by_agent.items():
        scores = [score(run, tolerance) for run in sorted(runs, key=lambda run: run.seed)]
        for name in scores[0]:
            values = np.array([found[name] for found in scores])
            reached = float(np.isfinite(values).mean())
            record = {"agent": agent, "score": name, "n": len(values), "reached": reached}
            if reached == 1.0:
                least = -np.inf if name == "best" else 0.0
                mean, low, high = map(float, intervals.interval(values[None], bounds=(least, np.inf)))
                record |= {"mean": mean, "std": float(values.std()), "low": low, "high": high}
            records.append(record)
    return records


def rows(records: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    """Return the records as rows of text: a header, and one row per agent with a cell per target."""
    cells: dict[str, dict[str, str]] = {}
    for r in records:
        cells.setdefault(r["agent"], {})[r["score"]] = _cell(r)
    names = [*dict.fromkeys(r["score"] for r in records)]
    return [["agent", *names], *([agent, *map(own.__getitem__, names)] for agent, own in cells.items())]


def _cell(record: Mapping[str, Any]) -> str:
    if "mean" not in record:
        return f"met by {record['reached']:.0%}"
    # Correlations and rates need more digits than BLEU or counts.
    digits = 2 if abs(record["mean"]) >= 1.0 else 4
    mean, std, low, high = (f"{record[k]:.{digits}f}" for k in ("mean", "std", "low", "high"))
    return f"{mean} ± {std}" if record["n"] == 1 else f"{mean} ± {std} [{low}, {high}]"
