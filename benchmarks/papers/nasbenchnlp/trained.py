"""What the surrogate of NASBenchNLP-cell says of cells, beside what training them says: CellMini.

    python -m hpo_envs.benchmarks.papers.nasbenchnlp.trained ranks                 # the cells of the table
    python -m hpo_envs.benchmarks.papers.nasbenchnlp.trained live --out trained/   # what searches on it find, trained

The surrogate was fitted to models of 46 million parameters on WikiText-2 words; CellMini trains the cells of a few ten
thousand on 80,000 characters. `live` has agents search on the surrogate and trains what they recommend: four minutes of
processor time, resumable.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt

from hpo_envs import agents
from hpo_envs.benchmarks.runs import problem_of
from hpo_envs.benchmarks.study import trainings
from hpo_envs.core import screen
from hpo_envs.tables import cells, store
from hpo_envs.tables.datasets.cellmini import measure
from hpo_envs.tables.datasets.cellmini.build import TABLE
from hpo_envs.tables.datasets.cellmini.names import EPOCHS, SEEDS
from hpo_envs.tables.datasets.nasbenchnlp import model
from hpo_envs.tables.datasets.trained.record import record
from hpo_envs.tables.table import Table

Floats = npt.NDArray[np.float64]

RESAMPLES = 2000
"""Of the cells, for intervals."""

BEST = 0.1
"""Share of the cells that count as the surrogate's favourites."""

FOLDS = 10
"""Of the fit to CellMini itself."""

SEARCHERS = ("random", "regularized-evolution")
SEARCH = {"cells": 100, "seeds": 4}
"""Of each agent that searches on the surrogate."""


def predicted(keys: Sequence[str]) -> tuple[Floats, Floats, Floats]:
    """What the surrogate says of cells, by their canonical keys.

    Returns:
        (cells,) mean final validation loss of its training seeds, the same of one of them, and seconds of training.
    """
    found = []
    for key in keys:
        runs = [model.simulate(cells.Cell.from_text(key), seed, key) for seed in range(model.SEEDS)]
        ends = [model.CAP if run.diverged else run.losses[-1, 0] for run in runs]
        found.append((np.mean(ends), ends[0], np.mean([run.seconds.sum() for run in runs])))
    mean, one, seconds = np.array(found).T
    return mean, one, seconds


def losses(table: Table) -> Floats:
    """(cells, seeds, epochs) development loss, the cap from divergence on."""
    column = table.metric("validation_loss")
    return np.where(np.isnan(table.values[..., column]), table.metrics[column].high, table.values[..., column])


def correlation(a: Floats, b: Floats) -> tuple[float, float, float, float]:
    """Spearman's rank correlation with its 95 % bootstrap interval over cells, and Kendall's tau."""
    from scipy.stats import kendalltau, spearmanr

    rng = np.random.default_rng(0)
    draws = [rng.integers(len(a), size=len(a)) for _ in range(RESAMPLES)]
    low, high = np.quantile([spearmanr(a[i], b[i]).statistic for i in draws], [0.025, 0.975])
    return float(spearmanr(a, b).statistic), float(low), float(high), float(kendalltau(a, b).statistic)


def refitted(keys: Sequence[str], target: Floats) -> Floats:
    """(cells,) out-of-fold predictions of ranks by trees on what the surrogate knows of a cell."""
    from sklearn.ensemble import HistGradientBoostingRegressor
    from sklearn.model_selection import KFold

    x = np.array([model.inputs(cells.Cell.from_text(key)) for key in keys])
    ranks, found = target.argsort().argsort().astype(np.float64), np.empty(len(target))
    for train, test in KFold(FOLDS, shuffle=True, random_state=0).split(x):
        trees = HistGradientBoostingRegressor(random_state=0, max_depth=4, learning_rate=0.05, min_samples_leaf=10)
        found[test] = trees.fit(x[train], ranks[train]).predict(x[test])
    return found


def favourites(scores: Floats, values: Floats) -> tuple[float, float]:
    """Of the cells that scores like best: the mean share of all cells that are worse, and of them among the best."""
    count = max(1, round(BEST * len(scores)))
    chosen = np.argsort(scores, kind="stable")[:count]
    best = np.argsort(values, kind="stable")[:count]
    return float(np.mean([(values > values[i]).mean() for i in chosen])), len(set(chosen) & set(best)) / count


def show_ranks() -> None:
    """Prints rank correlations over the cells of the table."""
    table = store.load(TABLE)
    curves = losses(table)
    final = curves[:, :, -1].mean(axis=1)
    mean, one, seconds = predicted(table.keys)
    parameters = table.values[:, :, 0, table.metric("parameters")].max(axis=1)
    well = (table.status == 0).all(axis=1)
    print(f"{len(table)} cells, {(~well).sum()} with a training that diverged; rank correlation [95 %], Kendall's tau")
    pairs = {
        "surrogate, mean of its seeds, and final loss": (mean, final),
        "the same, of cells that never diverged": (mean[well], final[well]),
        "surrogate, one seed, and final loss": (one, final),
        "trees on the same inputs, fitted here out of fold, and final loss": (refitted(table.keys, final), final),
        "parameters and minus final loss": (parameters, -final),
        "one training and the other": (curves[:, 0, -1], curves[:, 1, -1]),
        "surrogate's seconds and cost": (seconds, np.nanmax(table.cost, axis=(1, 2))),
        **{f"loss after epoch {e} and final loss": (curves[:, 0, e - 1], curves[:, 0, -1]) for e in (1, 3, 5, 10)},
    }
    for name, (a, b) in pairs.items():
        rho, low, high, tau = correlation(a, b)
        print(f"{name:66} {rho:5.2f} [{low:.2f}, {high:.2f}] {tau:5.2f}")
    for name, scores in {"surrogate": mean, "one training": curves[:, 0, -1]}.items():
        values = final if name == "surrogate" else curves[:, 1, -1]
        worse, among = favourites(scores, values)
        share = f"{100 * worse:.0f} % of cells, {100 * among:.0f} % of it are among the best tenth"
        print(f"the tenth that the {name} likes best is better than {share}")
    ends = np.sort(final)
    print(f"final loss: best {ends[0]:.3f}, median {np.median(ends):.3f} nats a character")


def recommended(name: str, seed: int) -> str:
    """Canonical key of the cell that an agent recommends after a search on the surrogate."""
    env: Any = gym.make("NASBenchNLP-cell-v0", disable_env_checker=True, table="surrogate", budget=SEARCH["cells"])
    env.reset(seed=seed)
    agent, best, key, over = agents.make(name, problem_of(env), seed), -np.inf, "", False
    while not over:
        action = agent.ask()
        _, reward, over, _, info = env.step(action)
        agent.tell(action, reward, info)
        if info["finished"] and reward > best:
            best, key = reward, info["key"]
    return str(key)


def tasks() -> list[str]:
    """What is trained: `AGENT SEARCH TRAINING`."""
    return [f"{n} {s} {t}" for s in range(SEARCH["seeds"]) for n in SEARCHERS for t in range(SEEDS)]


def train(task: str) -> dict[str, Any]:
    """Carries out one of `tasks`."""
    name, search, seed = task.split()
    key = recommended(name, int(search))
    return {**record(task, measure.begin(key, int(seed)), EPOCHS), "cell": key}


def show_live(folder: Path) -> None:
    """Trains what is missing, and prints what came of it."""
    trainings.conduct(tasks(), train, folder)
    table = store.load(TABLE)
    final = losses(table)[:, :, -1].mean(axis=1)
    cap = table.metrics[table.metric("validation_loss")].high
    print(f"found on the surrogate among {SEARCH['cells']} cells, trained: final loss, mean of {SEEDS} seeds")
    found: dict[tuple[str, str], list[float]] = {}
    for r in trainings.records(folder):
        name, search, _ = r["task"].split()
        found.setdefault((name, search), []).append(r["epochs"][-1][0] if r["status"] == "ok" else cap)
    for name in SEARCHERS:
        ends = [float(np.mean(of)) for (n, _), of in found.items() if n == name]
        better = ", ".join(f"{end:.3f} (better than {100 * (final > end).mean():.0f} %)" for end in ends)
        print(f"{name:22} {better}")


@screen.on()
def main(arguments: Sequence[str] | None = None) -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=("ranks", "live"))
    parser.add_argument("--out", type=Path, default=Path("trained"), help="folder of trainings (default: %(default)s)")
    args = parser.parse_args(arguments)
    if args.part == "ranks":
        show_ranks()
    else:
        show_live(args.out)


if __name__ == "__main__":
    main()
