"""Who is best of a track, on its environments and on environments like these, as plain data.

Tables and sentences of `compare`, of reports and of the leaderboard are made of what is computed here and of nothing
else. `inference` has the statistics.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from hpo_envs.benchmarks.analysis import inference, statistics

Floats = npt.NDArray[np.float64]

FEW = 20
"""Runs of an agent below which an interval of scores that are mostly 0 is marked as unreliable."""

AT_ONCE = 2**21
"""Scores that intervals are computed of at once: 16 MB, and some five copies."""


def interval(
    scores: npt.ArrayLike, estimate: inference.Estimate | None = None, bounds: tuple[float, float] = (0.0, 1.0)
) -> list[Any]:
    """[mean, low, high] of scores on these environments; NaN where there can be no interval.

    Args:
        scores: (..., environments, seeds), NaN where a seed was not run.
        estimate: Of these scores, where it is not `inference.here`.
        bounds: What a mean can be at least and at most, unless a score is beyond that.
    """
    s = np.asarray(scores, dtype=float)
    e = inference.here(s) if estimate is None else estimate
    enough = (s.shape[-2] > 1) | (np.isfinite(s).sum(axis=(-2, -1)) >= inference.FEWEST_SEEDS)
    least = np.where(np.nanmin(s, axis=(-2, -1)) < bounds[0], -np.inf, bounds[0])
    most = np.where(np.nanmax(s, axis=(-2, -1)) > bounds[1], np.inf, bounds[1])
    low, high = (np.where(enough, x, np.nan) for x in (np.maximum(e.low, least), np.minimum(e.high, most)))
    return [e.mean[()], low[()], high[()]]


def bands(rows: Sequence[Floats]) -> list[Any]:
    """`interval` of the (seeds, points) curves of each environment; of many seeds some points at a time, for memory."""
    points = rows[0].shape[1]
    split = np.array_split(np.arange(points), min(-(-sum(r.size for r in rows) // AT_ONCE), points))
    parts = [interval(padded([r[:, some] for r in rows])) for some in split]
    return [np.concatenate(ends) for ends in zip(*parts, strict=True)]


def padded(rows: Sequence[Floats]) -> Floats:
    """(..., environments, seeds) of the (seeds, ...) scores of each environment, NaN where one has fewer seeds."""
    most = max(map(len, rows))
    full = np.full((len(rows), most, *rows[0].shape[1:]), np.nan)
    for i, row in enumerate(rows):
        full[i, : len(row)] = row
    return np.moveaxis(full, (0, 1), (-2, -1))


def judged(scores: Mapping[str, Floats], clusters: Sequence[Any]) -> dict[str, Any]:
    """Ranks agents and compares each with each.

    Args:
        scores: By agent (environments, seeds) scores, lower is better; NaN where a seed was not run. Seeds of all
            agents stand in the same columns.
        clusters: Label of each environment; those with equal labels are related, and count as one.

    Returns:
        `clusters`, their number; `standings`, in the order of the means, with the intervals of each agent on these
        environments (`mean`) and on environments like these (`elsewhere`) and whether it is "best", "may be best" or
        "worse" `here` and `there`; `pairs`; and `best`, the agent that alone is best `here` and `there`, or None.
        No one is best elsewhere with fewer clusters than `inference.FEWEST_CLUSTERS`: all are "open" there; nor is
        anyone but the agent that is best here.
    """
    names = sorted(scores, key=lambda a: float(np.nanmean(scores[a], axis=1).mean()))
    stacked = np.stack([scores[a] for a in names])
    runs = np.isfinite(stacked).sum(axis=(1, 2))
    pairs = _pairs(names, stacked, clusters)
    count = len(dict.fromkeys(clusters))
    few = len(clusters) == 1 and runs.min() < inference.FEWEST_SEEDS
    here = _standing(names, pairs, "here") if not few else dict.fromkeys(names, "open")
    best = {"here": next((a for a in names if here[a] == "best"), None), "there": None}
    there = dict.fromkeys(names, "open")
    if count >= inference.FEWEST_CLUSTERS:
        means = dict(zip(names, inference.grouped(np.nanmean(stacked, axis=2), clusters).mean(axis=1), strict=True))
        there = _standing(sorted(names, key=means.__getitem__), pairs, "there", best["here"])
        best["there"] = next((a for a in names if there[a] == "best"), None)
    mean, elsewhere = interval(stacked), interval(stacked, inference.elsewhere(stacked, clusters))
    zeros = np.nanmean(stacked == 0.0, axis=(1, 2)) > 0.5
    standings = [
        {
            "agent": a,
            "mean": [float(x[i]) for x in mean],
            "elsewhere": [float(x[i]) for x in elsewhere],
            "here": here[a],
            "there": there[a],
            "unreliable": bool(zeros[i] and runs[i] < FEW),
        }
        for i, a in enumerate(names)
    ]
    return {"clusters": count, "standings": standings, "pairs": pairs, "best": best}


def against(pairs: Sequence[Mapping[str, Any]], a: str, b: str) -> dict[str, Any] | None:
    """How agent a does against agent b, whichever way round the pair was stored; None if there is no such pair."""
    for p in pairs:
        if (p["a"], p["b"]) == (a, b):
            return dict(p)
        if (p["a"], p["b"]) == (b, a):
            turned = {"a": a, "b": b, "here": _turned(p["here"]), "there": _turned(p["there"])}
            turned |= {"ahead": p["behind"], "behind": p["ahead"], "improvement": 1 - p["improvement"]}
            return turned
    return None


def _turned(p: Mapping[str, Any]) -> dict[str, Any]:
    mean, low, high = (None if v is None else -v for v in p["difference"])
    verdict = {"better": "worse", "worse": "better"}.get(p["verdict"], p["verdict"])
    return {**p, "difference": [mean, high, low], "verdict": verdict}


def _pairs(names: Sequence[str], scores: Floats, clusters: Sequence[Any]) -> list[dict[str, Any]]:
    """Every agent against every other one, on the seeds that both ran; scores (agents, environments, seeds)."""
    first, second = np.triu_indices(len(names), 1)
    if not len(first):
        return []
    apart = scores[first] - scores[second]
    for missing in np.flatnonzero(~np.isfinite(apart).any(axis=-1).all(axis=-1))[:1]:
        a, b = names[first[missing]], names[second[missing]]
        raise ValueError(f"agents must share a seed on every environment, got none for {a!r} and {b!r}")
    here, there = inference.here(apart), inference.elsewhere(apart, clusters)
    count = len(dict.fromkeys(clusters))
    table = inference.moderated(there, count) if len(names) > 2 else there
    ahead = np.nanmean(apart, axis=-1)
    improvement = statistics.probability_of_improvement(scores)
    enough = apart.shape[1] > 1 or np.isfinite(apart[0]).sum() >= inference.FEWEST_SEEDS
    decides = count >= inference.FEWEST_CLUSTERS
    kinds = (("here", here, here, enough), ("there", there, table, decides))
    holm = {where: inference.holm(tested.p) for where, _, tested, _ in kinds}
    records = []
    for i, (j, k) in enumerate(zip(first.tolist(), second.tolist(), strict=True)):
        record: dict[str, Any] = {"a": names[j], "b": names[k]}
        for where, e, _, tested in kinds:
            ends = [float(x[i]) for x in (e.low, e.high)] if enough or where == "there" else [np.nan, np.nan]
            p, p_holm = (float(e.p[i]), float(holm[where][i])) if tested else (np.nan, np.nan)
            verdict = "open" if not tested else "not told apart"
            if p_holm < inference.ALPHA:
                verdict = "better" if e.mean[i] < 0 else "worse"
            record[where] = {"difference": [float(e.mean[i]), *ends], "p": p, "p_holm": p_holm, "verdict": verdict}
        record["ahead"] = int((ahead[i] < -inference.ROUNDING).sum())
        record["behind"] = int((ahead[i] > inference.ROUNDING).sum())
        record["improvement"] = float(improvement[j, k])
        records.append(record)
    return records


def _standing(
    names: Sequence[str], pairs: Sequence[Mapping[str, Any]], where: str, only: str | None = ""
) -> dict[str, str]:
    """By agent: best (alone), may be best, or worse.

    Args:
        names: The first one has the lowest mean.
        pairs: Of all agents.
        where: "here" or "there".
        only: The agent that alone may be called best; empty: any.
    """
    first, rivals = names[0], names[1:]
    if not rivals:
        return {first: "open"}
    found = [p for r in rivals if (p := against(pairs, first, r))]
    # A lead on all seeds that is none on the shared ones is no lead.
    p_values = [f[where]["p"] if f[where]["difference"][0] < 0 else 1.0 for f in found]
    sole, as_well = inference.leader(p_values)
    if sole and only not in ("", first):
        sole, as_well = np.array(False), inference.holm(p_values) >= inference.ALPHA
    rest = {r: "may be best" if kept else "worse" for r, kept in zip(rivals, as_well, strict=True)}
    return {first: "best" if sole else "may be best", **rest}
