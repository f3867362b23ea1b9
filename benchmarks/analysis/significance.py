"""Significance tests within a track: Holm's correction, the winner, agents tied for best, all pairs.

Rankings and verdicts of `compare`, of reports and of the leaderboard use these numbers. `intervals` has the estimates,
`docs/statistics.md` the simulations behind the choice of procedures.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from hpo_envs.benchmarks.analysis import intervals, statistics
from hpo_envs.tables.table import Floats

FEW = 20
"""Number of runs below which an agent's interval is marked as unreliable if most scores are 0."""


def holm(p_values: npt.ArrayLike) -> Floats:
    """Return Holm's (1979) adjusted p-values over the last axis: below alpha exactly where the procedure rejects."""
    p = np.asarray(p_values, dtype=float)
    order = np.argsort(p, axis=-1, kind="stable")
    steps = np.take_along_axis(p, order, axis=-1) * np.arange(p.shape[-1], 0, -1)
    adjusted = np.empty_like(p)
    np.put_along_axis(adjusted, order, np.minimum(1.0, np.maximum.accumulate(steps, axis=-1)), axis=-1)
    return adjusted


TIED, INCONCLUSIVE, DIFFERENT = "tied for best", "inconclusive", "not significantly different"
"""Verdicts without a winner: on an agent, with too few data, on a pair of agents."""


def leader(p_values: npt.ArrayLike) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Test whether the agent with the lowest mean is the sole best, and which rivals tie with it.

    The sole best is better than every rival by an uncorrected test: all tests have to reject, so no correction is
    needed (Gutmann and Maymin 1987; Hung and Fithian 2019). Ties are rivals whose hypothesis Holm's procedure over
    these comparisons does not reject.

    Args:
        p_values: (..., rivals) uncorrected p-values of the leader against each rival.

    Returns:
        (...) bool: whether the leader is the sole best; (..., rivals) bool: rivals tied for best, none if it is.
    """
    p = np.asarray(p_values, dtype=float)
    sole = np.asarray((p < intervals.ALPHA).all(axis=-1))
    return sole, (holm(p) >= intervals.ALPHA) & ~sole[..., None]


def judged(scores: Mapping[str, Floats], groups: Sequence[Any]) -> dict[str, Any]:
    """Return the ranking of the agents and the comparisons of all pairs.

    Args:
        scores: Agent -> (environments, seeds) scores, lower is better; NaN where a seed was not run. Columns are the
            same seeds for all agents.
        groups: Label of each environment; environments with equal labels are related and count as one.

    Returns:
        `groups`, their number; `standings`, in the order of the means, with the intervals of each agent on these
        environments (`mean`) and across tasks (`elsewhere`) and whether it is "best", "tied for best" or "worse" `here`
        (fixed tasks) and `there` (across tasks), and whether its interval is `unreliable`; `pairs`; and `best`, the
        sole best agent `here` and `there`, or None. A single agent is "inconclusive"; so are a pair that shares fewer
        seeds than `intervals.FEWEST_SEEDS` on the only environment, and then all agents, and everything across fewer
        groups than `intervals.FEWEST_GROUPS`. Only the agent that is best on fixed tasks can be best across tasks.

    Raises:
        ValueError: Two agents share no seed on an environment, or there is not one label for each environment.
    """
    names = sorted(scores, key=lambda a: float(np.nanmean(scores[a], axis=1).mean()))
    stacked = np.stack([scores[a] for a in names])
    runs = np.isfinite(stacked).sum(axis=(1, 2))
    pairs, count = _pairs(names, stacked, groups), len(set(groups))
    here = there = dict.fromkeys(names, INCONCLUSIVE)
    if not any(p["here"]["verdict"] == INCONCLUSIVE for p in pairs):
        here = _standing(names, pairs, "here")
    best = {"here": next((a for a in names if here[a] == "best"), None), "there": None}
    if count >= intervals.FEWEST_GROUPS:
        means = dict(zip(names, intervals.grouped(np.nanmean(stacked, axis=2), groups).mean(axis=1), strict=True))
        there = _standing(sorted(names, key=means.__getitem__), pairs, "there", best["here"])
        best["there"] = next((a for a in names if there[a] == "best"), None)
    mean = np.stack(intervals.interval(stacked), axis=1).tolist()
    elsewhere = np.stack(intervals.interval(stacked, intervals.across_tasks(stacked, groups)), axis=1).tolist()
    unreliable = ((np.nanmean(stacked == 0.0, axis=(1, 2)) > 0.5) & (runs < FEW)).tolist()
    standings = [
        {"agent": a, "mean": m, "elsewhere": e, "here": here[a], "there": there[a], "unreliable": u}
        for a, m, e, u in zip(names, mean, elsewhere, unreliable, strict=True)
    ]
    return {"groups": count, "standings": standings, "pairs": pairs, "best": best}


def against(pairs: Sequence[Mapping[str, Any]], a: str, b: str) -> dict[str, Any] | None:
    """Return the comparison of agent a with agent b, reversed if it is stored as b with a; None without the pair."""
    for p in pairs:
        if (p["a"], p["b"]) == (a, b):
            return dict(p)
        if (p["a"], p["b"]) == (b, a):
            counts = {"ahead": p["behind"], "behind": p["ahead"], "improvement": 1 - p["improvement"]}
            return {"a": a, "b": b, "here": _turned(p["here"]), "there": _turned(p["there"]), **counts}
    return None


def _turned(p: Mapping[str, Any]) -> dict[str, Any]:
    mean, low, high = (None if v is None else -v for v in p["difference"])
    verdict = {"better": "worse", "worse": "better"}.get(p["verdict"], p["verdict"])
    return {**p, "difference": [mean, high, low], "verdict": verdict}


def _pairs(names: Sequence[str], scores: Floats, groups: Sequence[Any]) -> list[dict[str, Any]]:
    """Test all pairs of agents on their common seeds; scores are (agents, environments, seeds)."""
    first, second = np.triu_indices(len(names), 1)
    if not len(first):
        return []
    apart = scores[first] - scores[second]
    for missing in np.flatnonzero(~np.isfinite(apart).any(axis=-1).all(axis=-1))[:1]:
        a, b = names[first[missing]], names[second[missing]]
        raise ValueError(f"agents must share a seed on every environment, got none for {a!r} and {b!r}")
    here, there = intervals.fixed_tasks(apart), intervals.across_tasks(apart, groups)
    ahead = np.nanmean(apart, axis=-1)
    improvement = statistics.probability_of_improvement(scores)
    enough = np.isfinite(apart).sum(axis=(1, 2)) >= (intervals.FEWEST_SEEDS if apart.shape[1] == 1 else 0)
    decides = np.full(len(enough), len(set(groups)) >= intervals.FEWEST_GROUPS)
    kinds = []
    for where, e, tested in (("here", here, enough), ("there", there, decides)):
        p, adjusted = np.where(tested, e.p, np.nan), np.full(len(tested), np.nan)
        adjusted[tested] = holm(p[tested])
        kinds.append((where, e, p, adjusted))
    records = []
    for i, (j, k) in enumerate(zip(first.tolist(), second.tolist(), strict=True)):
        record: dict[str, Any] = {"a": names[j], "b": names[k]}
        for where, e, p, adjusted in kinds:
            ends = [float(x[i]) for x in (e.low, e.high)] if enough[i] or where == "there" else [np.nan, np.nan]
            verdict = INCONCLUSIVE if np.isnan(p[i]) else DIFFERENT
            if adjusted[i] < intervals.ALPHA:
                verdict = "better" if e.mean[i] < 0 else "worse"
            facts = {"p": float(p[i]), "p_holm": float(adjusted[i]), "verdict": verdict}
            record[where] = {"difference": [float(e.mean[i]), *ends], **facts}
        record["ahead"] = int((ahead[i] < -intervals.ROUNDING).sum())
        record["behind"] = int((ahead[i] > intervals.ROUNDING).sum())
        record["improvement"] = float(improvement[j, k])
        records.append(record)
    return records


def _standing(
    names: Sequence[str], pairs: Sequence[Mapping[str, Any]], where: str, only: str | None = ""
) -> dict[str, str]:
    """Return the standing of each agent: best (alone), tied for best, or worse; inconclusive if there is only one.

    The first name must have the lowest mean. `only` names the agent that can be `best`; empty: any; None: none.
    """
    first, rivals = names[0], names[1:]
    if not rivals:
        return {first: INCONCLUSIVE}
    found = [p for r in rivals if (p := against(pairs, first, r))]
    # A lead on all seeds that is none on the shared ones is no lead.
    p_values = [f[where]["p"] if f[where]["difference"][0] < 0 else 1.0 for f in found]
    sole, tied = leader(p_values)
    if sole and only not in ("", first):
        sole, tied = np.array(False), holm(p_values) >= intervals.ALPHA
    rest = {r: TIED if kept else "worse" for r, kept in zip(rivals, tied, strict=True)}
    return {first: "best" if sole else TIED, **rest}
