"""The contract of bandit agents: find an obvious best arm, repeat, accept late results, refuse invalid input."""

from typing import Any

import numpy as np
import pytest

from hpo_envs import agents
from hpo_envs.benchmarks import run
from tests.agents.bandits.helpers import play, problem

CONFIDENT = ("ttts", "t3c", "ttei", "bts", "lucb", "track-and-stop")
ALL = (*CONFIDENT, "nonadaptive", "sh", "sr")


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("batch", [None, 1, 5])
def test_agents_find_the_obvious_best_arm(name: str, batch: int | None) -> None:
    agent = agents.make(name, problem(batch=batch), 0)
    pulled = play(agent, [0.5, 0.8, 0.4, 0.6])
    best = agent.recommend()
    assert best in agent.problem.action_space
    assert (np.asarray(best) == 1).all()
    assert agent.done
    assert set(pulled) == {0, 1, 2, 3}


def test_late_results_are_attributed_to_their_arm() -> None:
    """Two simulated workers: a result arrives while the next evaluation is pending."""
    agent: Any = agents.make("bts", problem(2, budget=None), 0, confidence=0.99)
    means, out = [0.2, 0.8], []
    for _ in range(40):
        action = agent.ask()
        out.append(action)
        if len(out) < 3:
            agent.tell(action, 0.0, {"finished": False})
            continue
        back = out.pop(0)
        agent.tell(action, means[back] + 0.01 * len(out), {"action": back})
        if agent.done:
            break
    assert agent.done
    assert (agent.recommend(), agent.belief.means) == (1, pytest.approx([0.22, 0.82]))


def test_ties_and_constant_scores_break_no_agent() -> None:
    for name in ALL:
        agent = agents.make(name, problem(), 0)
        pulled = play(agent, [0.5] * 4, 0.0, limit=60)
        assert len(pulled) > 0
        assert agent.recommend() in agent.problem.action_space


@pytest.mark.parametrize(
    ("name", "arguments", "of", "message"),
    [
        ("ttts", {"beta": 0.0}, {}, "beta must lie strictly between 0 and 1"),
        ("bts", {"batch_size": 0}, {}, "batch_size must be an int >= 1, got 0"),
        ("sh", {}, {"arms": 4, "budget": 7}, "budget must be >= .* = 8 evaluations"),
        ("sh", {"rounds": "round"}, {}, "rounds must be one of ceil, floor, got 'round'"),
        ("sh", {}, {"budget": None}, "budget must be a number of evaluations"),
        ("sr", {}, {"budget": 3}, "budget must be >= 4 evaluations"),
        ("nonadaptive", {}, {"budget": 3}, "budget must be >= 4 evaluations"),
    ],
)
def test_bad_arguments_name_rule_and_value(name: str, arguments: Any, of: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        agents.make(name, problem(**of), 0, **arguments)


def test_a_run_has_one_entry_for_each_pull() -> None:
    (r,) = run("bts", "FIESTA-tdsa8-v0", [0], budget=60, env_kwargs={"batch_size": 4})
    assert (len(r) % 4, r.costs.tolist()) == (0, [1.0] * len(r))
    assert r.actions.shape == r.rewards.shape == (len(r),)


def test_confidence_is_kept() -> None:
    wrong = 0
    for seed in range(60):
        agent = agents.make("ttts", problem(3, budget=None), seed, confidence=0.9)
        play(agent, [0.5, 0.51, 0.5], 0.02, limit=2000, seed=seed)
        wrong += agent.recommend() != 1
    assert wrong <= 12  # 99.5 % of Binomial(60, 0.1)
