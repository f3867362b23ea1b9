"""Figures 1 to 4 of the paper, drawn again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hpo_envs.benchmarks.plots import COLOURS, panels, save
from hpo_envs.tables import store
from hpo_envs.tables.datasets.fiesta import NER, NER_SEEDS, NER_SPLITS
from hpo_envs.tables.frames import natural


def recognisers() -> npt.NDArray[np.float64]:
    """(2, splits, seeds) scores of the two recognisers of names."""
    return natural(store.load("fiesta/ner")).values[:, :, 0, 0].reshape(2, NER_SPLITS, NER_SEEDS)


def figure1(out: Path) -> list[Path]:
    """Distribution over splits and seeds (left), three single splits (right); not converged runs left out."""
    x = recognisers()
    fig, (axes,) = panels(1, 4, (9, 3), sharey=True, width_ratios=(2, 1, 1, 1))
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
    return save(fig, out / "figure1")


def figure2(out: Path, seed: int) -> list[Path]:
    """One run of TTTS to confidence 0.99 on the five Gaussian arms: pi (areas) and shares of evaluations (lines)."""
    import gymnasium as gym

    from hpo_envs import agents
    from hpo_envs.benchmarks.runs import problem_of

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
    fig, ((ax,),) = panels(1, 1, (6, 3.5))
    names = [f"mean {m:g}" for m in env.unwrapped.table.final("score")]
    ax.stackplot(steps, np.array(pi).T, colors=COLOURS, alpha=0.35, labels=names)
    for line, colour in zip(np.array(share).T, COLOURS, strict=False):
        ax.plot(steps, line, color=colour)
    ax.set(xlabel="evaluations", ylabel="belief (area), share of evaluations (line)", ylim=(0, 1), xlim=(1, len(pi)))
    ax.legend(fontsize="small", loc="upper left")
    return save(fig, out / "figure2")


def figure3(out: Path) -> list[Path]:
    """Scores of the eight sentiment models."""
    t = natural(store.load("fiesta/tdsa8"))
    fig, ((ax,),) = panels(1, 1, (7, 3.5))
    ax.violinplot(t.values[:, :, 0, 0].T, showmedians=True, showextrema=False)
    ax.set(xticks=range(1, len(t) + 1), ylabel="macro F1")
    ax.set_xticklabels(t.keys, rotation=30)
    return save(fig, out / "figure3")


def figure4(out: Path, points: dict[str, dict[int, tuple[float, float]]]) -> list[Path]:
    """Right selections by budget.

    Args:
        out: Folder.
        points: (Per cent right, standard error) by agent and budget.
    """
    fig, ((ax,),) = panels(1, 1, (6, 3.5))
    for (agent, curve), colour, marker in zip(points.items(), COLOURS, "os", strict=False):
        budgets = sorted(curve)
        values, errors = np.array([curve[b] for b in budgets]).T
        ax.errorbar(budgets, values, errors, color=colour, marker=marker, label=agent, capsize=2)
    ax.set(xlabel="budget (evaluations)", ylabel="right selections (%)")
    ax.grid(alpha=0.3)
    ax.legend()
    return save(fig, out / "figure4")
