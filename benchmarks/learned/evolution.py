"""Evolution strategies on whole runs: P networks times B episodes of one table side by side."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hpo_envs.agents.models.mixture import Family, Hypotheses, MixturePosterior
from hpo_envs.agents.transfer import acquisition_net
from hpo_envs.agents.transfer.acquisition_net import HIDDEN, INPUTS, SIZE
from hpo_envs.benchmarks.analysis.scores.expected import expected_best
from hpo_envs.benchmarks.learned.tables import Task, knowledge

Floats = npt.NDArray[np.float64]


FIXED = len(INPUTS) * HIDDEN + HIDDEN
"""The first layer and its biases stay as drawn: a gradient estimated from few runs is shared by fewer weights."""


@dataclass(frozen=True)
class Settings:
    """Settings of the training.

    Attributes:
        generations: Steps of the gradient.
        population: Networks a generation, in mirrored pairs; even.
        episodes: Runs of each network on each table.
        tables: Tables a generation at most, drawn anew.
        rows: Rows of a table at most, drawn anew.
        budgets: Budgets to draw from.
        flipped: Probability that a feature of a task acts the other way round (1 - x instead of x), so that what the
            other tables taught is partly wrong: a network that trusted it blindly would fail on a table unlike the
            others.
        sigma: Standard deviation of the perturbations.
        rate: Step size: the weights move by rate * sigma * sqrt(pairs) times the smoothed mean over pairs of rank
            difference times direction; falls linearly to 30 %.
        final: Weight of the final regret; the rest is the regret averaged over the run from step 5 on.
    """

    generations: int = 40
    population: int = 24
    episodes: int = 4
    tables: int = 6
    rows: int = 250
    budgets: tuple[int, ...] = (10, 20, 20, 20, 30)
    flipped: float = 0.0
    sigma: float = 0.1
    rate: float = 0.5
    final: float = 0.5


def play(
    weights: Floats, hypotheses: Hypotheses, rewards: Floats, budget: int, episodes: int, rng: np.random.Generator
) -> Floats:
    """Regrets of P networks on B episodes with the same first rows.

    Args:
        weights: (P, SIZE).
        hypotheses: Of the rows played.
        rewards: (n,) of these rows.
        budget: Evaluations, <= n.
        episodes: B.
        rng: Draws the first rows.

    Returns:
        (P, B, budget) best reward of the rows minus the best so far.
    """
    p, n = len(weights), len(rewards)
    chosen = np.tile(rng.integers(n, size=episodes), p)
    r = np.arange(p * episodes)
    posterior = MixturePosterior(hypotheses, p * episodes, budget, hypotheses.gram())
    free, seen = np.ones((p * episodes, n), bool), np.empty((p * episodes, budget))
    for t in range(budget):
        if t:
            left = np.full(len(r), 1.0 - t / budget)
            x = acquisition_net.inputs(posterior, seen[:, :t], free, left, budget)
            chosen = np.where(free, acquisition_net.score(x, weights), -np.inf).argmax(axis=1)
        free[r, chosen] = False
        seen[:, t] = rewards[chosen]
        if t + 1 < budget:
            posterior.observe(chosen)
    return (rewards.max() - np.maximum.accumulate(seen, axis=1)).reshape(p, episodes, budget)


def random_regret(rewards: Floats, budget: int) -> float:
    """Expected regret of random search without replacement, in closed form."""
    return float(rewards.max() - expected_best(rewards, [budget], replacement=False)[0][0])


def start(rng: np.random.Generator) -> Floats:
    """(SIZE,) first weights: expected improvement plus the family's expectation, and an idle hidden layer."""
    w = np.zeros(SIZE)
    d = len(INPUTS)
    w[: d * HIDDEN] = rng.normal(size=d * HIDDEN) * 0.6 / np.sqrt(d)
    skip = dict(zip(INPUTS, range(SIZE - d, SIZE), strict=True))
    for name, value in {"expected improvement": 1.0, "covered expectation": 0.8}.items():
        w[skip[name]] = value
    return w


class Trainer:
    """Trains one network on tasks.

    Args:
        seen: Tasks to train on.
        family: Whether networks get what the other tasks taught. Each task gets what all others but its own language
            taught, so a network learns how far to trust tables that are not the one at hand.
        settings: Of the evolution strategy.
        seed: Of everything that is drawn.
    """

    def __init__(self, seen: Sequence[Task], family: bool, settings: Settings, seed: int) -> None:
        self.seen, self.settings = list(seen), settings
        self.rng = np.random.default_rng(seed)
        self.known: list[Family | None] = [
            knowledge([o for o in seen if o.language != t.language]) if family else None for t in seen
        ]

    def fitness(self, population: Floats) -> Floats:
        """(P,) minus regret in units of random search's, mean over tables and episodes."""
        s, rng, total = self.settings, self.rng, np.zeros(len(population))
        budget = int(rng.choice(s.budgets))
        drawn = rng.permutation(len(self.seen))[: s.tables]
        for i in drawn.tolist():
            t = self.seen[i]
            most = min(len(t.rewards), s.rows)
            rows = rng.choice(len(t.rewards), int(rng.integers(most // 2, most + 1)), replace=False)
            y, x = t.rewards[rows], t.features[rows]
            x = np.where(rng.random(x.shape[1]) < s.flipped, 1.0 - x, x)
            regret = play(population, Hypotheses(x, self.known[i]), y, budget, s.episodes, rng)
            late = regret[:, :, 4:].mean(axis=(1, 2))
            blend = s.final * regret[:, :, -1].mean(axis=1) + (1 - s.final) * late
            total -= blend / max(random_regret(y, budget), 1e-3 * float(np.ptp(y)))
        return total / len(drawn)

    def train(self, log: Callable[[int, float, float], None]) -> Floats:
        """(SIZE,) weights: the average over the second half of the generations.

        Args:
            log: Called with the generation, the population's mean fitness and CPU seconds so far.
        """
        s, half = self.settings, self.settings.population // 2
        w = start(self.rng)
        size = s.sigma * np.where(np.arange(SIZE) < FIXED, 0.0, 1.0)
        velocity, mean = np.zeros(SIZE), np.zeros(SIZE)
        begun = time.process_time()
        for g in range(s.generations):
            e = self.rng.normal(size=(half, SIZE))
            f = self.fitness(np.concatenate([w + size * e, w - size * e]))
            ranks = np.argsort(np.argsort(f)) / (2 * half - 1) - 0.5
            gradient = ((ranks[:half] - ranks[half:])[:, None] * e).mean(axis=0)
            velocity = 0.8 * velocity + 0.2 * gradient
            w = w + s.rate * (1 - 0.7 * g / s.generations) * size * np.sqrt(half) * velocity
            if g >= s.generations // 2:
                mean += w
            log(g, float(f.mean()), time.process_time() - begun)
        return mean / (s.generations - s.generations // 2)
