"""Learning curves of NMT systems: ids, costs, metrics."""

import math

import gymnasium as gym
import pytest

NMTLC = [s for s in gym.registry if s.startswith("NMTLC-")]


@pytest.mark.parametrize("spec_id", NMTLC)
def test_nmtlc_pays_updates_or_checkpoints(spec_id: str) -> None:
    env = gym.make(spec_id).unwrapped
    env.reset(seed=0)
    _, reward, _, _, info = env.step([0, 0])
    per = 1.0 if "-ft-" in spec_id else 2000.0
    assert (info["cost"], reward) == (per, -info["metrics"]["log_perplexity"])
    assert math.exp(-reward) == pytest.approx(info["metrics"]["perplexity"])
    assert ("bleu" in info["metrics"]) == ("-ft-" in spec_id)
    assert env.step([0, 1])[-1]["cost"] == per
