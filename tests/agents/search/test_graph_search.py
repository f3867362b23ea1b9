"""Graph-based search: closed forms of label propagation and expected influence compared with brute force."""

import gymnasium as gym
import numpy as np
import pytest

from hpo_envs import agents
from hpo_envs.agents import Problem
from hpo_envs.agents.models.similarity_graph import SimilarityGraph
from hpo_envs.agents.search.graph_search import VARIANTS, GraphInfluence, GraphSearch
from tests.agents.helpers import spread_labels

RNG = np.random.default_rng


def influence_by_force(
    weights: np.ndarray, nodes: list[int], labels: np.ndarray, p: np.ndarray, over_all: bool
) -> np.ndarray:
    """Equation 8 with one propagation for each candidate and label."""
    n = len(weights)
    scores = np.full(n, -np.inf)
    for k in sorted(set(range(n)) - set(nodes)):
        bad, good = (spread_labels(weights, [*nodes, k], np.append(labels, x)) for x in (0.0, 1.0))
        summed = np.ones(n, dtype=bool)
        if not over_all:
            summed[[*nodes, k]] = False
        scores[k] = (1.0 - p[k]) * (1.0 - bad[summed]).sum() + p[k] * good[summed].sum()
    return scores


@pytest.mark.parametrize(("variant", "kernel"), [*zip(VARIANTS, ["rbf", "matern52", "matern52"], strict=True)])
def test_influence_equals_brute_force(variant: str, kernel: str) -> None:
    rng = RNG(3)
    x = rng.random((35, 3))
    agent = GraphInfluence(Problem(gym.spaces.Discrete(35), x), 0, kernel=kernel, variant=variant, neighbours=7)
    assert agent.graph.component.max() == 0
    y = np.sin(5 * x[:, 0]) + x[:, 1]
    for t in range(25):
        row = agent.ask()
        agent.tell(row, float(y[row]), {"cost": 1.0})
        if t % 3:
            continue
        observed = agent._observed()
        labels = agent._labels(observed)
        f = agent._harmonic.predict(labels)
        p = agent._probability(f, observed)
        scores, over_all = agent.influence(f, p), agent.variant != "released"
        brute = influence_by_force(agent.graph.weights, agent._harmonic.nodes, labels, p, over_all)
        free = np.isfinite(brute)
        np.testing.assert_allclose(scores[free], brute[free], atol=1e-8)


def test_finite_set_posterior_is_harmonic_without_a_ridge() -> None:
    """Section 5.3: as sigma^2 grows and the noise vanishes, predictions of the process approach equation 7."""
    rng = RNG(4)
    x = rng.random((30, 2))
    problem = Problem(gym.spaces.Discrete(30), features=x)
    agent = GraphSearch(problem, 0, sigma2=1e7, noise=1e-9, neighbours=6)
    nodes, labels = rng.permutation(30)[:8].tolist(), rng.normal(size=8)
    for k, y in zip(nodes, labels, strict=True):
        agent.tell(k, float(y), {"cost": 1.0})
    graph = SimilarityGraph.of_features(x, "matern52", 1.0, 6)
    np.testing.assert_allclose(agent.predict()[0], spread_labels(graph.weights, nodes, labels), atol=1e-4)


def test_agents_on_the_same_candidates_share_one_graph() -> None:
    x = RNG(5).random((20, 2))
    one, two = (GraphInfluence(Problem(gym.spaces.Discrete(20), features=x.copy()), s) for s in (0, 1))
    assert one.graph is two.graph


def test_influence_needs_one_objective() -> None:
    with pytest.raises(ValueError, match="objectives must be 1 for expected influence, got 2"):
        agents.make("GB_EIF_R", Problem(gym.spaces.Discrete(4), features=np.eye(4), objectives=2), 0)


def shuffled(base: np.ndarray, index: np.ndarray) -> Problem:
    return Problem(gym.spaces.Discrete(len(index)), features=base[index], base=base, index=index, budget=20)


@pytest.mark.parametrize("name", ["graph-ei-matern52", "graph-eif-matern52"])
def test_rows_of_one_base_have_one_graph_whatever_their_order_and_share(name: str) -> None:
    base = RNG(7).random((40, 3))
    worth = base @ np.array([1.0, -2.0, 0.5])
    for index in (RNG(8).permutation(40), RNG(9).permutation(40)[:30]):
        agent = agents.make(name, shuffled(base, index), 0)
        assert agent.graph is SimilarityGraph.of_features(base, "matern52", 1.0, round(40 / 7))
        for row in (3, 11, 5):
            agent.tell(row, worth[index[row]], {})
        told = index[[3, 11, 5]]
        if name.startswith("graph-eif"):
            expected = spread_labels(agent.graph.weights, told.tolist(), worth[told])[index]
            np.testing.assert_allclose(agent.predict()[0], expected, atol=1e-8)
        else:
            precision, sigma2 = 0.05, 50.0
            k = np.linalg.inv(2 * precision * (agent.graph.laplacian + np.eye(40) / sigma2))
            gain = k[:, told] @ np.linalg.inv(k[np.ix_(told, told)] + 1e-4 * np.eye(3))
            variances = k.diagonal() - (gain * k[:, told]).sum(axis=1)
            np.testing.assert_allclose(agent._gp.variances, variances[index], rtol=1e-6)
        assert 0 <= agent.ask() < len(index)
