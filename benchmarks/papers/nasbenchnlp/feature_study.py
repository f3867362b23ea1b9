"""Which features of a cell make which agent better: graph2vec, Weisfeiler-Lehman, or both.

On the architectures of `nasbenchnlp/ptb-final` whose recipes are known, because they were trained on WikiText-2, too:
only for those can features of the graph be computed. The table has 260 of them.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import gymnasium as gym
import numpy as np

from hpo_envs import agents
from hpo_envs.benchmarks import problem_of
from hpo_envs.benchmarks.analysis import verdict
from hpo_envs.benchmarks.analysis.scores import random_search
from hpo_envs.benchmarks.papers.common import Record, Reproduction, show
from hpo_envs.benchmarks.papers.nasbenchnlp.numbers import FINAL
from hpo_envs.tables import store
from hpo_envs.tables.cells import features as graph
from hpo_envs.tables.datasets.nasbenchnlp.features import FEATURE_NAMES, group, row_features
from hpo_envs.tables.datasets.nasbenchnlp.logs import read_archive
from hpo_envs.tables.datasets.nasbenchnlp.names import LOGS
from hpo_envs.tables.row_order import natural
from hpo_envs.tables.table import Floats, Table

AGENTS = (
    "bo",
    "bo-ei-matern52",
    "graph-ei-matern52",
    "graph-eif-matern52",
    "smac-like",
    "bagged-trees",
    "regularized-evolution",
)

SETS: dict[str, tuple[str, ...]] = {
    "graph2vec, 10": tuple(f"g2v_{i}" for i in range(10)),
    "WL, 10": graph.NAMES[: graph.SMALL],
    "WL, 50": graph.NAMES,
    "both, 60": (*graph.NAMES, *(f"g2v_{i}" for i in range(10))),
}

BUDGET = 50
TRIALS = 100


def known_cells(final: Table) -> Table:
    """The rows of `nasbenchnlp/ptb-final` whose recipe is in the WikiText-2 logs, with all features."""
    cells: dict[int, Any] = {}
    for log in read_archive(store.read(LOGS), LOGS):
        cells.setdefault(group(log.architecture), log.cell)
    rows = [i for i, key in enumerate(final.keys) if int(key) in cells]
    part = final.subset(rows, "nasbenchnlp/ptb-final-known")
    found = row_features([cells[int(key)] for key in part.keys], list(part.features[:, :10]))
    fresh = dataclasses.replace(part.provenance, sha256="")
    return dataclasses.replace(part, feature_names=FEATURE_NAMES, features=found, provenance=fresh)


def regret(table: Table, agent: str, prefixes: tuple[str, ...], seed: int) -> tuple[float, float]:
    """Regret of one run, of the true mean of the row with the best score so far: mean over evaluations, and last."""
    env: Any = gym.make("NASBenchNLP-ptb-final-v0", table=table, budget=BUDGET, disable_env_checker=True)
    env.reset(seed=seed)
    player = agents.make(agent, problem_of(env), seed, features=prefixes)
    loss = table.final("test_loss")
    gap = np.where(np.isnan(loss), np.nanmax(loss), loss) - np.nanmin(loss)
    best, incumbent, after = -np.inf, 0, []
    for _ in range(BUDGET):
        action = player.ask()
        _, reward, _, _, info = env.step(action)
        player.tell(action, reward, info)
        if reward > best:
            best, incumbent = reward, int(action)
        after.append(gap[incumbent])
    return float(np.mean(after)), after[-1]


def _runs(table: Table, agent: str, prefixes: tuple[str, ...], seeds: list[int]) -> Floats:
    return np.array([regret(table, agent, prefixes, seed) for seed in seeds])


def run(r: Reproduction) -> None:
    """Features and agents: regret of the final test loss on the cells of PTB whose graphs are known."""
    if store.missing(FINAL) or store.missing("nasbenchnlp/wikitext2"):
        print("features: left out, it needs the measured tables (hpo-envs fetch nasbenchnlp)")
        return
    table = known_cells(natural(store.load(FINAL, "measured")))
    seeds = list(r.seeds(TRIALS))
    todo = [(table, agent, prefixes, seeds) for agent in AGENTS for prefixes in SETS.values()]
    done = iter(r.map(_runs, todo, "features", "agent"))
    rows: list[Record] = []
    for agent in AGENTS:
        found = {name: next(done) for name in SETS}
        for name, scores in found.items():
            mean, low, high = verdict.interval(scores[None, :, 0])
            row = {
                "agent": agent,
                "features": name,
                "regret": f"{mean:.4f}",
                "low": f"{low:.4f}",
                "high": f"{high:.4f}",
            }
            against = scores[:, 0] - found["graph2vec, 10"][:, 0]
            _, below, above = verdict.interval(against[None], bounds=(-np.inf, np.inf))
            word = "" if name == "graph2vec, 10" else "better" if above < 0 else "worse" if below > 0 else "tie"
            rows.append({**row, "against graph2vec": word, "final": f"{scores[:, 1].mean():.4f}"})
    loss = table.final("test_loss")
    gap = np.where(np.isnan(loss), np.nanmax(loss), loss) - np.nanmin(loss)
    exact = random_search.regret_after(gap, BUDGET)
    ends = {"regret": f"{exact.mean():.4f}", "final": f"{exact[-1]:.4f}"}
    rows.append({**dict.fromkeys(rows[0], ""), "agent": "random, exact", **ends})
    r.write("features", rows)
    show(f"Regret in nats, mean over {BUDGET} evaluations, {len(table)} cells of PTB, {len(seeds)} seeds", rows)


PARTS = {"features": run}
"""Parts of `hpo-envs reproduce nasbenchnlp`."""
