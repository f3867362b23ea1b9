"""Figures 1, 4, 5, 6 and 7 of Zhang and Duh 2020."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import spearmanr

from hpo_envs import agents
from hpo_envs.agents import Agent, Problem
from hpo_envs.agents.models.pareto import pareto_front
from hpo_envs.benchmarks import runs
from hpo_envs.benchmarks.analysis import forest_importance
from hpo_envs.benchmarks.papers.nmthpo import settings
from hpo_envs.benchmarks.plots import COLOURS, panels, save
from hpo_envs.benchmarks.plots.configurations import bars
from hpo_envs.tables.datasets.nmthpo import PAIRS
from hpo_envs.tables.table import Floats, Table

FIGURE6 = ("RS", "BO_EI_M", "GB_EI_M", "GB_EIF_M")
"""Methods whose course is drawn; the paper's caption does not list its own choice."""


def draw(out: Path, seeds: list[int]) -> list[Path]:
    """Draw every figure with matplotlib, and print the numbers behind figures 4 and 5; return the files."""
    tables = {pair: settings.table_of(pair) for pair in PAIRS}
    return [
        *_pareto(tables, out / "figure1"),
        *_correlations(tables, out / "figure4"),
        *_importance(tables, out / "figure5"),
        *_course(tables["jaen"], seeds, out / "figure6"),
        *_evolution(tables["ruen"], seeds[0], out / "figure7"),
    ]


def _pareto(tables: Mapping[str, Table], path: Path) -> list[Path]:
    """Figure 1: decoding time against BLEU, and the Pareto front."""
    figure, axes = _grid(2, 3)
    for axis, (pair, table) in zip(axes, tables.items(), strict=True):
        bleu, seconds = table.final("bleu"), table.final("decoding_seconds")
        front = pareto_front(np.column_stack([bleu, -seconds]))
        axis.scatter(bleu, seconds, s=8, color="#999999", label="systems")
        order = np.flatnonzero(front)[np.argsort(bleu[front])]
        axis.plot(bleu[order], seconds[order], "o-", ms=4, color=COLOURS[1], label=f"Pareto front ({len(order)})")
        axis.set(title=PAIRS[pair], xlabel="BLEU", ylabel="decoding time (s)")
        axis.legend(fontsize=7)
    return save(figure, path)


def common_configurations(tables: Mapping[str, Table]) -> dict[str, list[int]]:
    """Aligned rows of the configurations common to all pairs; 30k and 32k BPE symbols count as equal (note 8)."""

    def key(config: Floats) -> tuple[float, ...]:
        return (30000.0 if config[0] in (30000.0, 32000.0) else config[0], *config[1:].tolist())

    where = {pair: {key(c): i for i, c in enumerate(t.configs)} for pair, t in tables.items()}
    first = next(iter(where.values()))
    shared = [k for k in first if all(k in w for w in where.values())]
    return {pair: [w[k] for k in shared] for pair, w in where.items()}


def correlations(tables: Mapping[str, Table]) -> Floats:
    """(pairs, pairs) Spearman correlation of BLEU over the common configurations (figure 4)."""
    rows = common_configurations(tables)
    values = np.column_stack([tables[pair].final("bleu")[rows[pair]] for pair in tables])
    return np.asarray(spearmanr(values).statistic, dtype=np.float64)


def _correlations(tables: Mapping[str, Table], path: Path) -> list[Path]:
    rho = correlations(tables)
    names = [PAIRS[p] for p in tables]
    print(f"\nFigure 4: Spearman correlation of {len(common_configurations(tables)['zhen'])} common configurations")
    print("       " + " ".join(f"{n:>6}" for n in names))
    for name, row in zip(names, rho, strict=True):
        print(f"{name:6} " + " ".join(f"{v:6.3f}" for v in row))
    figure, axes = _grid(1, 1)
    image = axes[0].imshow(rho, vmin=-1, vmax=1, cmap="cividis")
    axes[0].set(xticks=range(len(names)), yticks=range(len(names)), xticklabels=names, yticklabels=names)
    for i, j in np.ndindex(rho.shape):
        axes[0].text(j, i, f"{rho[i, j]:.2f}", ha="center", va="center", color="white" if rho[i, j] < 0.5 else "black")
    figure.colorbar(image)
    return save(figure, path)


FIGURE5 = (("enja", 0.99, "en-ja, top 1 %"), ("enja", 0.0, "en-ja, all"), ("swen", 0.0, "sw-en, all"),
           ("swen", 0.5, "sw-en, better half"))  # fmt: skip
"""Panels: pair, cutoff as a quantile of BLEU, title. The paper has the first three; its sw-en is like our last."""


def _importance(tables: Mapping[str, Table], path: Path) -> list[Path]:
    """Figure 5: hyperparameters (top) and the eight most important pairs (bottom), by a random forest."""
    figure, axes = _grid(2, len(FIGURE5))
    print("\nFigure 5: share of the variance of BLEU, random forest")
    for j, (pair, quantile, title) in enumerate(FIGURE5):
        configs, bleu, space = forest_importance.of_table(tables[pair], "bleu")
        cutoff = float(np.quantile(bleu, quantile)) if quantile else None
        found = forest_importance.importance(configs, bleu, space, cutoff=cutoff)
        order = np.argsort(-found.main, kind="stable")
        print(f"  {title}: " + ", ".join(f"{found.names[i]} {found.main[i]:.3f}" for i in order))
        bars(axes[j], [found.names[i] for i in order], found.main[order].tolist(), title)
        pairs = found.ranked_pairs()[:8]
        print("    pairs: " + ", ".join(f"{a} x {b} {share:.3f}" for a, b, share in pairs[:3]))
        bars(axes[len(FIGURE5) + j], [f"{a} x {b}" for a, b, _ in pairs], [s for _, _, s in pairs], "interactions")
    return save(figure, path)


class _Watched(Agent):
    """Wrapper of an agent that records the mean squared error of its predictions, if any, after each evaluation."""

    def __init__(self, inner: Agent, truth: Floats) -> None:
        super().__init__(inner.problem, 0)
        self.inner, self.truth = inner, truth
        self.errors: list[float] = []

    def ask(self) -> Any:
        return self.inner.ask()

    def tell(self, action: Any, reward: Any, info: Mapping[str, Any]) -> None:
        self.inner.tell(action, reward, info)
        if hasattr(self.inner, "predict"):
            self.errors.append(float(np.mean(np.square(self.inner.predict()[0] - self.truth))))

    def recommend(self) -> Any:
        return self.inner.recommend()


def course(table: Table, pair: str, agent: str, seeds: list[int], budget: int) -> tuple[Floats, Floats]:
    """Best BLEU so far and mean squared error of the surrogate over all candidates, (trials, budget) each (figure 6).

    The error array has no columns for agents without a model.
    """
    watched: list[_Watched] = []

    def make(problem: Problem, seed: int) -> Agent:
        watched.append(_Watched(agents.make(agent, problem, seed), table.final("bleu")))
        return watched[-1]

    found = runs.run(make, f"NMTHPO-{pair}-v0", seeds, budget=budget, env_kwargs={"table": table, "shuffle": False})
    best = np.array([np.maximum.accumulate(r.rewards) for r in found])
    return best, np.array([w.errors for w in watched])


def _course(table: Table, seeds: list[int], path: Path) -> list[Path]:
    figure, axes = _grid(1, 2)
    budget = 100
    steps = np.arange(1, budget + 1)
    for colour, method in zip(COLOURS, FIGURE6, strict=False):
        best, errors = course(table, "jaen", settings.SINGLE[method], seeds, budget)
        for axis, values in zip(axes, (best, errors), strict=True):
            if values.size:
                low, middle, high = np.quantile(values, [0.25, 0.5, 0.75], axis=0)
                axis.plot(steps, middle, color=colour, label=method)
                axis.fill_between(steps, low, high, color=colour, alpha=0.2, lw=0)
    axes[0].set(xlabel="evaluations", ylabel="best BLEU so far", title="ja-en, median and quartiles")
    axes[1].set(xlabel="evaluations", ylabel="mean squared error of the surrogate", yscale="log")
    axes[0].legend()
    axes[1].legend()
    return save(figure, path)


def _evolution(table: Table, seed: int, path: Path) -> list[Path]:
    """Figure 7: the fronts of BO_M and GB_M on ru-en after 3, 10, 20 and 50 evaluations."""
    figure, axes = _grid(1, 2)
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
    return save(figure, path)


def _grid(rows: int, columns: int) -> tuple[Any, list[Any]]:
    figure, axes = panels(rows, columns, (4.2 * columns, 3.4 * rows))
    return figure, list(axes.ravel())
