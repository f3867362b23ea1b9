"""Individual bandit agents: schedules, draws and optimal weights."""

from typing import Any

import numpy as np
import pytest

from hpo_envs import agents
from hpo_envs.agents.bandits.elimination import halving_schedule
from hpo_envs.agents.bandits.track_and_stop import optimal_weights
from tests.agents.bandits.helpers import play, problem
from tests.helpers import rejects


def test_a_batch_is_drawn_from_one_pi() -> None:
    """With single pulls, `batch_size` updates pi only after whole batches."""
    agent: Any = agents.make("bts", problem(2, budget=None), 0, batch_size=4, confidence=0.8)
    pulled = play(agent, [0.5, 0.501], limit=300)
    assert (len(pulled) - 6) % 4 == 0
    vector: Any = agents.make("bts", problem(2, 4, budget=None), 0, confidence=0.8)
    assert len(play(vector, [0.5, 0.501], limit=300)) % 4 == 0


def test_a_batch_that_begins_before_the_last_one_ended_delays_the_stop() -> None:
    agent: Any = agents.make("bts", problem(2, budget=None), 0, batch_size=4, confidence=0.8)
    play(agent, [0.5, 0.5], limit=6)
    pulls = [agent.ask() for _ in range(8)]  # by several workers
    for arm in pulls[:4]:
        agent.tell(arm, [0.1, 0.9][arm], {})
    assert (agent.pi.max() > 0.8, agent.done) == (True, False)
    for arm in pulls[4:]:
        agent.tell(arm, [0.1, 0.9][arm], {})
    assert agent.done


def test_nonadaptive_forms() -> None:
    agent = agents.make("nonadaptive", problem(4, budget=18), 0)
    assert np.bincount(play(agent, [0.5, 0.5, 0.5, 0.5])).tolist() == [4] * 4
    agent = agents.make("nonadaptive", problem(4, budget=None), 0, confidence=0.9)
    pulled = play(agent, [0.5, 0.51, 0.5, 0.5])
    assert len(pulled) % 4 == 0
    assert agent.pi.max() > 0.9


def test_lucb_alternates_between_the_best_arm_and_its_strongest_rival() -> None:
    agent: Any = agents.make("lucb", problem(3, budget=None), 0, confidence=0.9)
    play(agent, [0.5, 0.6, 0.58], 0.05, limit=9)
    first, second = agent.pair()
    assert (agent.ask(), agent.ask()) == (first, second)
    width = agent.half_widths()
    assert (width > 0).all()
    agent.tell(first, 0.6, {})
    assert agent.half_widths()[first] < width[first] * 1.5


def test_optimal_weights_agree_with_a_direct_search() -> None:
    means, variances = np.array([0.5, 0.4, 0.2]), np.array([1.0, 4.0, 1.0])

    def rate(w: np.ndarray) -> float:
        return float(min((means[0] - means[j]) ** 2 / (variances[0] / w[0] + variances[j] / w[j]) for j in (1, 2)))

    w = optimal_weights(means, variances)
    assert w.sum() == pytest.approx(1.0)
    grid = np.linspace(0.01, 0.98, 98)
    best = max(rate(np.array([a, c, 1 - a - c])) for a in grid for c in grid if a + c < 0.995)
    assert rate(w) >= best - 1e-9
    assert optimal_weights(np.array([0.5, 0.5]), np.array([1.0, 1.0])) == pytest.approx([0.5, 0.5], abs=1e-3)


def test_halving_has_the_schedule_of_table_1() -> None:
    # Four models and a budget of 16: two evaluations each, then four each of the two that are left.
    assert halving_schedule(4, 16) == [(4, 2), (2, 4)]
    agent = agents.make("sh", problem(4, budget=16), 0)
    pulled = play(agent, [0.5, 0.8, 0.4, 0.6])
    assert (np.bincount(pulled).tolist(), agent.survivors) == ([2, 6, 2, 6], [1])


def test_halving_of_twelve_arms_spends_197_of_204() -> None:
    schedule = halving_schedule(12, 204)
    assert (schedule, sum(n * each for n, each in schedule)) == ([(12, 4), (6, 8), (3, 17), (2, 25)], 197)
    assert sum(n * each for n, each in halving_schedule(12, 204, "floor")) == 260
    agent = agents.make("sh", problem(12, budget=300), 0, rounds="floor", total=204)
    assert len(play(agent, np.linspace(0.3, 0.8, 12).tolist())) == 260


def test_successive_rejects_schedule() -> None:
    # Audibert, Bubeck and Munos 2010, Figure 2, by hand: logbar(4) = 1/2 + 1/2 + 1/3 + 1/4, n_k = 9, 12, 18.
    agent = agents.make("sr", problem(4, budget=60), 0)
    pulled = play(agent, [0.5, 0.8, 0.4, 0.6])
    assert np.bincount(pulled).tolist() == [12, 18, 9, 18]
    assert len(pulled) <= 60


def test_draws_of_top_two_agents_follow_pi() -> None:
    agent: Any = agents.make("ttts", problem(3), 0, confidence=None)
    play(agent, [0.5, 0.502, 0.5], limit=9)
    pi = agent.pi
    n = 4000
    drawn = np.bincount([agent.sample() for _ in range(n)], minlength=3) / n
    # P(m) = pi_m / 2 + sum over leaders l of pi_l / 2 * pi_m / (1 - pi_l).
    expected = [0.5 * pi[m] + sum(0.5 * pi[k] * pi[m] / (1 - pi[k]) for k in range(3) if k != m) for m in range(3)]
    assert drawn == pytest.approx(expected, abs=4 * np.sqrt(0.25 / n))
    thompson: Any = agents.make("bts", problem(3), 0, confidence=None)
    play(thompson, [0.5, 0.502, 0.5], limit=9)
    drawn = np.bincount([thompson.sample() for _ in range(n)], minlength=3) / n
    assert drawn == pytest.approx(thompson.pi, abs=4 * np.sqrt(0.25 / n))


@pytest.mark.parametrize("name", ["track-and-stop", "t3c", "ttei", "lucb", "sr"])
@pytest.mark.parametrize("scale", [1e150, 1e-160, 0.0])
def test_scores_of_any_size_are_modelled_without_overflow(name: str, scale: float) -> None:
    agent, rng = agents.make(name, problem(3), 0), np.random.default_rng(0)
    with np.errstate(all="raise", under="ignore"):
        for _ in range(30):
            arm = agent.ask()
            agent.tell(arm, float(scale * rng.random()), {})
    assert agent.recommend() in range(3)


def test_rules_and_totals_are_checked() -> None:
    rejects("stopping must be one of bounds, pi, glr, got 'no'", agents.make, "lucb", problem(3), 0, stopping="no")
    rejects("total must be an int >= 3, got 9.5", agents.make, "sh", problem(3), 0, total=9.5)


def test_a_certain_leader_still_has_a_challenger() -> None:
    agent: Any = agents.make("ttts", problem(3), 0, confidence=None)
    for arm, value in ((0, 0.1), (1, 0.9), (2, 0.1)):
        for _ in range(3):
            agent.tell(arm, value, {})
    assert (agent.pi[1], {agent.sample() for _ in range(50)}) == (pytest.approx(1.0), {0, 1, 2})
