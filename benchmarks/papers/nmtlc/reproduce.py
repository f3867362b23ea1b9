"""Successive halving against random search on the eight corpora, with Hyperband and ASHA beside them."""

from __future__ import annotations

import functools
from typing import Any

import gymnasium as gym
import numpy as np

import hpo_envs  # noqa: F401
from hpo_envs.benchmarks import runs
from hpo_envs.benchmarks.papers import common
from hpo_envs.benchmarks.papers.common import Reproduction
from hpo_envs.benchmarks.papers.nmtlc import analysis, figures, settings
from hpo_envs.tables import store
from hpo_envs.tables.frames import natural


def corpus(name: str, r: Reproduction) -> dict[str, Any]:
    """(trials, budgets) regrets of every agent on a corpus."""
    seeds = list(r.seeds(settings.TRIALS))
    regrets = r.map(_play, [(name, agent, seeds) for agent in settings.AGENTS], name, "agent")
    return dict(zip(settings.AGENTS, regrets, strict=True))


def _play(name: str, agent: str, seeds: list[int]) -> Any:
    """(trials, budgets) regrets of an agent."""
    table = natural(store.load(f"nmtlc/{name}"))
    env: Any = gym.make(f"NMTLC-{name}-v0", table=table).unwrapped
    one = env.budget / settings.TRAININGS[-1]
    played = runs.run(agent, f"NMTLC-{name}-v0", seeds, env_kwargs={"table": table, "shuffle": False})
    return np.array([analysis.at_budgets(run, env, [n * one for n in settings.TRAININGS]) for run in played])


def finish(r: Reproduction) -> None:
    """Write and print what all corpora together say."""
    rows, early = [], []
    for name, regrets in r.results.items():
        table = gym.make(f"NMTLC-{name}-v0").unwrapped.table  # type: ignore[attr-defined]
        early.append({"corpus": name, **analysis.early_ranks(table)})
        for agent, values in regrets.items():
            rows.append(analysis.row(name, agent, values, regrets["random"], settings.TRAININGS))
    r.write("early", early)
    r.write("summary", rows)
    common.drawn(lambda: figures.plot(r.results, r.out / "regret"))
    common.show("Rank correlation of the best log perplexity after some checkpoints with the best of the run", early)
    common.show(
        "Regret in nats of log perplexity after 1 to 20 full trainings, and the gain on random search after 20", rows
    )


PARTS: common.Parts = {name: functools.partial(corpus, name) for name in settings.CORPORA}

QUICK = 2
"""Trials of `--quick`."""

main = functools.partial(common.reproduce, "nmtlc", PARTS, finish=finish)
