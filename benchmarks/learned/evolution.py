"""Evolution strategies on whole runs: P models times E episodes in one batch."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hpo_envs.agents.models.stacked_gp import START, StackedGP
from hpo_envs.benchmarks.learned.tasks import AS_USED, Draws, Episodes, Task, draw

Floats = npt.NDArray[np.float64]

SIGMA = np.array([0.5, 0.5, 0.5, 0.5, 0.5, 0.25, 8.0, 0.7, 0.7, 0.7, 0.7, 0.5, 0.2, 0.3, 0.2, 0.2])
"""Standard deviation of the perturbation of each of `START`: what is a factor moves by factors."""


@dataclass(frozen=True)
class Settings:
    """Settings of the training.

    Attributes:
        generations: Steps of the gradient.
        pairs: Mirrored pairs of models a generation.
        episodes: Runs of each model a generation, the same for all models.
        budgets: Budgets to draw from.
        final: Weight of the final regret next to the anytime one.
        rate: Step size in units of `SIGMA`, of Adam with moments 0.9 and 0.98; it falls linearly to a fifth.
        shrink: What is kept of the distance from the start in each generation.
        every: Generations between two looks at the validation episodes.
        validation: Their number.
    """

    generations: int = 40
    pairs: int = 6
    episodes: int = 16
    budgets: tuple[int, ...] = (10, 20, 20, 30)
    final: float = 0.5
    rate: float = 0.15
    shrink: float = 0.998
    every: int = 10
    validation: int = 40


def play(numbers: Floats, episodes: Episodes, budget: int) -> Floats:
    """(P, E, budget) normalised regret of P models, kept between 0 and 1."""
    e, valid = np.arange(len(episodes.best)), episodes.tables.valid
    shape = (len(numbers), len(e))

    def columns(rows: npt.NDArray[np.intp]) -> Floats:
        return np.asarray(episodes.correlations[e, :, rows])

    model = StackedGP(numbers, episodes.tables, columns, budget)
    free, seen = np.broadcast_to(valid, (*shape, valid.shape[1])).copy(), np.empty((*shape, budget))
    rows = np.where(valid, model.expected, -np.inf).argmax(axis=2)
    for t in range(budget):
        np.put_along_axis(free, rows[..., None], False, axis=2)
        seen[..., t] = episodes.rewards[e, rows]
        if t + 1 < budget:
            model.observe(rows)
            scores = model.log_improvement(seen[..., : t + 1], 1.0 - (t + 1) / budget)
            rows = np.where(free, scores, -np.inf).argmax(axis=2)
    regret = (episodes.best[:, None] - np.maximum.accumulate(seen, axis=2)) / episodes.span[:, None]
    return np.asarray(np.clip(regret, 0.0, 1.0))


def scores(regret: Floats, final: float) -> Floats:
    """(P, E) mean regret and a share of the final one."""
    return np.asarray(regret.mean(axis=2) + final * regret[..., -1])


def train(
    tasks: Sequence[Task],
    validation: Sequence[Task],
    held_out: frozenset[str],
    settings: Settings,
    seed: int,
    log: Callable[[int, float, float], None] = lambda *_: None,
) -> Floats:
    """(len(START),) numbers: of the means of late iterates, the one that is best on the validation tasks.

    Args:
        tasks: To train on.
        validation: Tables of other training languages; none: nothing stops the training early.
        held_out: Languages whose tables are no sources either.
        settings: Of the evolution strategy.
        seed: Of everything that is drawn.
        log: Called with the generation, the score on the validation episodes and CPU seconds so far.
    """
    s, rng, how, begun = settings, np.random.default_rng(seed), Draws(), time.process_time()
    first = np.array([*START.values()])
    at, steps = first, np.zeros((2, len(first)))
    iterates: list[Floats] = []
    kept: list[tuple[float, Floats]] = []
    checked = draw(validation or tasks, s.validation, held_out, np.random.default_rng([seed, 1]), AS_USED)

    def look(generation: int) -> None:
        mean = first if not generation else np.mean(iterates[generation // 2 :], axis=0)
        score = float(scores(play(mean[None], checked, 20), s.final).mean())
        kept.append((score if validation else -generation, mean))
        log(generation, score, time.process_time() - begun)

    look(0)
    for g in range(s.generations):
        episodes, budget = draw(tasks, s.episodes, held_out, rng, how), int(rng.choice(s.budgets))
        e = rng.standard_normal((s.pairs, len(at)))
        found = scores(play(np.concatenate([at + SIGMA * e, at - SIGMA * e]), episodes, budget), s.final)
        # Episodes count alike, however hard they are.
        found = (found / (found.mean(axis=0) + 0.05)).mean(axis=1)
        apart = found[s.pairs :] - found[: s.pairs]
        gradient = (apart[:, None] * e).mean(axis=0) / max(float(apart.std()), 1e-9)
        steps = np.stack([0.9 * steps[0] + 0.1 * gradient, 0.98 * steps[1] + 0.02 * gradient**2])
        mean, square = steps[0] / (1 - 0.9 ** (g + 1)), steps[1] / (1 - 0.98 ** (g + 1))
        rate = s.rate * (1 - 0.8 * g / s.generations)
        at = first + s.shrink * (at + rate * SIGMA * mean / (np.sqrt(square) + 1e-8) - first)
        iterates.append(at)
        if (g + 1) % s.every == 0 or g + 1 == s.generations:
            look(g + 1)
    return min(kept, key=lambda pair: pair[0])[1]
