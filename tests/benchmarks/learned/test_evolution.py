"""Evolution strategies on whole runs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from hpo_envs import agents
from hpo_envs.agents.models.stacked_gp import START
from hpo_envs.benchmarks.learned import evolution, tasks
from hpo_envs.benchmarks.learned.evolution import Settings
from hpo_envs.benchmarks.learned.tasks import Draws
from hpo_envs.benchmarks.runs import run

FIRST = np.array([[*START.values()]])


def test_models_side_by_side_play_as_the_agent_does() -> None:
    """All rows and all sources: the agent's run on the id, up to ties."""
    t = tasks.task("NMTHPO-ruen-v0")
    whole = tasks.draw([t], 1, frozenset(), np.random.default_rng(0), Draws(10**6, (1.0, 1.0), some=0.0, mixed=0.0))
    numbers = np.concatenate([FIRST, FIRST + 0.3])
    regret = evolution.play(numbers, whole, 12)
    for i in range(2):
        given = {"env_kwargs": {}, "budget": 12, "numbers": numbers[[i]], "transfer": "family"}
        (one,) = run("learned", t.env_id, [0], **given)
        best = (whole.best - np.maximum.accumulate(one.rewards)) / whole.span
        np.testing.assert_allclose(regret[i, 0], np.clip(best, 0.0, 1.0), atol=1e-9)
    assert agents.entry("learned").target.endswith(":Learned")


def test_training_is_repeatable_and_lowers_the_score() -> None:
    t = [tasks.task(f"NMTHPO-{p}-v0") for p in ("zhen", "ruen", "jaen")]
    s = replace(Settings(), generations=3, pairs=3, episodes=3, every=1, validation=3)
    looks: list[tuple[int, float, float]] = []
    one = evolution.train(t[:2], t[2:], frozenset(), s, 0, lambda *look: looks.append(look))
    assert [g for g, *_ in looks] == [0, 1, 2, 3]
    np.testing.assert_array_equal(one, evolution.train(t[:2], t[2:], frozenset(), s, 0))
    checked = tasks.draw(t[2:], 3, frozenset(), np.random.default_rng([0, 1]), tasks.AS_USED)
    score = evolution.scores(evolution.play(one[None], checked, 20), s.final).mean()
    assert score == min(found for _, found, _ in looks)
    last = evolution.train(t[:2], [], frozenset(), s, 0)
    assert not np.array_equal(last, FIRST[0])


def test_scores_weigh_the_end() -> None:
    regret = np.array([[[1.0, 0.5, 0.0], [1.0, 1.0, 0.6]]])
    np.testing.assert_allclose(evolution.scores(regret, 0.5), [[0.5, 0.8667 + 0.3]], atol=1e-4)
