"""Reproduction of the paper's tables and figures, with a verdict on every published number."""

import math
from typing import Any, Literal

import gymnasium as gym
import numpy as np

from hpo_envs import agents
from hpo_envs.agents.bandits.elimination import halving_schedule
from hpo_envs.benchmarks.papers import common
from hpo_envs.benchmarks.papers.common import Record, Reproduction
from hpo_envs.benchmarks.papers.fiesta import selections
from hpo_envs.benchmarks.papers.fiesta.selections import Setting, select
from hpo_envs.benchmarks.plots import COLOURS
from hpo_envs.benchmarks.runs import problem_of
from hpo_envs.tables import store
from hpo_envs.tables.datasets.fiesta import NER, NER_SEEDS, NER_SPLITS
from hpo_envs.tables.frames import natural
from hpo_envs.tables.table import Floats, Table


def note(
    r: Reproduction, where: str, row: str, level: str, quantity: str, ours: float, error: float = np.nan, runs: int = 0
) -> Record:
    """Return the row of one of our numbers, and compare it with the published one, if there is one.

    `where` is the table or figure, then after a colon the deviation from it, if any: such numbers are not added to
    `r.compared`. `level` is the error rate delta as text, empty without one; `error` the standard error of our value,
    or for extremes their `selections.scale`, and `runs` the number of its runs.
    """
    table, _, departure = where.partition(":")
    published = common.expected("fiesta").get((table, row, level, quantity))
    found = verdict(quantity, ours, error, runs, published)
    if published is not None and found and not departure:
        spread = "" if np.isnan(error) else f" ± {error:.2g}"
        label = " ".join(filter(None, (row, level and f"delta {level}", quantity)))
        r.compare_published(where, label, published.text, f"{ours:.4g}{spread}", found)
    spread = "" if np.isnan(error) else f"{error:.6g}"
    numbers = {"published": published and published.text, "ours": f"{ours:.6g}", "error": spread, "runs": runs}
    return {"where": where, "row": row, "delta": level, "quantity": quantity, **numbers, "verdict": found}


def verdict(
    quantity: str, ours: float, error: float, n: int, published: common.Published | None
) -> common.Verdict | Literal[""]:
    """Return whether a published number and ours, of `n` runs, agree up to chance; empty if none is published.

    They agree within three standard errors of the difference (extremes: the equivalent quantile of a logistic
    distribution) plus rounding. `error` is the standard error of our number, which is scaled to the published number of
    runs; of extremes it is the `selections.scale`, and our number is shifted to its expectation for the published
    number of runs. Numbers that are published without runs have to be equal.
    """
    if published is None:
        return ""
    if not published.details["runs"]:
        return common.judge(ours - published.value, 0.0)
    if quantity in ("min", "max"):
        further = error * math.log(int(published.details["runs"]) / n) * (1.0 if quantity == "max" else -1.0)
        return common.judge(ours + further - published.value, math.log(2.0 / 0.0027 - 1.0) * error + 0.5)
    if quantity == "correct":  # at 100 % the observed error is 0: add one failure to either side
        p = (ours / 100.0 * n + 1.0) / (n + 2.0)
        error = max(error, 100.0 * (p * (1.0 - p) / n) ** 0.5)
    both = error * (1.0 + n / int(published.details["runs"])) ** 0.5
    return common.judge(ours - published.value, 3.0 * both + 0.5)


def table1(r: Reproduction) -> list[Record]:
    """The schedule of sequential halving: four models, sixteen evaluations."""
    rounds = enumerate(halving_schedule(4, 16), start=1)
    return [note(r, "Table 1", f"round {i}", "", "evaluations", float(each)) for i, (_, each) in rounds]


def _levels(r: Reproduction, where: str, todo: tuple[Setting, ...]) -> list[Record]:
    """Return rows of minimum, mean and maximum evaluations to each confidence, and per cent of correct selections."""
    rows = []
    for setting in todo:
        for delta in selections.DELTAS:
            found = select(r, setting, selections.TRIALS, confidence=1.0 - delta)
            for quantity, (value, error) in found.summary().items():
                rows.append(note(r, where, setting.name, f"{delta:g}", quantity, value, error, len(found)))
    return rows


def table2(r: Reproduction) -> list[Record]:
    """Evaluations to a confidence: non-adaptive and TTTS."""
    return _levels(r, "Table 2", selections.TABLE_2)


def table3(r: Reproduction) -> list[Record]:
    """Evaluations to a confidence: batch Thompson sampling."""
    return _levels(r, "Table 3", selections.TABLE_3)


def uncounted(r: Reproduction) -> list[Record]:
    """Tables 2 and 3 as the authors' notebook counts: five evaluations of each model first, counted as three."""
    rows = []
    for setting in selections.UNCOUNTED:
        where = "Table 3" if setting.agent == "bts" else "Table 2"
        rows += _levels(r, f"{where}: five first, counted as three", (setting,))
    return rows


def figure1(r: Reproduction) -> list[Record]:
    """Section 2: lead of the better recogniser, and how often it wins on one split, on one seed, and in one run."""
    x = natural(store.load("fiesta/ner")).values[:, :, 0, 0].reshape(2, NER_SPLITS, NER_SEEDS)
    means = {"all runs": x[1].mean() - x[0].mean()}
    means |= {f"split {i}": x[1, i].mean() - x[0, i].mean() for i in range(3)}
    wins = {
        "one split, its five seeds": (x[1].mean(axis=1) > x[0].mean(axis=1)).mean(),
        "one split and seed": (x[1] > x[0]).mean(),
        "one seed, all splits": (x[1].mean(axis=0) > x[0].mean(axis=0)).mean(),
    }
    r.draw("figure1", (2.25, 3), _draw_splits, x, shape=(1, 4), sharey=True, width_ratios=(2, 1, 1, 1))
    return [
        *(note(r, "Figure 1", row, "", "mean F1 of lstm minus cnn", float(v)) for row, v in means.items()),
        *(note(r, "Figure 1", row, "", "lstm wins, per cent", 100.0 * float(v)) for row, v in wins.items()),
    ]


def _draw_splits(axes: Any, x: Floats) -> None:
    """Draw distributions over splits and seeds without runs that did not converge (left), three splits (right)."""
    parts = axes[0].violinplot(
        [r[r > 0.9] for r in x.reshape(2, -1)], showextrema=False, quantiles=[[0.25, 0.5, 0.75]] * 2
    )
    for body, colour in zip(parts["bodies"], COLOURS, strict=False):
        body.set_facecolor(colour)
    axes[0].set(xticks=(1, 2), xticklabels=NER, ylabel="test F1", title="all splits and seeds")
    for i, ax in enumerate(axes[1:]):
        for j, colour in zip(range(2), COLOURS, strict=False):
            ax.scatter(np.full(NER_SEEDS, j + 1), x[j, i], marker="_", s=400, color=colour)
        ax.set(xticks=(1, 2), xticklabels=NER, xlim=(0.4, 2.6), title=f"split {i}")


def figure2(r: Reproduction) -> None:
    """One run of TTTS."""
    r.draw("figure2", (6, 3.5), _draw_beliefs, r.seed)


def _draw_beliefs(ax: Any, seed: int) -> None:
    """Draw a run of TTTS to confidence 0.99 on five Gaussian arms: pi (areas) and fractions of evaluations (lines)."""
    env: Any = gym.make("FIESTA-gaussian-v0", budget=None)
    agent: Any = agents.make("ttts", problem_of(env), seed, confidence=0.99)
    env.reset(seed=seed)
    pi, share = [], []
    while not agent.done:
        arm = agent.ask()
        _, reward, ended, _, info = env.step(arm)
        agent.tell(arm, reward, info)
        pi.append(agent.pi)
        share.append(agent.belief.counts / agent.belief.counts.sum())
        if ended:
            break
    steps = np.arange(1, len(pi) + 1)
    names = [f"mean {m:g}" for m in env.unwrapped.table.final("score")]
    ax.stackplot(steps, np.array(pi).T, colors=COLOURS, alpha=0.35, labels=names)
    for line, colour in zip(np.array(share).T, COLOURS, strict=False):
        ax.plot(steps, line, color=colour)
    ax.set(xlabel="evaluations", ylabel="belief (area), share of evaluations (line)", ylim=(0, 1), xlim=(1, len(pi)))
    ax.legend(fontsize="small", loc="upper left")


def figure3(r: Reproduction) -> None:
    """Scores of the eight sentiment models."""
    r.draw("figure3", (7, 3.5), _draw_scores, natural(store.load("fiesta/tdsa8")))


def _draw_scores(ax: Any, t: Table) -> None:
    ax.violinplot(t.values[:, :, 0, 0].T, showmedians=True, showextrema=False)
    ax.set(xticks=range(1, len(t) + 1), ylabel="macro F1")
    ax.set_xticklabels(t.keys, rotation=30)


def figure4(r: Reproduction) -> list[Record]:
    """Correct selections by budget: sequential halving and non-adaptive allocation on twelve models."""
    env, rows = "FIESTA-tdsa12-v0", []
    points: dict[str, dict[int, tuple[float, float]]] = {}
    for budget in selections.FIGURE_4_BUDGETS:
        for agent in ("sh", "nonadaptive"):
            setting = Setting(f"{agent}, T={budget}", agent, env)
            found = select(r, setting, selections.FIGURE_4_TRIALS, budget=budget)
            points.setdefault(agent, {})[budget] = value, error = found.summary()["correct"]
            row = agent if budget == selections.NAMED_BUDGET else setting.name
            rows.append(note(r, "Figure 4", row, "", "correct", value, error, len(found)))
    # Section 4.1 says floor(log2 N) rounds; Algorithm 1 divides by ceil(log2 N).
    floor = Setting("sh", "sh", env, hyperparameters={"rounds": "floor", "total": selections.NAMED_BUDGET})
    found = select(r, floor, selections.FIGURE_4_TRIALS, budget=2 * selections.NAMED_BUDGET)
    label = "Figure 4: budget cut into floor(log2 N) parts"
    for quantity in ("correct", "mean"):
        rows.append(note(r, label, "sh", "", quantity, *found.summary()[quantity], len(found)))
    r.draw("figure4", (6, 3.5), _draw_budgets, points)
    return rows


def _draw_budgets(ax: Any, points: dict[str, dict[int, tuple[float, float]]]) -> None:
    """Draw the percentage of correct selections and its standard error, by agent and budget."""
    for (agent, curve), colour, marker in zip(points.items(), COLOURS, "os", strict=False):
        values, errors = np.array([*curve.values()]).T
        ax.errorbar([*curve], values, errors, color=colour, marker=marker, label=agent, capsize=2)
    ax.set(xlabel="budget (evaluations)", ylabel="right selections (%)")
    ax.grid(alpha=0.3)
    ax.legend()


def difficulty(r: Reproduction) -> list[Record]:
    """Appendix A: H, the sum of 1 / gap^2 over all models but the best, and H times the largest variance of a model."""
    rows: list[Record] = []
    for name in ("tdsa8", "tdsa12", "ner", "gaussian"):
        scores = store.load(f"fiesta/{name}").values[:, :, 0, 0]
        gaps = np.sort(scores.mean(axis=1).max() - scores.mean(axis=1))[1:]
        rows.append({"table": name, "H": f"{(gaps**-2.0).sum():.4g}", "smallest gap": f"{gaps[0]:.4g}"})
        if scores.shape[1] > 1:
            rows[-1]["H variance"] = f"{(gaps**-2.0).sum() * scores.var(axis=1, ddof=1).max():.4g}"
    return rows


PARTS: common.Parts = {
    part.__name__: part for part in (table1, table2, table3, uncounted, figure1, figure2, figure3, figure4, difficulty)
}

QUICK = 10
"""Trials of `--quick`."""
