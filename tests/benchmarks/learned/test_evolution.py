"""Training: the agent's game, a function of its seed, uphill."""

from __future__ import annotations

from dataclasses import replace

import gymnasium as gym
import numpy as np
import pytest

from hpo_envs import agents
from hpo_envs.agents import Problem
from hpo_envs.agents.models.mixture import Family, Hypotheses
from hpo_envs.agents.transfer.acquisition_net import SIZE
from hpo_envs.benchmarks.learned import evolution, tables, train

FAMILY = Family(np.array([0.5, 2.0, 1.0]), np.linspace(-1.0, 1.0, 10))


def candidates(n: int = 30, d: int = 3, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).random((n, d)).round(2)


def trained_weights(seed: int = 0) -> np.ndarray:
    return evolution.start(np.random.default_rng(seed)) + 0.1 * np.random.default_rng(seed).normal(size=SIZE)


def test_trainer_and_agent_play_the_same_game() -> None:
    """The network that was trained on batches is the one that the agent uses, through ask and tell."""
    x, y = candidates(40), np.random.default_rng(5).normal(size=40)
    w, budget, episodes = trained_weights(), 12, 4
    regret = evolution.play(w[None], Hypotheses(x, FAMILY), y, budget, episodes, np.random.default_rng(3))[0]
    first = np.random.default_rng(3).integers(40, size=episodes)
    problem = Problem(gym.spaces.Discrete(40), x, ("a", "b", "c"), budget=budget)
    for e in range(episodes):
        agent = agents.make("learned", problem, 0, weights=w, knowledge=FAMILY)
        seen = []
        for t in range(budget):
            action = int(first[e]) if t == 0 else agent.ask()
            seen.append(y[action])
            agent.tell(action, y[action], {"cost": 1.0})
        assert np.allclose(y.max() - np.maximum.accumulate(seen), regret[e])


# -- training ------------------------------------------------------------------------------------------------------


def toy(slope: float, seed: int) -> tables.Task:
    """A smooth table whose two features act like `slope`, so that tables of equal slope teach each other."""
    rng = np.random.default_rng(seed)
    x = rng.random((30, 2)).round(2)
    y = slope * (x[:, 0] - x[:, 1]) + 0.1 * rng.normal(size=30)
    return tables.Task(f"toy/{seed}", str(seed), x, y, tables.normal_scores(y), np.array([1.0, 1.0]))


def test_training_is_a_function_of_its_seed_and_moves() -> None:
    settings = replace(evolution.Settings(), generations=2, population=4, episodes=2, budgets=(5,))
    every = [toy(1.0, s) for s in range(3)]
    weights = [train.train_fold(every, "1", True, settings, seed).weights for seed in (0, 0, 1)]
    assert np.array_equal(weights[0], weights[1])
    assert not np.array_equal(weights[0], weights[2])
    assert not np.allclose(weights[0], evolution.start(np.random.default_rng(0)))
    unlike = train.train_fold([*every[:1], toy(-1.0, 1), *every[2:]], "1", True, settings, 0)
    assert np.array_equal(weights[0], unlike.weights), "the table left out mattered"


def test_evolution_climbs() -> None:
    """Tables that contradict each other: a network that starts by trusting the others learns not to."""
    settings = replace(evolution.Settings(), generations=25, population=16, episodes=3, budgets=(6,), flipped=0.0)
    trainer = evolution.Trainer([toy(s, i) for i, s in enumerate((1.0, 1.0, 1.0, 1.0))], True, settings, 0)
    trainer.known = [tables.knowledge([toy(-1.0, 9)])] * 4
    first = evolution.start(np.random.default_rng(0))
    last = trainer.train(lambda *_: None)
    trainer.rng = np.random.default_rng(77)
    fitness = np.mean([trainer.fitness(np.stack([first, last])) for _ in range(20)], axis=0)
    assert fitness[1] > fitness[0] + 0.05


def test_random_regret_is_that_of_random_search() -> None:
    y = np.random.default_rng(0).normal(size=25)
    rng = np.random.default_rng(1)
    drawn = [y.max() - y[rng.permutation(25)[:5]].max() for _ in range(20000)]
    assert evolution.random_regret(y, 5) == pytest.approx(np.mean(drawn), abs=0.01)
