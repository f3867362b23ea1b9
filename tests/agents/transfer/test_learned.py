"""Learned agents: invariant, bounded, better than chance on tables they have not seen."""

from __future__ import annotations

from dataclasses import replace

import gymnasium as gym
import numpy as np
import pytest

from hpo_envs import agents
from hpo_envs.agents import Problem
from hpo_envs.agents.transfer import learned
from hpo_envs.agents.transfer.acquisition_net import SIZE
from hpo_envs.benchmarks.learned import settings
from hpo_envs.benchmarks.runs import problem_of, run


def candidates(n: int = 30, d: int = 3, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).random((n, d)).round(2)


def test_units_of_the_reward_do_not_matter() -> None:
    x, y = candidates(40), np.random.default_rng(5).normal(size=40)
    problem = Problem(gym.spaces.Discrete(40), x, ("a", "b", "c"), budget=15)
    chosen = []
    for values in (y, 1e3 * y - 7.0, 1e-3 * y + 2.0):
        agent = agents.make("learned", problem, 1)
        actions = []
        for _ in range(15):
            actions.append(agent.ask())
            agent.tell(actions[-1], values[actions[-1]], {"cost": 1.0})
        chosen.append(actions)
        assert len(set(actions)) == 15
    assert chosen[0] == chosen[1] == chosen[2]


def test_more_candidates_and_evaluations_than_are_modelled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learned, "LARGEST", 20)
    monkeypatch.setattr(learned, "LONGEST", 5)
    agent = agents.make("learned", Problem(gym.spaces.Discrete(50), candidates(50), ("a", "b", "c")), 2)
    actions = []
    for _ in range(50):
        actions.append(agent.ask())
        agent.tell(actions[-1], float(actions[-1]), {"cost": 1.0})
    assert sorted(actions) == list(range(50))
    assert agent.recommend() == 49


def test_constant_rewards_and_equal_candidates() -> None:
    agent = agents.make("learned", Problem(gym.spaces.Discrete(6), np.full((6, 2), 0.5), ("a", "b"), budget=6), 0)
    for _ in range(6):
        agent.tell(agent.ask(), 3.0, {"cost": 1.0})
    assert agent.done is False


def test_wrong_arguments() -> None:
    env = gym.make("NMTHPO-zhen-v0", table="surrogate")
    problem = problem_of(env)
    with pytest.raises(ValueError, match="family must be auto or one of .*, got 'bert'"):
        agents.make("learned", problem, 0, family="bert")
    with pytest.raises(ValueError, match="without must be None or one of zhen, .*, got 'deen'"):
        agents.make("learned", problem, 0, without="deen")
    with pytest.raises(ValueError, match="family must have the problem's 6 features, got 18"):
        agents.make("learned", problem, 0, family="charhpo")
    with pytest.raises(ValueError, match=f"weights must have shape \\({SIZE},\\), got \\(3,\\)"):
        agents.make("learned", problem, 0, weights=np.zeros(3))
    with pytest.raises(ValueError, match="one objective"):
        agents.make("learned", replace(problem, objectives=2), 0)


# -- the shipped weights -------------------------------------------------------------------------------------------


def test_families_are_recognised() -> None:
    for env_id, family in {
        "NMTHPO-soen-v0": "nmthpo",
        "CharHPO-g2p-geo-lstm-v0": "charhpo",
        "NASBenchNLP-ptb-final-v0": "generic",
    }.items():
        assert learned.family_of(problem_of(gym.make(env_id, table="surrogate")).feature_names) == family


@pytest.mark.measured
@pytest.mark.parametrize("pair", ["zhen", "ruen", "enja"])
def test_better_than_random_search_on_a_pair_never_seen(pair: str) -> None:
    todo = [settings.Setting("nmthpo", f"nmthpo/{pair}", m, "measured") for m in ("learned", "random")]
    ours, chance = (settings.regrets(c, range(40))[:, -1].mean() for c in todo)
    assert ours < 0.7 * chance


def test_generic_weights_beat_random_search_on_rows_of_another_kind() -> None:
    """Fine-tuned language models, features that no family has; each row trained to its end."""
    kwargs = {"table": "surrogate", "cost": "evaluations", "budget": 15}
    best = [
        np.mean([r.rewards.max() for r in run(a, "NMTLC-ft-fren-v0", range(20), env_kwargs=kwargs)])
        for a in ("learned", "random")
    ]
    assert best[0] > best[1]
