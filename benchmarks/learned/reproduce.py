"""`hpo-envs reproduce learned`: learned optimizers and their rivals on data that were not used in training."""

import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np

from hpo_envs.agents.problem import Problem
from hpo_envs.agents.transfer.policy import Policy
from hpo_envs.benchmarks.analysis import intervals
from hpo_envs.benchmarks.comparison.summary import groups_of
from hpo_envs.benchmarks.learned import adaptation, tasks
from hpo_envs.benchmarks.learned.policy import SKIP
from hpo_envs.benchmarks.papers import common
from hpo_envs.benchmarks.papers.common import Reproduction
from hpo_envs.tables.table import Floats

TRIALS = 20
"""Replications of each table in `agents`, half of those in `policy`; each has 80 % of the rows for all methods."""

METHODS: Mapping[str, tuple[str, dict[str, Any]]] = {
    "random": ("random", {}), "zero-shot": ("zero-shot", {}), "rgpe": ("rgpe", {}),
    "untrained": ("learned", {"trained": False}), "seed 0": ("learned", {"member": 0}),
    "seed 1": ("learned", {"member": 1}), "seed 2": ("learned", {"member": 2}), "learned": ("learned", {}),
}  # fmt: skip
"""Methods; all have the same source tasks, the family's tables of other languages."""


class UntrainedPolicy(Policy):
    """`learned-policy` with its initial weights, whose probabilities are proportional to expected improvement."""

    def __init__(self, problem: Problem, seed: int, **given: Any) -> None:
        super().__init__(problem, seed, **given)
        start = np.zeros_like(self._members[0]["skip.weight"])
        start[..., -1] = SKIP
        self._members = ({"skip.weight": start},)


_START = f"{__name__}:{UntrainedPolicy.__name__}"
POLICIES: Mapping[str, tuple[str, dict[str, Any]]] = {
    "random": ("random", {}), "bo": ("bo", {}), "bo-spread": ("bo-spread", {}),
    "ridge": ("ridge", {"transfer": "family"}), "policy": ("learned-policy", {}),
    **{f"policy, seed {k}": ("learned-policy", {"member": k}) for k in range(3)},
    "policy, deterministic": ("learned-policy", {"deterministic": True}),
    "policy, without history": ("learned-policy", {"blind": True}), "policy, untrained": (_START, {}),
    "policy, untrained, deterministic": (_START, {"deterministic": True}),
    "policy, transfer": ("learned-policy", {"transfer": "family"}),
    "policy, transfer, deterministic": ("learned-policy", {"transfer": "family", "deterministic": True}),
    "learned": ("learned", {"transfer": "family"}),
}  # fmt: skip
"""The shipped policy (without source tasks unless `transfer` is given), its components, and other agents."""

PAIRS = (
    *((f"seed {k}", "untrained") for k in range(3)),
    *(("learned", other) for other in ("untrained", "rgpe", "zero-shot")),
    ("untrained", "rgpe"),
    *(("policy", f"policy, {other}") for other in ("untrained", "untrained, deterministic", "without history")),
    *(("policy", other) for other in ("ridge", "bo-spread")),
    ("policy, transfer", "learned"),
)
"""Pairs of methods that are compared: the regret of the first minus that of the second."""


def overall(found: Mapping[tuple[str, str], Floats]) -> list[dict[str, str]]:
    """Return mean differences of `PAIRS`, overall and by family, with intervals as in `docs/statistics.md`.

    `found` has the (2, seeds) mean and final regrets by id and method. A difference is over the ids with both methods;
    there is no row without such an id.
    """
    every, records = list(dict.fromkeys(i for i, _ in found)), []
    groups = {"all": every, **{f: [i for i in every if i.startswith(f)] for f in tasks.FAMILIES}}
    for (group, some), (a, b) in itertools.product(groups.items(), PAIRS):
        ids = [i for i in some if {(i, a), (i, b)} <= found.keys()]
        for k, score in enumerate(("anytime", "final") if ids else ()):
            apart = np.array([found[i, a][k] - found[i, b][k] for i in ids])
            here, there = intervals.fixed_tasks(apart), intervals.across_tasks(apart, groups_of(ids))
            record = {"tables": group, "method": a, "minus": b, "score": score, "difference": f"{here.mean:.4f}"}
            record |= {"low": f"{here.low:.4f}", "high": f"{here.high:.4f}", "over groups": f"{there.mean:.4f}"}
            record |= {"low there": f"{there.low:.4f}", "high there": f"{there.high:.4f}"}
            records.append(record | {"better on": f"{(apart.mean(axis=1) < 0).sum()}/{len(ids)}"})
    return records


def agents(r: Reproduction) -> None:
    """Measure `learned` and other agents with the same source tasks, and write the results."""
    methods = {m: (agent, {"transfer": "family", **given}) for m, (agent, given) in METHODS.items()}
    _run("agents", methods, TRIALS, r)


def policy(r: Reproduction) -> None:
    """Measure `learned-policy`, its components and other agents, and write the results."""
    _run("policies", POLICIES, 2 * TRIALS, r)


def every_id() -> list[str]:
    """Return the ids of both `tasks.FAMILIES`, without degenerate ones."""
    return [i for f in tasks.FAMILIES for i in tasks.ids(f)]


def _run(name: str, methods: Mapping[str, tuple[str, dict[str, Any]]], trials: int, r: Reproduction) -> None:
    todo = [(i, m) for i in every_id() for m in methods]
    done = r.map(adaptation.scores, [(i, *methods[m], list(r.seeds(trials))) for i, m in todo], name, "table")
    found = dict(zip(todo, done, strict=True))
    rows = [
        {"id": i, "method": m, "anytime": f"{s[0].mean():.4f}", "final": f"{s[1].mean():.4f}", "seeds": s.shape[1]}
        for (i, m), s in found.items()
    ]
    r.write(name, rows)
    differences = overall(found)
    r.write(f"{name}_differences", differences)
    print(f"\n{rows[0]['seeds']} seeds, {adaptation.TEST_BUDGET} evaluations: anytime / final normalised regret")
    for family in tasks.FAMILIES:
        for m in dict.fromkeys(m for _, m in found):
            own = [s.mean(axis=1) for (i, method), s in found.items() if method == m and i.startswith(family)]
            if own:
                means = np.mean(own, axis=0)
                print(f"  {family:8} {m:10} {means[0]:.4f} / {means[1]:.4f}")
    common.show("differences, by the rule of docs/statistics.md", differences)


PARTS: common.Parts = {part.__name__: part for part in (agents, policy, adaptation.adaptation, adaptation.designs)}

QUICK = 2
"""Trials of `--quick`."""
