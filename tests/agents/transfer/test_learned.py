"""The agent `learned`: invariant, bounded, learns from source tasks, and states the languages of its training."""

import json
from dataclasses import replace
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from hpo_envs import agents
from hpo_envs.agents import Problem
from hpo_envs.agents.problem import Source
from hpo_envs.agents.random import RandomSearch
from hpo_envs.agents.transfer import learned, policy
from hpo_envs.benchmarks.runs import run
from hpo_envs.benchmarks.runs.record import agent_of
from hpo_envs.families.registry import FAMILIES, held_out_of
from tests.agents import helpers
from tests.helpers import rejects


def candidates(n: int = 30, d: int = 3, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).random((n, d)).round(2)


def test_the_unit_of_the_reward_does_not_matter() -> None:
    x, y = candidates(40), np.random.default_rng(5).normal(size=40)
    problem = Problem(gym.spaces.Discrete(40), x, ("a", "b", "c"), budget=15)
    chosen = [play(problem, values, 15, seed=1) for values in (y, 1e3 * y - 7.0, 1e-3 * y + 2.0)]
    assert chosen[0] == chosen[1] == chosen[2]
    assert len(set(chosen[0])) == 15


def test_more_candidates_and_evaluations_than_are_modelled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learned, "LARGEST", 20)
    monkeypatch.setattr(learned, "LONGEST", 5)
    agent = agents.make("learned", Problem(gym.spaces.Discrete(50), candidates(50), ("a", "b", "c")), 2)
    actions = helpers.play(agent, float, 50)
    assert (sorted(actions), agent.recommend()) == (list(range(50)), 49)


def test_constant_rewards_and_equal_candidates() -> None:
    agent = agents.make("learned", Problem(gym.spaces.Discrete(6), np.full((6, 2), 0.5), ("a", "b"), budget=6), 0)
    helpers.play(agent, lambda _: 3.0, 6)
    assert agent.done is False


def smooth(x: np.ndarray) -> np.ndarray:
    return np.asarray(-np.square(x - 0.3).sum(axis=1))


def related(n: int = 60, excluded: tuple[str, ...] = ()) -> tuple[Problem, np.ndarray]:
    """A problem with two sources on the same function and one on its negative, and its rewards."""
    x = np.random.default_rng(3).random((n, 3))
    made = [np.random.default_rng(k).random((40, 3)) for k in range(3)]
    sources = [
        Source(str(k), f, sign * smooth(f)[:, None], np.ones(40))
        for k, (f, sign) in enumerate(zip(made, (1, 5, -1), strict=True))
    ]
    problem = Problem(gym.spaces.Discrete(n), x, ("a", "b", "c"), budget=10, sources=tuple(sources), held_out=excluded)
    return problem, smooth(x)


def play(problem: Problem, y: np.ndarray, steps: int = 10, seed: int = 0, **hyperparameters: Any) -> list[int]:
    return helpers.play(agents.make("learned", problem, seed, **hyperparameters), y.item, steps)


def test_other_tables_determine_the_start_and_the_problem_their_weights() -> None:
    problem, y = related()
    order = np.argsort(-y)
    assert play(problem, y, 1)[0] in order[:6]
    assert order[0] in play(problem, y, 6)
    assert order[-1] in play(problem, -y)  # two of three tables are wrong


def test_numbers_are_untrained_without_source_tasks() -> None:
    problem, y = related()
    alone = replace(problem, sources=())
    assert play(alone, y) == play(alone, y, trained=False)
    assert agents.make("learned", alone, 0).trained_on == frozenset()


def test_invalid_arguments_are_rejected() -> None:
    problem, _ = related()
    rejects("weights must be one of .*, got 'bert'", agents.make, "learned", problem, 0, weights="bert")
    rejects("one objective", agents.make, "learned", replace(problem, objectives=2, sources=()), 0)


def test_weights_have_not_seen_languages_of_problem() -> None:
    every = {language for w in learned.shipped() for language in w.languages}
    assert every == set(held_out_of(t for f in ("NMTHPO", "CharHPO") for s in FAMILIES[f].ids for t in s.tables))
    for language in sorted(every):
        problem, _ = related(excluded=(language,))
        assert agents.fits("learned", problem)
        made: Any = agents.make("learned", problem, 0)
        assert made.trained_on
        assert language not in made.trained_on
    problem, _ = related(excluded=tuple(sorted(every)))
    assert not agents.fits("learned", problem)
    rejects("seen must be True on tables of .*, got False", agents.make, "learned", problem, 0)
    assert not agents.fits("learned", problem, seen=False)
    assert agents.fits("learned", problem, seen=True)
    assert agents.make("learned", problem, 0, seen=True).trained_on < every
    for sources in ((), (replace(problem.sources[0], feature_names=("u", "v", "w")),)):  # weights not needed
        assert agents.fits("learned", replace(problem, sources=sources))
        assert not agents.make("learned", replace(problem, sources=sources), 0).trained_on


@pytest.mark.parametrize("name", ["learned", "learned-policy", "in-context"])
def test_weights_of_a_name_fit_where_they_have_seen_no_language(name: str) -> None:
    known = learned.shipped() if name != "in-context" else policy.known(str(policy.IN_CONTEXT))
    for w in known:
        for language in sorted({language for other in known for language in other.languages}):
            problem, _ = related(excluded=(language,))
            assert agents.fits(name, problem, weights=w.name, file=None) == (language not in w.languages)
    rejects("weights must be one of .*, got 'bert'", agents.fits, name, related()[0], weights="bert")


def test_shipped_weights_are_small_and_whole() -> None:
    assert learned.WEIGHTS.stat().st_size < 200_000
    assert json.loads(learned.WEIGHTS.read_text())["names"] == [*learned.START]
    for w in learned.shipped():
        assert w.numbers.shape[0] >= 3
        assert np.isfinite(w.numbers).all()


@pytest.mark.parametrize("isolate", [False, True])
def test_runs_record_what_their_agent_has_seen(isolate: bool) -> None:
    cases: list[tuple[str, str, list[str] | None]] = [
        ("learned", "NMTHPO-zhen-v0", None),
        ("tests.agents.transfer.test_learned:Reader", "NMTHPO-v0", ["chi", "rus"]),
        ("tests.agents.transfer.test_learned:Reader", "FIESTA-tdsa8-v0", None),
    ]
    for agent, env_id, seen in cases:
        made = agent if isolate or ":" not in agent else Reader
        kwargs: dict[str, Any] = {"budget": 3, "env_kwargs": {}, "isolate": isolate}
        runs = run(made, env_id, [0, 1], **kwargs)
        assert [r.header.get("seen") for r in runs] == [seen] * 2, (agent, env_id)
        assert [agent_of(r.header).endswith(" (seen)") for r in runs] == [seen is not None] * 2


class Reader(RandomSearch):
    """A third-party agent with weights."""

    trained_on = frozenset({"zh", "ru", "de"})
