"""The network that ranks learning curves, its weights, and the agent."""

import gymnasium as gym
import numpy as np
import pytest

from hpo_envs import agents
from hpo_envs.agents.multifidelity import curve_ranker as ranker
from hpo_envs.benchmarks import runs
from hpo_envs.benchmarks.papers.nmtlc import train
from hpo_envs.tables import store


def test_network_in_numpy_equals_that_of_training() -> None:
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    arrays = {name: rng.normal(size=shape) for name, shape in ranker.shapes().items()}
    curves, more = ranker.inputs(rng.normal(size=(9, ranker.POINTS)), 0.1)
    tensors = {name: torch.tensor(x) for name, x in arrays.items()}
    theirs = train.score(torch, tensors, torch.tensor(curves), torch.tensor(more)).numpy()
    assert ranker.score(arrays, curves, more) == pytest.approx(theirs, abs=1e-12)


def test_a_network_of_zeros_ranks_by_the_last_value() -> None:
    zeros = {name: np.zeros(shape) for name, shape in ranker.shapes().items()}
    values = np.random.default_rng(1).normal(size=(20, ranker.POINTS))
    scores = ranker.score(zeros, *ranker.inputs(values, 0.3))
    assert np.array_equal(np.argsort(scores), np.argsort(values[:, -1]))


def test_inputs_do_not_depend_on_the_unit_of_the_reward() -> None:
    values = np.random.default_rng(2).normal(size=(20, ranker.POINTS))
    for one, other in zip(ranker.inputs(values, 0.3), ranker.inputs(7.0 * values - 40.0, 0.3), strict=True):
        assert one == pytest.approx(other)


def test_training_reads_the_same_checkpoints_as_the_agent() -> None:
    table = store.load("nmtlc/ft-fren")
    values, best, levels = train.rewards(table)
    assert values.shape == (len(best), len(levels))
    assert (best >= values[:, -1]).all()
    looks = train.looked_at(levels, 27.0)
    assert len(looks) == ranker.POINTS
    assert (np.diff(looks) >= 0).all()
    assert levels[looks[-1]] / levels[0] <= 27.0


@pytest.mark.parametrize(("corpus", "language"), [("swen", "swa"), ("ft-zhen", "chi")])
def test_weights_have_not_seen_the_language(corpus: str, language: str) -> None:
    run = runs.run("curve-ranker", f"NMTLC-{corpus}-v0", [0])[0]
    agent = agents.make("curve-ranker", runs.problem_of(gym.make(f"NMTLC-{corpus}-v0")), 0)
    assert language not in agent.trained_on
    assert len(agent.trained_on) >= 4
    assert run.costs.sum() > 0


def test_weights_are_chosen_by_languages() -> None:
    assert ranker.unseen(("eng",))[0].name == "all"
    assert ({w.name for w in ranker.unseen(("jpn",))}, ranker.unseen(("jpn", "swa"))) == ({"without jpn"}, [])
    assert all(set(w.arrays) == set(ranker.shapes()) for w in ranker.shipped())


def test_ranker_is_better_than_last_values_on_curves_that_cross() -> None:
    """Fraction of pairs of runs (systems fine-tuned from French) that are ranked right at an early checkpoint."""
    values, best, levels = train.rewards(store.load("nmtlc/ft-fren"))
    (weights,) = [w for w in ranker.shipped() if w.name == "without fre"]
    higher = best[:, None] > best[None, :]
    right = []
    for resource in (6.0, 8.0, 12.0):
        curves, more = ranker.inputs(values[:, train.looked_at(levels, resource)], resource / levels[-1])
        ours, last = ranker.score(weights.arrays, curves, more), curves[:, -1]
        right.append([((s[:, None] > s[None, :]) & higher).sum() / higher.sum() for s in (ours, last)])
    assert np.mean(right, axis=0)[0] > np.mean(right, axis=0)[1]
