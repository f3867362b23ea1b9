"""The text of an episode."""

from __future__ import annotations

import numpy as np
import pytest

from tests.hpo_envs.core.helpers import made


def test_text_is_what_happened() -> None:
    env = made("NMTHPO-zhen-v0", "ansi")
    env.reset(seed=0)
    rewards = [env.step(row)[1] for row in (5, 80, 30)]
    said = env.render()
    at = int(np.argmax(rewards))
    assert "3 evaluations, 3 of 20 evaluations" in said
    assert f"{rewards[at]:.6g} at evaluation {at + 1}: bpe=" in said
    line = next(s for s in said.splitlines() if s.strip().startswith("bleu"))
    blocks = line.split()[1]
    assert blocks[at] == "█"
    assert blocks[int(np.argmin(rewards))] == "▁"


def test_losses_are_shown_as_losses() -> None:
    env = made("NMTHPO-zhen-v0", "ansi", objective="perplexity")
    env.reset(seed=0)
    reward = env.step(5)[1]
    assert reward < 0
    assert f"{-reward:.6g} at evaluation 1" in env.render()


def test_arms_are_ranked_by_their_means() -> None:
    env = made("FIESTA-gaussian-v0", "ansi")
    env.reset(seed=0)
    scores = {arm: [env.step(arm)[1] for _ in range(3)] for arm in (0, 2, 4)}
    lines = [s for s in env.render().splitlines() if "pulls" in s]
    order = sorted(scores, key=lambda a: -np.mean(scores[a]))
    assert [float(s.split("pulls")[1].split("±")[0]) for s in lines] == pytest.approx(
        [np.mean(scores[a]) for a in order], rel=1e-3
    )


def test_batches_of_pulls_and_workers() -> None:
    env = made("FIESTA-tdsa8-v0", "ansi", batch_size=3)
    env.reset(seed=0)
    env.step(np.array([1, 1, 4]))
    assert "2 pulls" in env.render()
    env = made("NMTLC-ft-zhen-v0", "ansi", workers=3)
    env.reset(seed=0)
    env.step(np.array([1, 2]))
    assert "in flight  [1, 2]" in env.render()
    assert "0 evaluations" in env.render()
