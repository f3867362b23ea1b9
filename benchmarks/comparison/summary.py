"""Summary of a comparison as plain data: tracks, curves, target regret, rounding, citations; no evaluations.

A summary can be committed and published, and reports are made from it. A *track* is a group of environments of one
family on which the same agents ran, so that they can be ranked.
"""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hpo_envs.benchmarks.analysis import intervals, regret, significance, statistics
from hpo_envs.benchmarks.analysis.scales import of_header
from hpo_envs.benchmarks.comparison.scored import GRID, ByAgent, Header, ScoredRuns, Scores
from hpo_envs.benchmarks.runs.record import budget_apart
from hpo_envs.families import registry
from hpo_envs.tables import store as tables
from hpo_envs.tables.checks import parsed
from hpo_envs.tables.table import Floats

PARTS = ("title", "command", "versions", "environments", "agents", "tracks", "cells", "curves", "fronts", "selections")
"""Keys that every summary has."""


def parts(collected: Scores) -> tuple[dict[str, dict[str, ScoredRuns]], dict[str, dict[str, Any]], dict[str, Any]]:
    """Return scores, the header of each environment's first run, and a dict of `tracks`, `cells` and `selections`.

    It calls `Scores.scored`, which is possible once; errors are those of this method and of `significance.judged`.
    """
    scored, first = collected.scored(), collected.first()
    chosen: dict[str, list[dict[str, Any]]] = {}
    if any((family := registry.family_of(h["env"])) and family.score == "final" for h in first.values()):
        from hpo_envs.benchmarks.comparison import selections

        chosen = selections.of_scored(first, scored)
    cells = [_record(env, a, c) for env, by in scored.items() for a, c in by.items()]
    return scored, first, {"tracks": _ranked(collected, first, scored), "cells": cells, "selections": chosen}


def whole(
    collected: Scores,
    scored: ByAgent,
    first: Mapping[str, Header],
    found: Mapping[str, Any],
    facts: Mapping[str, str],
    with_fronts: bool,
) -> dict[str, Any]:
    """Return the summary from scores and the results of `parts` on them (`scored`, `first` and `found`).

    It is plain data by the names in `PARTS`, and the other `facts`: `checked` and, if runs are missing, `missing`.
    Without `with_fronts` there are no attainment surfaces, which contain rewards.
    """
    cells = {key: collected.cells[key] for key in collected.ordered()}
    agents: dict[str, dict[str, Any]] = {}
    for (_, agent), cell in cells.items():
        agents.setdefault(agent, cell.header)
    fronts: dict[str, Any] = {}
    if with_fronts and any(cell.fronts for cell in cells.values()):
        from hpo_envs.benchmarks.comparison import surfaces

        fronts = surfaces.of_cells(cells)
    summary = {
        **facts, "versions": dict(next(iter(agents.values()))["versions"]),
        "environments": [_environment(env, first[env], sorted(collected.answered[env])) for env in scored],
        "agents": [_agent(header, name) for name, header in agents.items()],
        "tracks": [{**t, "curves": _track_curves(t, scored)} for t in found["tracks"]], "cells": found["cells"],
        "curves": {env: curves(by, first[env]) for env, by in scored.items()}, "fronts": fronts,
        "selections": found["selections"],
    }  # fmt: skip
    return dict(rounded(summary))


def _ranked(collected: Scores, first: Mapping[str, Header], scored: ByAgent) -> list[dict[str, Any]]:
    """Return the tracks with the number of `objectives` and, in `left_out`, of degenerate runs by environment."""
    tracks = []
    for name, envs in tracks_of(first, scored):
        left_out = {e: n for e in envs if (n := collected.left_out(e))}
        objectives = len(first[envs[0]]["objectives"])
        tracks.append({**track(name, envs, scored), "objectives": objectives, "left_out": left_out})
    return tracks


def tracks_of(first: Mapping[str, Header], scored: ByAgent) -> list[tuple[str, list[str]]]:
    """Return (name, environments) of each track: of one family, number of objectives, set of agents, `budget_apart`.

    Runs with source tasks are separate tracks, and so is each environment whose scores are raw or whose regret is 0/0.
    """
    groups: dict[Any, list[str]] = {}
    for env, by in scored.items():
        h = first[env]
        family = spec.family if (spec := registry.find(h["env"])) else h["env"]
        alone = env if next(iter(by.values())).raw or all(c.flat.all() for c in by.values()) else ""
        helped = h.get("transfer", {}).get("distribution", "")
        key = (family, len(h["objectives"]), frozenset(by), budget_apart(h), alone, helped)
        groups.setdefault(key, []).append(env)
    several = [(family, budget, helped) for family, _, _, budget, _, helped in groups]
    named: list[tuple[str, list[str]]] = []
    for (family, objectives, _, budget, _, helped), envs in groups.items():
        name = f"{family}, {objectives} objectives" if objectives > 1 else family
        name += "" if budget is None else f", budget {budget:g}"
        name += f", with tables of {helped}" if helped else ""
        if several.count((family, budget, helped)) > 1 and len(envs) == 1:
            name = envs[0]
        taken = [n for n, _ in named].count(name)
        named.append((f"{name} ({taken + 1})" if taken else name, envs))
    return named


def track(name: str, envs: Sequence[str], scored: ByAgent) -> dict[str, Any]:
    """Return the ranking, pairs and means per environment (`heat`) of a track's agents; see `significance.judged`."""
    family = registry.family_of(envs[0].partition(" ")[0])
    measure = family.score if family else "anytime"
    seeds = np.unique(np.concatenate([c.seeds for e in envs for c in scored[e].values()]))
    matrices = {a: _matrix(a, envs, scored, measure, seeds) for a in scored[envs[0]]}
    judged = significance.judged(matrices, groups_of(envs))
    order = [s["agent"] for s in judged["standings"]]
    strata = {a: [scored[e][a].score(measure) for e in envs] for a in order}
    means = {a: [float(s.mean()) for s in strata[a]] for a in order}
    best = [*map(min, zip(*means.values(), strict=True))]
    raw, ranking = scored[envs[0]][order[0]].raw, []
    for standing in judged["standings"]:
        a = standing["agent"]
        pooled, ends = np.concatenate(strata[a]), [scored[e][a].final for e in envs]
        record: dict[str, Any] = {**standing, "n": [len(s) for s in strata[a]]}
        record |= {"median": float(np.median(pooled)), "iqm": float(statistics.iqm(pooled))}
        record["final"] = intervals.interval(intervals.padded(ends))
        record["solved"] = np.nan if raw else float(np.mean([(s <= regret.SOLVED).mean() for s in ends]))
        record["constant"] = all(len(s) > 1 and float(np.ptp(s)) < 1e-12 for s in strata[a])
        record["random"] = sum(bool(scored[e][a].random.all()) for e in envs)
        record["first"] = sum(m <= b + 1e-12 for m, b in zip(means[a], best, strict=True))
        ranking.append(record)
    return {
        "name": name, "score": measure, "raw": raw, "flat": all(scored[e][a].flat.all() for e in envs for a in order),
        "environments": list(envs), "groups": judged["groups"], "best": judged["best"], "ranking": ranking,
        "pairs": judged["pairs"], "heat": means,
    }  # fmt: skip


def groups_of(envs: Sequence[str]) -> list[str]:
    """Return the task group of each environment, see `registry.group_of`."""
    return [registry.group_of(env.partition(" ")[0]) for env in envs]


def _matrix(agent: str, envs: Sequence[str], scored: ByAgent, measure: str, seeds: npt.NDArray[np.int64]) -> Floats:
    """Return the (environments, seeds) scores of an agent, NaN where a seed was not run."""
    matrix = np.full((len(envs), len(seeds)), np.nan)
    for i, e in enumerate(envs):
        cell = scored[e][agent]
        matrix[i, np.searchsorted(seeds, cell.seeds)] = cell.score(measure)
    return matrix


def _track_curves(t: Mapping[str, Any], scored: ByAgent) -> dict[str, Any]:
    """Return curves of regret over the budget and, unless scores are raw, of running times (ECDF, ERT) and scores.

    By `regret`, `ecdf`, `ert` and `profile`: the grid `x`, and for each of `agents` a list of the mean and, of regret,
    the ends of its interval.
    """
    spent, thresholds = np.logspace(-2.5, 0, 51), np.linspace(0.0, 1.0, 51)
    axes = {"regret": GRID, "ecdf": spent, "ert": regret.TARGETS, "profile": thresholds}
    result: dict[str, Any] = {name: {"x": x, "agents": {}} for name, x in axes.items()}
    for a in t["heat"]:
        here = [scored[e][a] for e in t["environments"]]
        result["regret"]["agents"][a] = intervals.bands([c.shares for c in here])
        each = [c.runtimes() for c in here]
        result["ecdf"]["agents"][a] = [np.mean([statistics.ecdf(t, spent) for t in each], axis=0)]
        times, ends = np.concatenate(each), np.concatenate([c.spent for c in here])
        ert = [statistics.expected_runtime(np.minimum(t, ends), np.isfinite(t)) for t in times.T]
        result["ert"]["agents"][a] = [ert]
        below = [(c.score(t["score"])[:, None] <= thresholds + 1e-12).mean(axis=0) for c in here]
        result["profile"]["agents"][a] = [np.mean(below, axis=0)]
    return {"regret": result["regret"]} if t["raw"] else result


def curves(by: Mapping[str, ScoredRuns], first: Header) -> dict[str, Any]:
    """Return the regret on one environment over `evaluations` and, if its budget has another unit, over `cost`."""
    length = next(iter(by.values())).evaluations.shape[1]
    at = np.unique(np.round(np.geomspace(1, length, min(length, 40))).astype(int))
    evaluations = {a: intervals.bands([c.evaluations[:, at - 1]]) for a, c in by.items()}
    result = {"evaluations": {"x": at, "agents": evaluations}}
    if first["cost_unit"] != "evaluations":
        shares = {a: intervals.bands([c.shares]) for a, c in by.items()}
        result["cost"] = {"x": GRID * first["budget"], "agents": shares}
    return result


def _record(env: str, agent: str, cell: ScoredRuns) -> dict[str, Any]:
    times = cell.runtimes([regret.TARGETS[np.argmin(np.abs(regret.TARGETS - 0.1))]])[:, 0]
    return {
        "environment": env, "agent": agent, "n": len(cell.seeds), "anytime": intervals.interval(cell.anytime[None]),
        "anytime_iqm": float(statistics.iqm(cell.anytime)), "final": intervals.interval(cell.final[None]),
        "solved": np.nan if cell.raw else float((cell.final <= regret.SOLVED).mean()),
        "close": statistics.expected_runtime(np.minimum(times, cell.spent), np.isfinite(times)),
        "spent": float(cell.spent.mean()),
    }  # fmt: skip


def _environment(label: str, h: Header, answered: Sequence[tuple[str, str, str]]) -> dict[str, Any]:
    scale = of_header(h)
    return {
        "label": label, "id": h["env"], "family": spec.family if (spec := registry.find(h["env"])) else "",
        "tables": [{"name": n, "kind": k, "sha256": s} for n, k, s in answered], "budget": h["budget"],
        "cost_unit": h["cost_unit"], "objectives": list(h["objectives"]), "optimum": scale.source,
        "repeats": scale.repeats, "noise": scale.noise,
    }  # fmt: skip


def _agent(h: Header, label: str) -> dict[str, Any]:
    from hpo_envs.agents import AGENTS

    entry = AGENTS.get(h.get("algorithm", h["agent"]))
    given = {k: repr(v) for k, v in h["hyperparameters"].items()}
    return {"label": label, "name": h["agent"], "hyperparameters": given, "summary": entry.summary if entry else ""}


def rounded(value: Any, digits: int = 4) -> Any:
    """Return plain data with floats rounded to `digits` significant digits; NaN and infinities become None."""
    if isinstance(value, Mapping):
        return {k: rounded(v, digits) for k, v in value.items()}
    if isinstance(value, (list, tuple, np.ndarray)):
        return [rounded(v, digits) for v in value]
    if isinstance(value, (float, np.floating)):
        return float(f"{value:.{digits}g}") if math.isfinite(value) else None
    return value.item() if isinstance(value, np.generic) else value


def read(path: Path) -> dict[str, Any]:
    """Read a summary from JSON, compressed or not.

    Raises:
        OSError: There is no such file.
        ValueError: The file is not a summary.
    """
    from hpo_envs.tables.files.unpacked import content_of

    found = parsed(path, json.loads, "a folder of runs or a summary (.json)", content_of)
    if missing := [k for k in PARTS if not isinstance(found, dict) or k not in found]:
        raise ValueError(f"{path} must be a summary with {', '.join(PARTS)}, got one without {', '.join(missing)}")
    return dict(found)


def citations(summary: Mapping[str, Any]) -> list[str]:
    """Return the distinct citations of those tables of a summary that are installed."""
    found: dict[str, None] = {}
    for table in (t for e in summary["environments"] for t in e["tables"]):
        with contextlib.suppress(ValueError, OSError):  # a user's own table, or one that is not installed
            found[tables.load(table["name"]).provenance.citation] = None
    return list(found)
