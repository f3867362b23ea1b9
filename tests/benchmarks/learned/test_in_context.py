"""Training of the agent `in-context`."""

import numpy as np
import pytest

from hpo_envs.agents.models import candidate_net
from hpo_envs.benchmarks.learned import in_context
from hpo_envs.benchmarks.learned.in_context import INPUTS, TRAINING_PARTS
from hpo_envs.benchmarks.learned.policy import CANDIDATES, EVALUATIONS
from hpo_envs.benchmarks.tasks import pools
from hpo_envs.benchmarks.tasks.sampled import Draws, SampledTasks
from hpo_envs.wrappers import for_training

pytest.importorskip("torch", reason="extra rl is not installed")


def regret(weights: candidate_net.NetArrays, blind: bool = False) -> np.ndarray:
    """(64,) mean regret on random functions of the most probable candidates, after a random one."""
    tasks = SampledTasks(64, [], CANDIDATES, EVALUATIONS, Draws(functions=1.0))
    envs = for_training(tasks, CANDIDATES, INPUTS)
    first, _ = envs.reset(seed=100)
    best, lost, (observation, gain, *_) = np.zeros(64), [], envs.step(np.zeros(64, int))
    for _ in range(EVALUATIONS - 1):
        lost.append(1.0 - (best := best + gain))
        mask = observation["mask"] > 0.5
        x, context = ((first if blind else observation)[name] for name in ("candidates", "context"))
        scores = [candidate_net.scores(weights, *given) for given in zip(x, mask, context, strict=True)]
        observation, gain, *_ = envs.step(np.where(mask, scores, -np.inf).argmax(axis=1))
    return np.clip(lost, 0.0, 1.0).mean(axis=0)


def test_a_tiny_network_learns_to_search_on_random_functions() -> None:
    states = {"functions": in_context.record("functions", 128)}
    adaptive, blind = (in_context.fit(states, 0, 60, blind) for blind in (False, True))
    own = regret(adaptive)
    for rival in (regret(adaptive, blind=True), regret(blind, blind=True)):
        gain = rival - own
        assert gain.mean() > 3.0 * gain.std() / np.sqrt(len(gain)), (own.mean(), rival.mean())


def test_recorded_gains_are_those_above_the_incumbent_of_what_is_free() -> None:
    states = in_context.record("cells", 8, half=0)
    assert states.gains.shape == (8, EVALUATIONS, CANDIDATES)
    assert not states.gains[~states.free].any()
    assert (np.diff(states.gains.max(axis=2).astype(float), axis=1) <= 0.0).all()
    seen = states.columns[..., 0] > 0.5
    assert not (seen & states.free).any()
    assert (seen.sum(axis=2) == np.arange(EVALUATIONS)).all()


def test_weights_have_seen_nothing_of_the_part_that_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(in_context, "BATCH", 16)
    states = {part: in_context.record(part, 24) for part in TRAINING_PARTS}
    found = in_context.train(states, "translation", seeds=1, steps=1)
    pairs = {word for p in pools.pools(TRAINING_PARTS["translation"]) for word in p.held_out}
    assert {"jpn", "rus", "swa"} <= pairs
    assert not found.languages & pairs
    assert found.languages
    assert pairs & in_context.train(states, None, seeds=1, steps=1).languages
    with pytest.raises(ValueError, match="part must be one of characters, translation, .*, got 'nonsense'"):
        in_context.train(states, "nonsense", seeds=1, steps=1)
