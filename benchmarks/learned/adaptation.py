"""Adaptation gain of learned optimizers: what they gain from a run's history (`hpo-envs reproduce learned`).

The adaptation gain of an agent is the mean regret of its best rival without adaptation minus its own. Rivals are the
same weights without observations, weights that were trained without observations, a fixed order of the prior, and, if
there are source tasks, the mean rank over them (`zero-shot`). Levels of generalisation: another table, with its
family's tables in other languages as source tasks; other configurations than in training; another family. `designs`
compares other designs of `in-context` with `bo`.
"""

import fnmatch
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hpo_envs.agents.models import candidate_set
from hpo_envs.agents.transfer import policy_file
from hpo_envs.agents.transfer.policy_file import PolicyWeights
from hpo_envs.benchmarks.analysis import intervals, regret
from hpo_envs.benchmarks.learned import in_context, policy
from hpo_envs.benchmarks.papers.common import Record, Reproduction
from hpo_envs.benchmarks.runs import run
from hpo_envs.benchmarks.tasks import pools, priors
from hpo_envs.benchmarks.tasks.sampled import Draws, SampledTasks
from hpo_envs.families import registry
from hpo_envs.tables import store, user
from hpo_envs.tables.table import Floats, Table
from hpo_envs.wrappers import for_training

TEST_SEEDS, TEST_BUDGET, TEST_FUNCTIONS, STEPS, SEARCHES = 10, 20, 12, 200, 512
"""Subsamples of each table, evaluations, random functions, gradient steps of each network, searches per part."""

LEFT_OUT: Mapping[str, tuple[str, ...]] = {
    "NMTHPO": ("NMTHPO-*",),
    "TaskSet": ("TaskSet-*",),
    "TextMini, classification": ("TextMini-*-joint-v0", "TextMini-*-neural-v0"),
    "TextMini, sequences": ("TextMini-*-crf-v0", "TextMini-*-lstm-v0", "TextMini-*-tagger-v0"),
    "cells": ("CellMini-v0", "NASBenchNLP-ptb-final-v0"),
    "functions": (),
}
"""Groups of tasks that tests treat as unseen families -> patterns of their ids; functions are `function_table`s."""

LANGUAGES = ("eng", "fre", "hun", "vie", "jpn", "rum")
"""Languages of the CharMini tables in these tests."""

HALVES = tuple(f"charmini/{language}-{model}" for language in LANGUAGES for model in ("lstm", "transformer"))
"""Tables of which one half of the configurations is used in training and the other in tests."""

MEAN_RANK, FIXED = "mean rank over source tasks", "learned-policy, fixed order of its prior"

RIVALS: Mapping[str, tuple[str, ...]] = {
    "in-context": ("in-context, blind", "in-context, trained blind"),
    "learned-policy": ("learned-policy, blind", FIXED, MEAN_RANK),
    "learned": (MEAN_RANK,),
    "rgpe": (MEAN_RANK,),
}

PLAIN = ("random", "bo", "bo-spread")

OTHER_TABLES: Mapping[str, tuple[str, ...]] = {
    "NMTHPO": ("NMTHPO-*",),
    "CharHPO": ("CharHPO-*-*-transformer-v0",),
    "CharMini": tuple(f"CharMini-{language}-transformer-v0" for language in LANGUAGES),
    "TextMini": ("TextMini-*-joint-v0", "TextMini-*-crf-v0"),
}
"""Families with source tasks, and patterns of the ids that test on them."""

MORE_INPUTS, UPDATES = ("observed", "posterior"), 24
"""Columns of other designs of `in-context`, and updates of the one that is trained by policy gradients."""

AgentSetting = tuple[str, dict[str, Any]]


def ids(family: str, tables: Mapping[str, tuple[str, ...]] = LEFT_OUT) -> list[str]:
    """Return the ids with one objective that match the patterns of a key (`family`) of `tables`, except `NMTHPO-v0`."""
    every = [i for pattern in tables[family] for i in fnmatch.filter(registry.SPECS, pattern)]
    return [i for i in every if "-mo-" not in i and i != "NMTHPO-v0"]


def function_table(k: int) -> Table:
    """Return a table of up to 300 different points of a random space.

    They are scored by a draw of a Gaussian process for even k, else of random trees.
    """
    import pandas as pd

    rng = np.random.default_rng(1000 + k)
    x = priors.points(300, rng)
    y = (priors.stepwise if k % 2 else priors.smooth)(x, 1, rng)[0]
    frame = pd.DataFrame(x.round(6), columns=[f"x{j}" for j in range(x.shape[1])]).assign(score=y)
    return user.from_frame(frame.drop_duplicates(), score="score", goal="max", name=f"function-{k}")


def methods(files: Mapping[str, str], level: str) -> dict[str, AgentSetting]:
    """Return (agent, arguments) of a level's agents and rivals by name; `files` are the weight files of `trained`.

    The level is `table`, `family` or `configurations`.
    """
    helped = {"transfer": "family"} if level == "table" else {}
    half = {"file": files["half"], "seen": True} if level == "configurations" else {}
    found: dict[str, AgentSetting] = {
        **{name: (name, {}) for name in PLAIN},
        "in-context": ("in-context", half),
        "in-context, blind": ("in-context", {**half, "blind": True}),
        "learned-policy": ("learned-policy", helped),
        "learned-policy, blind": ("learned-policy", {**helped, "blind": True}),
        FIXED: ("learned-policy", {**helped, "blind": True, "deterministic": True}),
    }
    if level == "table":
        return found | {MEAN_RANK: ("zero-shot", helped), **{name: (name, helped) for name in ("rgpe", "learned")}}
    blind = {"file": files[f"blind, {level}"], "blind": True} | ({"seen": True} if half else {})
    return found | {"in-context, trained blind": ("in-context", blind)}


def scores(task: str, agent: str, given: Mapping[str, Any], seeds: Sequence[int]) -> Floats:
    """Return an agent's (2, seeds) mean and final normalised regret on a task, in `TEST_BUDGET` evaluations.

    A task is an id, `function K` (see `function_table`), or one of `HALVES`, on the half that is not used in training.
    Each seed has 80 % of the configurations.
    """
    env_id, more = task, dict(given)
    kwargs: dict[str, Any] = {"subsample": 0.8}
    if task.startswith("function "):
        k = int(task.rpartition(" ")[2])
        env_id, kwargs = "TableHPO-v0", kwargs | {"table": function_table(k)}
        more |= {"weights": "without functions"} if agent == "in-context" else {}
    elif task in HALVES:
        table = store.load(task)
        kwargs |= {"table": table.subset(np.flatnonzero(pools.in_half(table, 1)))}
        env_id = f"CharMini-{task.rpartition('/')[2]}-v0"
        more |= {"weights": "all"} if agent == "in-context" else {}
    runs = run(agent, env_id, seeds, budget=TEST_BUDGET, env_kwargs=kwargs, **more)
    curves = np.array([regret.at_evaluations(regret.after(r), TEST_BUDGET) for r in runs])
    return np.stack([curves.mean(axis=1), curves[:, -1]])


def trained(folder: Path) -> dict[str, str]:
    """Train weights and return their files by name: blind rivals, and weights trained on one half of each space."""
    found = {}
    for name, half, blind in (("blind, family", None, True), ("half", 0, False), ("blind, configurations", 0, True)):
        states = {part: in_context.record(part, SEARCHES, half=half) for part in in_context.TRAINING_PARTS}
        parts = (None,) if half == 0 else (None, *in_context.TRAINING_PARTS)
        made = [in_context.train(states, without, 3, STEPS, blind) for without in parts]
        found[name] = str(policy_file.write(folder / f"{name}.npz", made))
    return found


def adaptation(r: Reproduction) -> list[Record]:
    """Mean normalised regret on unseen tables, families and configurations, and adaptation gains over rivals."""
    with tempfile.TemporaryDirectory() as folder:
        files, seeds = trained(Path(folder)), list(r.seeds(TEST_SEEDS))
        tasks = [("table", f, i) for f in OTHER_TABLES for i in ids(f, OTHER_TABLES)]
        tasks += [("family", f, i) for f in LEFT_OUT for i in ids(f)]
        tasks += [("family", "functions", f"function {k}") for k in range(TEST_FUNCTIONS)]
        tasks += [("configurations", "CharMini", name) for name in HALVES]
        todo = [(level, f, i, m, how) for level, f, i in tasks for m, how in methods(files, level).items()]
        done = r.map(scores, [(i, *how, seeds) for *_, i, _, how in todo], "adaptation", "table")
    found = {(level, f, i, m): s for (level, f, i, m, _), s in zip(todo, done, strict=True)}
    r.write("adaptation_tables", [
        {"level": level, "family": f, "task": i, "method": m,
         "mean": f"{s[0].mean():.4f}", "final": f"{s[1].mean():.4f}", "seeds": len(seeds)}
        for (level, f, i, m), s in found.items()
    ])  # fmt: skip
    return summary(found)


def rewarded(without: str) -> PolicyWeights:
    """Return a linear policy on the inputs of `in-context`, trained without a part by natural policy gradients."""
    families = [f for part, some in in_context.TRAINING_PARTS.items() if part != without for f in some]
    left_out = in_context.words_of(without)
    kept = [p for p in pools.pools(families) if not left_out & {*p.held_out}]
    how = Draws((0.3, 1.0), functions=0.0 if without == "functions" else 0.25, mixed=0.5, sources=(0.0, 0.0))
    tasks = SampledTasks(policy.ENVS, kept, policy.CANDIDATES, policy.EVALUATIONS, how, policy.COPIES)
    envs = for_training(tasks, policy.CANDIDATES, in_context.INPUTS)
    w = [*policy.iterates(candidate_set.width(in_context.INPUTS), envs, UPDATES, 0)]
    words = frozenset(word for p in kept for word in p.held_out)
    member = {"skip.weight": np.asarray(np.mean(w[UPDATES // 2 :], axis=0), np.float32)[None]}
    return PolicyWeights(f"without {without}", words, in_context.INPUTS, policy.CANDIDATES, 0, (member,))


def designs(r: Reproduction) -> list[Record]:
    """Mean regret of designs of `in-context` on unseen families, minus that of `bo`."""
    parts, made = list(in_context.TRAINING_PARTS), {}
    states = {part: in_context.record(part, SEARCHES, inputs=MORE_INPUTS) for part in parts}
    for inputs in (MORE_INPUTS[:1], MORE_INPUTS):
        name = "supervised, " + " and ".join(inputs)
        made[name] = [in_context.train(states, part, 3, STEPS, inputs=inputs) for part in parts]
    made["policy gradient, linear, posterior"] = [rewarded(part) for part in parts]
    with tempfile.TemporaryDirectory() as folder:
        files = {name: str(policy_file.write(Path(folder) / f"{k}.npz", w)) for k, (name, w) in enumerate(made.items())}
        tried: dict[str, AgentSetting] = {"bo": ("bo", {}), "as shipped: supervised, posterior": ("in-context", {})}
        tried |= {name: ("in-context", {"file": file}) for name, file in files.items()}
        tasks = [(f, i) for f in LEFT_OUT for i in ids(f)]
        tasks += [("functions", f"function {k}") for k in range(TEST_FUNCTIONS)]
        todo = [(i, *how, list(r.seeds(TEST_SEEDS))) for how in tried.values() for _, i in tasks]
        done = np.array(r.map(scores, todo, "designs", "table"))[:, 0].reshape(len(tried), len(tasks), -1)
    families = np.array([f for f, _ in tasks])
    others = [*zip(tried, done, strict=True)][1:]
    return [_difference("family", m, of - done[0], families.tolist(), families) for m, of in others]


def summary(found: Mapping[tuple[str, str, str, str], Floats]) -> list[Record]:
    """Return rows of mean regrets by family and overall, of adaptation gains, and of differences of agents.

    `found` has (2, seeds) mean and final regrets by level, family, task and method; only the means are used. Gains and
    differences have intervals on the fixed tasks and across families (of a single family, across languages).
    """
    rows = []
    for level in dict.fromkeys(k[0] for k in found):
        tasks = list(dict.fromkeys(k[1:3] for k in found if k[0] == level))
        known = dict.fromkeys(k[3] for k in found if k[0] == level)
        of = {m: np.array([found[level, f, i, m][0] for f, i in tasks]) for m in known}
        families = np.array([f for f, _ in tasks])
        labels = families.tolist() if len({*families}) > 1 else [i.partition("-")[0] for _, i in tasks]
        for m, values in of.items():
            each = {f: f"{values[families == f].mean():.3f}" for f in dict.fromkeys(families.tolist())}
            mean = intervals.grouped(values.mean(axis=1), labels).mean()
            rows.append({"level": level, "method": m, **each, "mean": f"{mean:.3f}"})
        for m in (m for m in RIVALS if m in of):
            rivals = [rival for rival in RIVALS[m] if rival in of]
            best = min(rivals, key=lambda rival: intervals.grouped(of[rival].mean(axis=1), labels).mean())
            rows += [_difference(level, f"gain of {m}: {best} minus it", of[best] - of[m], labels, families)]
        for m, other in (*(("in-context", other) for other in PLAIN), ("learned", "rgpe")):
            if {m, other} <= of.keys():
                rows += [_difference(level, f"{m} minus {other}", of[m] - of[other], labels, families)]
    return rows


def _difference(level: str, name: str, apart: Floats, labels: Sequence[str], families: Any) -> Record:
    each = {f: f"{apart[families == f].mean():.3f}" for f in dict.fromkeys(families.tolist())}
    here, there = intervals.fixed_tasks(apart), intervals.across_tasks(apart, labels)
    shown = {"mean": f"{there.mean:.3f}", "low": f"{there.low:.3f}", "high": f"{there.high:.3f}"}
    fixed = {"on these tasks": f"{here.mean:.3f}", "low here": f"{here.low:.3f}", "high here": f"{here.high:.3f}"}
    return {"level": level, "method": name, **each, **shown, **fixed}
