"""Figures 1, 4, 5, 6 and 7 of Zhang and Duh 2020, and the numbers behind figures 4 and 5."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.stats import spearmanr

from hpo_envs import agents
from hpo_envs.agents import Agent, Problem
from hpo_envs.agents.models.pareto import pareto_front
from hpo_envs.benchmarks import runs
from hpo_envs.benchmarks.analysis import forest_importance
from hpo_envs.benchmarks.papers.common import Record, Reproduction
from hpo_envs.benchmarks.papers.nmthpo import settings
from hpo_envs.benchmarks.plots import COLOURS
from hpo_envs.benchmarks.plots.configurations import importance, interactions
from hpo_envs.tables.datasets.nmthpo import PAIRS
from hpo_envs.tables.table import Floats, Table

SIZE = 4.2, 3.4
"""Width and height of a panel in inches."""


def figure1(r: Reproduction) -> None:
    """Histograms of BLEU; decoding time against BLEU, and the Pareto front."""
    tables = {pair: settings.table_of(pair) for pair in PAIRS}
    r.draw("figure1_histogram", SIZE, _histograms, tables, shape=(2, 3))
    r.draw("figure1", SIZE, _fronts, tables, shape=(2, 3))


def _histograms(axes: Any, tables: Mapping[str, Table]) -> None:
    for axis, (pair, table) in zip(axes, tables.items(), strict=True):
        axis.hist(table.final("bleu"), bins=30, color=COLOURS[0])
        axis.set(title=PAIRS[pair], xlabel="BLEU", ylabel="systems")


def _fronts(axes: Any, tables: Mapping[str, Table]) -> None:
    for axis, (pair, table) in zip(axes, tables.items(), strict=True):
        bleu, seconds = table.final("bleu"), table.final("decoding_seconds")
        front = pareto_front(np.column_stack([bleu, -seconds]))
        axis.scatter(bleu, seconds, s=8, color="#999999", label="systems")
        order = np.flatnonzero(front)[np.argsort(bleu[front])]
        axis.plot(bleu[order], seconds[order], "o-", ms=4, color=COLOURS[1], label=f"Pareto front ({len(order)})")
        axis.set(title=PAIRS[pair], xlabel="BLEU", ylabel="decoding time (s)")
        axis.legend(fontsize=7)


def common_configurations(tables: Mapping[str, Table]) -> dict[str, list[int]]:
    """Return the rows, by pair and in one order, of the configurations that all pairs have in common.

    30k and 32k BPE symbols count as equal (note 8).
    """

    def key(config: Floats) -> tuple[float, ...]:
        return (30000.0 if config[0] in (30000.0, 32000.0) else config[0], *config[1:].tolist())

    where = {pair: {key(c): i for i, c in enumerate(t.configs)} for pair, t in tables.items()}
    first = next(iter(where.values()))
    shared = [k for k in first if all(k in w for w in where.values())]
    return {pair: [w[k] for k in shared] for pair, w in where.items()}


def correlations(tables: Mapping[str, Table]) -> Floats:
    """Return the (pairs, pairs) Spearman correlation of BLEU over the common configurations."""
    rows = common_configurations(tables)
    values = np.column_stack([tables[pair].final("bleu")[rows[pair]] for pair in tables])
    return np.asarray(spearmanr(values).statistic, dtype=np.float64)


def figure4(r: Reproduction) -> list[Record]:
    """Spearman correlation of BLEU on two pairs, over the configurations common to all."""
    rho, names = correlations({pair: settings.table_of(pair) for pair in PAIRS}), [*PAIRS.values()]
    r.draw("figure4", SIZE, _matrix, rho, names)
    shown = [[f"{v:.3f}" for v in row] for row in rho]
    return [{"pair": name, **dict(zip(names, row, strict=True))} for name, row in zip(names, shown, strict=True)]


def _matrix(axis: Any, rho: Floats, names: list[str]) -> None:
    image = axis.imshow(rho, vmin=-1, vmax=1, cmap="cividis")
    axis.set(xticks=range(len(names)), yticks=range(len(names)), xticklabels=names, yticklabels=names)
    for i, j in np.ndindex(rho.shape):
        axis.text(j, i, f"{rho[i, j]:.2f}", ha="center", va="center", color="white" if rho[i, j] < 0.5 else "black")
    axis.figure.colorbar(image)


FIGURE5 = (("enja", 0.99, "en-ja, top 1 %"), ("enja", 0.0, "en-ja, all"), ("swen", 0.0, "sw-en, all"),
           ("swen", 0.5, "sw-en, better half"))  # fmt: skip
"""Panels: pair, cutoff as a quantile of BLEU, title. The paper has the first three; its sw-en is like our last."""


def figure5(r: Reproduction) -> list[Record]:
    """Fractions of the variance of BLEU that hyperparameters and pairs of them explain, by a random forest."""
    found = {}
    for pair, quantile, title in FIGURE5:
        configs, bleu, space = forest_importance.of_table(settings.table_of(pair), "bleu")
        cutoff = float(np.quantile(bleu, quantile)) if quantile else None
        found[title] = forest_importance.importance(configs, bleu, space, cutoff=cutoff)
    r.draw("figure5", SIZE, _importance, found, shape=(2, len(found)))
    rows = []
    for title, f in found.items():
        pairs = ", ".join(f"{a} x {b} {share:.3f}" for a, b, share in f.ranked_pairs()[:3])
        rows.append({"panel": title, **{n: f"{x:.3f}" for n, x in zip(f.names, f.main, strict=True)}, "pairs": pairs})
    return rows


def _importance(axes: Any, found: Mapping[str, forest_importance.ForestImportance]) -> None:
    """Draw the importance of hyperparameters (top) and of the eight most important pairs (bottom)."""
    for (title, f), top, bottom in zip(found.items(), axes[: len(found)], axes[len(found) :], strict=True):
        importance(f, top).set_title(title)
        interactions(f, bottom)


class _Watched(Agent):
    """Wrapper of an agent that records the mean squared error of its predictions, if any, after each evaluation."""

    def __init__(self, inner: Agent, truth: Floats) -> None:
        super().__init__(inner.problem, 0)
        self.inner, self.truth = inner, truth
        self.errors: list[float] = []

    def ask(self) -> Any:
        return self.inner.ask()

    def recommend(self) -> Any:
        return self.inner.recommend()

    def tell(self, action: Any, reward: Any, info: Mapping[str, Any]) -> None:
        self.inner.tell(action, reward, info)
        if hasattr(self.inner, "predict"):
            self.errors.append(float(np.mean(np.square(self.inner.predict()[0] - self.truth))))


def course(table: Table, pair: str, agent: str, seeds: list[int], budget: int) -> tuple[Floats, Floats]:
    """Return best BLEU so far and mean squared error of the surrogate over all candidates, (trials, budget) each.

    The array of errors has no columns for agents without a model.
    """
    watched: list[_Watched] = []

    def make(problem: Problem, seed: int) -> Agent:
        watched.append(_Watched(agents.make(agent, problem, seed), table.final("bleu")))
        return watched[-1]

    found = runs.run(make, f"NMTHPO-{pair}-v0", seeds, budget=budget, env_kwargs={"table": table, "shuffle": False})
    best = np.array([np.maximum.accumulate(r.rewards) for r in found])
    return best, np.array([w.errors for w in watched])


def figure6(r: Reproduction) -> None:
    """Best BLEU and error of the surrogate on ja-en."""
    r.draw("figure6", SIZE, _course, settings.table_of("jaen"), list(r.seeds(settings.TRIALS)), shape=(1, 2))


def _course(axes: Any, table: Table, seeds: list[int]) -> None:
    steps = np.arange(1, 101)
    # The paper's caption does not list its methods.
    for colour, method in zip(COLOURS, ("RS", "BO_EI_M", "GB_EI_M", "GB_EIF_M"), strict=False):
        best, errors = course(table, "jaen", settings.SINGLE[method], seeds, len(steps))
        for axis, values in zip(axes, (best, errors), strict=True):
            if values.size:
                low, middle, high = np.quantile(values, [0.25, 0.5, 0.75], axis=0)
                axis.plot(steps, middle, color=colour, label=method)
                axis.fill_between(steps, low, high, color=colour, alpha=0.2, lw=0)
    axes[0].set(xlabel="evaluations", ylabel="best BLEU so far", title="ja-en, median and quartiles")
    axes[1].set(xlabel="evaluations", ylabel="mean squared error of the surrogate", yscale="log")
    axes[0].legend()
    axes[1].legend()


def figure7(r: Reproduction) -> None:
    """Fronts of BO_M and GB_M on ru-en after 3, 10, 20 and 50 evaluations."""
    r.draw("figure7", SIZE, _evolution, settings.table_of("ruen"), r.seed, shape=(1, 2))


def _evolution(axes: Any, table: Table, seed: int) -> None:
    truth, kwargs = settings.front_rewards(table), {"table": table, "shuffle": False}
    for axis, method in zip(axes, ("BO_M", "GB_M"), strict=True):
        r = runs.run(settings.MULTI[method], "NMTHPO-ruen-mo-v0", [seed], budget=50, env_kwargs=kwargs)[0]
        for colour, step in zip(("#999999", *COLOURS), (3, 10, 20, 50), strict=False):
            front = r.rewards[:step][pareto_front(r.rewards[:step])]
            front = front[np.argsort(front[:, 0])]
            axis.plot(front[:, 0], -front[:, 1], "o-", ms=4, color=colour, label=f"step {step}")
        axis.scatter(truth[:, 0], -truth[:, 1], marker="*", s=90, color="gold", edgecolor="black", label="Pareto set")
        axis.set(title=f"{method}, ru-en", xlabel="BLEU", ylabel="decoding time (s)")
        axis.legend(fontsize=7)
