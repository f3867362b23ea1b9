"""Selection of arms with noisy scores: how often it is wrong, and how many evaluations an agent needs to be confident.

Regret does not show how often the recommended arm is the best one, and at what cost. Each budget has separate runs,
because agents plan with it.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from hpo_envs.benchmarks.analysis.regret import SOLVED
from hpo_envs.benchmarks.comparison.replay import table_of
from hpo_envs.benchmarks.comparison.scored import ByAgent, Header, ScoredRuns
from hpo_envs.families import registry


def of_scored(first: Mapping[str, Header], scored: ByAgent) -> dict[str, list[dict[str, Any]]]:
    """Return a list of records, one for each agent and budget, by family of arms; empty without arms.

    Arguments are results of `summary.parts`. A record has `agent`, `budget`, `n`, `wrong` ([fraction, low, high] of the
    runs that recommend another arm than the best one), `sure` (fraction that stopped with budget left for two rounds of
    all arms, as agents do when they are confident) and `evaluations` (mean number used).
    """
    found: dict[str, dict[tuple[str, float], list[tuple[ScoredRuns, int]]]] = {}
    for env, by in scored.items():
        header = first[env]
        family = registry.family_of(header["env"])
        if family is not None and family.score == "final":
            arms = len(table_of(header))
            for agent, cell in by.items():
                found.setdefault(family.name, {}).setdefault((agent, header["budget"]), []).append((cell, arms))
    return {name: [_record(*key, cells) for key, cells in groups.items()] for name, groups in found.items()}


def _record(agent: str, budget: float, cells: list[tuple[ScoredRuns, int]]) -> dict[str, Any]:
    from scipy.stats import binomtest

    wrong = np.concatenate([cell.final > SOLVED for cell, _ in cells])
    spent = np.concatenate([cell.spent * budget for cell, _ in cells])
    sure = np.concatenate([cell.spent * budget <= budget - 2 * arms for cell, arms in cells])
    ends = binomtest(int(wrong.sum()), len(wrong)).proportion_ci()  # Clopper and Pearson's
    return {
        "agent": agent, "budget": budget, "n": len(wrong), "wrong": [float(wrong.mean()), *ends],
        "sure": float(sure.mean()), "evaluations": float(spent.mean()),
    }  # fmt: skip
