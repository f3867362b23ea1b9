"""Expected cost of a study (`--plan`: seconds, bytes), and its division into parts for several machines (`--part`).

Costs are estimated from the seconds per evaluation in the leaderboard, 0.01 s for other agents. They divide the work
and change no result: a part depends on the study alone, not on stored runs.
"""

import functools
import gzip
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hpo_envs.agents import Problem
from hpo_envs.families import registry


@dataclass(frozen=True)
class PlannedRuns:
    """Runs of an agent on an environment, and their expected cost."""

    environment: str  # id
    agent: str  # name in results
    seeds: tuple[int, ...]
    evaluations: float  # expected number per run
    seconds: float  # expected CPU seconds per run
    measured: bool  # whether they follow from the leaderboard; else they are a guess


@functools.cache
def _measured() -> dict[tuple[str, str], float]:
    """Return (family, agent) -> largest measured CPU seconds per evaluation in the leaderboard; 0 if not measured."""
    found: dict[tuple[str, str], float] = {}
    board = gzip.decompress((Path(__file__).parents[1] / "leaderboard.json.gz").read_bytes())
    for track in json.loads(board)["tracks"]:
        family = _family(track["environments"][0].partition(" ")[0])
        for record in track["ranking"]:
            key = family, record["agent"].partition(" ")[0]
            found[key] = max(found.get(key, 0.0), record.get("seconds") or 0.0)
    return found


def of_fits(
    fits: Iterable[tuple[Any, Any, Problem]], seeds: Mapping[tuple[str, str], tuple[int, ...]]
) -> list[PlannedRuns]:
    """Return the expected cost of the runs of each (environment, entrant, problem); `seeds` are those of each pair."""
    planned = []
    for environment, agent, problem in fits:
        evaluations: float = 20 * (1 if problem.levels is None else len(problem.levels))  # a guess
        if problem.unit == "evaluations":
            evaluations = problem.budget or (1 if problem.features is None else len(problem.features))
        of_agent = {family: s for (family, a), s in _measured().items() if a == agent.algorithm}
        known = of_agent.get(_family(environment.id)) or max(of_agent.values(), default=0.0)
        own, seconds = seeds[environment.id, agent.name], evaluations * (known or 0.01)
        planned.append(PlannedRuns(environment.id, agent.name, own, evaluations, seconds, bool(known)))
    return planned


def _family(env_id: str) -> str:
    family = registry.family_of(env_id)
    return family.name if family else ""


def parsed(text: str) -> tuple[int, int]:
    """Return (K, N) from the text "K/N", part K of N; another form, or a K not from 1 to N, raises a `ValueError`."""
    match = re.fullmatch(r"(\d+)/(\d+)", text)
    if match is None or not 1 <= int(match[1]) <= int(match[2]) <= 10**6:
        raise ValueError(f"--part must be K/N with 1 <= K <= N, got {text!r}")
    return int(match[1]), int(match[2])


def part(planned: Sequence[PlannedRuns], k: int, n: int) -> dict[tuple[str, str], tuple[int, ...]]:
    """Return the seeds by (id, agent) in part `k` (from 1) of `n`, which has about 1/n of the total cost."""
    total, before = float(sum(p.seconds * len(p.seeds) for p in planned)), 0.0
    found = {}
    for p in planned:
        middles = before + (np.arange(len(p.seeds)) + 0.5) * p.seconds
        own = np.flatnonzero(np.minimum(middles / total * n, n - 1).astype(int) == k - 1)
        before += p.seconds * len(p.seeds)
        if len(own):
            found[p.environment, p.agent] = tuple(p.seeds[i] for i in own)
    return found


def rows(planned: Sequence[PlannedRuns], missing: Mapping[tuple[str, str], int]) -> list[list[str]]:
    """Return the plan as rows of text: a header, a row per agent, and totals; `missing` are numbers by (id, agent)."""
    lines = [["agent", "runs", "missing", "evaluations", "core hours of missing", "MB"]]
    by: dict[str, list[float]] = {}
    guessed = {p.agent for p in planned if not p.measured}
    for p in planned:
        left = missing.get((p.environment, p.agent), 0)
        some = len(p.seeds), left, len(p.seeds) * p.evaluations, left * p.seconds / 3600
        by[p.agent] = [a + b for a, b in zip(by.get(p.agent, [0.0] * 4), some, strict=True)]
    whole = [float(sum(column)) for column in zip(*by.values(), strict=True)]
    for agent, (runs, remaining, evaluations, hours) in {**by, "all": whole}.items():
        name = f"{agent} (not measured)" if agent in guessed else agent
        counts = [f"{count:,.0f}" for count in (runs, remaining, evaluations)]
        lines.append([name, *counts, f"{hours:.3g}", f"{evaluations * 31 / 1e6:.3g}"])  # bytes stored for each
    return lines
