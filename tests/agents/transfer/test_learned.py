"""Learned agents: invariant, bounded, better than chance on tables they have not seen."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from hpo_envs import agents
from hpo_envs.agents import Problem
from hpo_envs.agents.random import RandomSearch
from hpo_envs.agents.transfer import learned
from hpo_envs.agents.transfer.acquisition_net import SIZE
from hpo_envs.benchmarks.analysis.scores.scored import agent_of
from hpo_envs.benchmarks.learned import settings
from hpo_envs.benchmarks.runs import problem_of, run
from hpo_envs.benchmarks.runs.isolation import AgentError
from hpo_envs.registry import FAMILIES, SPECS
from tests.helpers import offline


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
        agents.make("learned", problem, 0, family="charhpo", seen=True)
    with pytest.raises(ValueError, match=f"weights must have shape \\({SIZE},\\), got \\(3,\\)"):
        agents.make("learned", problem, 0, weights=np.zeros(3))
    with pytest.raises(ValueError, match="one objective"):
        agents.make("learned", replace(problem, objectives=2), 0)


# -- what weights have seen -----------------------------------------------------------------------------------------


def expected_without(env_id: str) -> str | None:
    """What the weights used on an id leave out, by its name; None where the agent must refuse."""
    if env_id.startswith(("CharMini", "NASBenchNLP")) or env_id == "NMTLC-ft-fren-v0":
        return ""  # no table of English alone, none of French
    if env_id.startswith("NMTLC") or env_id == "NMTHPO-v0":
        return None
    name = env_id.split("-")[1 if env_id.startswith("NMT") else 2]
    return "ja" if name in ("jaen", "enja") else name


def test_by_default_weights_have_not_seen_the_languages_of_any_id() -> None:
    ids = [i for i, s in SPECS.items() if not FAMILIES[s.family].user_levels]
    problems = {i: problem_of(gym.make(i, table=offline(i))) for i in ids}
    possible = [i for i, p in problems.items() if agents.fits("learned", p, seen=True)]
    assert len(possible) == 46
    for i in possible:
        p, without = problems[i], expected_without(i)
        assert agents.fits("learned", p) is (without is not None), i
        if without is None:
            with pytest.raises(ValueError, match=rf"seen must be True for generic .*{p.excluded[0]}.*, got False"):
                agents.make("learned", p, 0)
            continue
        made: Any = agents.make("learned", p, 0)
        assert not made.trained_on & set(p.excluded), i
        named: Any = agents.make("learned", p, 0, without=without or None)
        assert (made.weights == named.weights).all()
        assert made.trained_on == named.trained_on


def test_weights_are_of_the_most_tables_that_may_be_used() -> None:
    assert learned.unseen("nmthpo", ()) is None
    assert learned.unseen("nmthpo", ("fr",)) is None
    assert learned.unseen("nmthpo", ("ja",)) == "ja"
    assert learned.unseen("charhpo", ("hun",)) == "hun"
    problem = replace(problem_of(gym.make("NMTHPO-zhen-v0", table="surrogate")), excluded=("ja", "zh"))
    assert not agents.fits("learned", problem)
    with pytest.raises(ValueError, match="seen must be True for nmthpo weights, .* \\(ja, zh\\), got False"):
        agents.make("learned", problem, 0)
    with pytest.raises(ValueError, match="for nmthpo weights without jaen, .* \\(ja, zh\\), got False"):
        agents.make("learned", problem, 0, without="jaen")


@pytest.mark.parametrize("isolate", [False, True])
def test_runs_say_what_their_agent_has_seen(isolate: bool) -> None:
    cases: list[tuple[str, str, dict[str, Any], list[str] | None]] = [
        ("learned", "NMTHPO-zhen-v0", {}, None),
        ("learned", "NMTHPO-zhen-v0", {"seen": True}, ["zh"]),
        ("learned", "NMTHPO-jaen-v0", {"without": "jaen", "seen": True}, ["ja"]),
        ("learned", "NMTLC-ft-fren-v0", {"seen": True}, None),
        ("tests.agents.transfer.test_learned:Reader", "NMTHPO-v0", {}, ["ru", "zh"]),
        ("tests.agents.transfer.test_learned:Reader", "FIESTA-tdsa8-v0", {}, None),
    ]
    for agent, env_id, given, seen in cases:
        made = agent if isolate or ":" not in agent else Reader
        kwargs: dict[str, Any] = {"budget": 3, "env_kwargs": {"table": "surrogate"}, "isolate": isolate}
        runs = run(made, env_id, [0, 1], **kwargs, **given)
        assert [r.header.get("seen") for r in runs] == [seen] * 2, (agent, env_id)
        assert [agent_of(r).endswith(" (seen)") for r in runs] == [seen is not None] * 2
    with pytest.raises((ValueError, AgentError), match="seen must be True for nmthpo weights without ruen"):
        run("learned", "NMTHPO-zhen-v0", [0], env_kwargs={"table": "surrogate"}, isolate=isolate, without="ruen")


class Reader(RandomSearch):
    """An agent of somebody else's with weights."""

    trained_on = frozenset({"zh", "ru", "de"})


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
