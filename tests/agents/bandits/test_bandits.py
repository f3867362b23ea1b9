"""The bandit agents: schedules of the paper, what they draw, when they stop, and what they refuse."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from hpo_envs import agents
from hpo_envs.agents import Problem
from hpo_envs.agents.bandits.base import ArmsAgent
from hpo_envs.agents.bandits.best_arm import Belief, best_probability_sampled
from hpo_envs.agents.bandits.elimination import halving_schedule
from hpo_envs.agents.bandits.glr import likelihood_ratio, transport
from hpo_envs.agents.bandits.track_and_stop import optimal_weights
from hpo_envs.benchmarks import run

CONFIDENT = ("ttts", "t3c", "ttei", "bts", "lucb", "track-and-stop")
ALL = (*CONFIDENT, "nonadaptive", "sh", "sr")
BOUNDS = np.array([[0.0, 1.0]])


def problem(arms: int = 4, batch: int | None = None, budget: float | None = 60) -> Problem:
    space = gym.spaces.Discrete(arms) if batch is None else gym.spaces.MultiDiscrete([arms] * batch)
    return Problem(space, budget=budget, reward_bounds=BOUNDS)


def play(agent: Any, means: list[float], deviation: float = 0.01, limit: int = 400, seed: int = 0) -> list[int]:
    """Pulls Gaussian arms until the agent is done; returns the arms pulled."""
    rng, pulled = np.random.default_rng(seed), []
    while not agent.done and len(pulled) < limit:
        action = agent.ask()
        assert action in agent.problem.action_space
        arms = np.atleast_1d(action)
        scores = np.clip(rng.normal(np.array(means)[arms], deviation), 0.001, 0.999)
        agent.tell(action, float(scores.mean()), {"scores": scores} if np.ndim(action) else {})
        pulled.extend(arms.tolist())
    return pulled


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("batch", [None, 1, 5])
def test_finds_an_obvious_best_arm(name: str, batch: int | None) -> None:
    agent = agents.make(name, problem(batch=batch), 0)
    pulled = play(agent, [0.5, 0.8, 0.4, 0.6])
    best = agent.recommend()
    assert best in agent.problem.action_space
    assert (np.asarray(best) == 1).all()
    assert agent.done
    assert set(pulled) == {0, 1, 2, 3}


@pytest.mark.parametrize("name", ALL)
def test_same_seed_same_pulls(name: str) -> None:
    first, again, other = (play(agents.make(name, problem(), seed), [0.5, 0.52, 0.5, 0.51], 0.02) for seed in (3, 3, 4))
    assert first == again
    if name in ("ttts", "t3c", "bts"):
        assert first != other


def test_table_1_schedule() -> None:
    # Four models and a budget of 16: two evaluations each, then four each of the two that are left.
    assert halving_schedule(4, 16) == [(4, 2), (2, 4)]
    agent = agents.make("sh", problem(4, budget=16), 0)
    pulled = play(agent, [0.5, 0.8, 0.4, 0.6])
    assert np.bincount(pulled).tolist() == [2, 6, 2, 6]
    assert agent.survivors == [1]
    # Section 4.1: the last two are evaluated 2^floor(log2 N) - 1 times as often as the first to leave.
    assert 6 / 2 == 2 ** int(np.log2(4)) - 1


def test_halving_of_twelve_arms_spends_197_of_204() -> None:
    schedule = halving_schedule(12, 204)
    assert schedule == [(12, 4), (6, 8), (3, 17), (2, 25)]
    assert sum(n * each for n, each in schedule) == 197
    assert sum(n * each for n, each in halving_schedule(12, 204, "floor")) == 260
    agent = agents.make("sh", problem(12, budget=300), 0, rounds="floor", total=204)
    assert len(play(agent, np.linspace(0.3, 0.8, 12).tolist())) == 260


def test_successive_rejects_schedule() -> None:
    # Audibert, Bubeck and Munos 2010, Figure 2, by hand: logbar(4) = 1/2 + 1/2 + 1/3 + 1/4, n_k = 9, 12, 18.
    agent = agents.make("sr", problem(4, budget=60), 0)
    pulled = play(agent, [0.5, 0.8, 0.4, 0.6])
    assert np.bincount(pulled).tolist() == [12, 18, 9, 18]
    assert len(pulled) <= 60


def test_nonadaptive_forms() -> None:
    agent = agents.make("nonadaptive", problem(4, budget=18), 0)
    assert np.bincount(play(agent, [0.5, 0.5, 0.5, 0.5])).tolist() == [4] * 4
    agent = agents.make("nonadaptive", problem(4, budget=None), 0, confidence=0.9)
    pulled = play(agent, [0.5, 0.51, 0.5, 0.5])
    assert len(pulled) % 4 == 0
    assert agent.pi.max() > 0.9


def test_top_two_draws_follow_pi() -> None:
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


def test_certain_leader_still_has_a_challenger() -> None:
    agent: Any = agents.make("ttts", problem(3), 0, confidence=None)
    for arm, value in ((0, 0.1), (1, 0.9), (2, 0.1)):
        for _ in range(3):
            agent.tell(arm, value, {})
    assert agent.pi[1] == pytest.approx(1.0)
    assert {agent.sample() for _ in range(50)} == {0, 1, 2}


@pytest.mark.parametrize("name", ["ttts", "bts", "t3c", "ttei"])
def test_stops_when_pi_exceeds_the_confidence(name: str) -> None:
    agent: Any = agents.make(name, problem(), 1, confidence=0.9)
    rng = np.random.default_rng(1)
    largest = []
    while not agent.done:
        arm = agent.ask()
        agent.tell(arm, float(rng.normal([0.5, 0.52, 0.5, 0.5][arm], 0.02)), {})
        largest.append(float(agent.pi.max()))
    assert largest[-1] > 0.9
    assert max(largest[11:-1], default=0.0) <= 0.9


def test_batch_is_drawn_from_one_pi() -> None:
    """`batch_size` on single pulls looks at pi only after whole batches."""
    agent: Any = agents.make("bts", problem(2, budget=None), 0, batch_size=4, confidence=0.8)
    pulled = play(agent, [0.5, 0.501], limit=300)
    assert (len(pulled) - 6) % 4 == 0
    vector: Any = agents.make("bts", problem(2, 4, budget=None), 0, confidence=0.8)
    assert len(play(vector, [0.5, 0.501], limit=300)) % 4 == 0


def test_late_results_are_attributed_to_their_arm() -> None:
    """Two simulated workers: a result comes back while the next evaluation is out."""
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
    assert agent.recommend() == 1
    assert agent.belief.means == pytest.approx([0.22, 0.82])


def test_scores_known_before_count_as_initial_evaluations() -> None:
    agent: Any = agents.make("ttts", problem(3), 0)
    for arm in (0, 0, 0, 1, 1, 1, 1, 2):
        agent.tell(arm, 0.5 + 0.01 * agent.belief.counts[arm], {})
    assert not agent.done
    assert [agent.ask() for _ in range(2)] == [2, 2]
    agent.tell(2, 0.4, {})
    agent.tell(2, 0.41, {})
    assert agent.ask() in (0, 1, 2)


def test_monte_carlo_variant_follows_the_quadrature() -> None:
    exact: Any = agents.make("ttts", problem(), 0)
    sampled: Any = agents.make("ttts", problem(), 0, draws=20000)
    for agent in (exact, sampled):
        play(agent, [0.5, 0.52, 0.51, 0.5], 0.02, limit=12)
    assert exact.pi == pytest.approx(sampled.pi, abs=0.02)
    assert sampled.pi is sampled.pi  # one draw an evaluation, not one a look


def test_logit_models_the_log_odds() -> None:
    plain: Any = agents.make("ttts", problem(), 0)
    logit: Any = agents.make("ttts", problem(), 0, transform="logit")
    for agent in (plain, logit):
        agent.tell(0, 0.9, {})
        agent.tell(0, 0.5, {})
    assert plain.belief.means[0] == pytest.approx(0.7)
    assert logit.belief.means[0] == pytest.approx(np.log(9.0) / 2.0)
    scaled = Problem(gym.spaces.Discrete(2), reward_bounds=np.array([[0.0, 100.0]]))
    percent: Any = agents.make("ttts", scaled, 0, transform="logit")
    percent.tell(0, 90.0, {})
    assert percent.belief.means[0] == pytest.approx(np.log(9.0))


@pytest.mark.parametrize("score", [0.0, 1.0, 1.5, -0.1, float("nan")])
def test_logit_refuses_scores_at_or_outside_the_bounds(score: float) -> None:
    agent = agents.make("ttts", problem(), 0, transform="logit")
    with pytest.raises(ValueError, match="strictly between the metric's bounds 0 and 1"):
        agent.tell(0, score, {})


def test_ties_and_constant_scores_never_break() -> None:
    for name in ALL:
        agent = agents.make(name, problem(), 0)
        pulled = play(agent, [0.5] * 4, 0.0, limit=60)
        assert len(pulled) > 0
        assert agent.recommend() in agent.problem.action_space


def test_likelihood_ratio_against_a_brute_force_minimum() -> None:
    rng = np.random.default_rng(0)
    belief = Belief(4)
    for arm in range(4):
        for score in rng.normal(0.1 * arm, 0.1 * (1 + arm), 5 + arm):
            belief.add(arm, float(score))
    leader = int(belief.means.argmax())
    variances = belief.squares / belief.counts
    cost = transport(belief, leader)
    assert np.isinf(cost[leader])
    for j in set(range(4)) - {leader}:
        u = np.linspace(belief.means[j], belief.means[leader], 200_001)
        curve = sum(0.5 * belief.counts[k] * np.log1p((belief.means[k] - u) ** 2 / variances[k]) for k in (j, leader))
        assert cost[j] == pytest.approx(curve.min(), rel=1e-4)
    assert likelihood_ratio(belief) == cost.min()


def test_optimal_weights_against_a_direct_search() -> None:
    means, variances = np.array([0.5, 0.4, 0.2]), np.array([1.0, 4.0, 1.0])

    def rate(w: np.ndarray) -> float:
        return float(min((means[0] - means[j]) ** 2 / (variances[0] / w[0] + variances[j] / w[j]) for j in (1, 2)))

    w = optimal_weights(means, variances)
    assert w.sum() == pytest.approx(1.0)
    grid = np.linspace(0.01, 0.98, 98)
    best = max(rate(np.array([a, c, 1 - a - c])) for a in grid for c in grid if a + c < 0.995)
    assert rate(w) >= best - 1e-9
    assert optimal_weights(np.array([0.5, 0.5]), np.array([1.0, 1.0])) == pytest.approx([0.5, 0.5], abs=1e-3)


def test_lucb_alternates_best_and_strongest_rival() -> None:
    agent: Any = agents.make("lucb", problem(3, budget=None), 0, confidence=0.9)
    play(agent, [0.5, 0.6, 0.58], 0.05, limit=9)
    first, second = agent.pair()
    assert (agent.ask(), agent.ask()) == (first, second)
    width = agent.half_widths()
    assert (width > 0).all()
    agent.tell(first, 0.6, {})
    assert agent.half_widths()[first] < width[first] * 1.5


@pytest.mark.parametrize(
    ("name", "arguments", "of", "message"),
    [
        ("ttts", {"confidence": 1.0}, {}, "confidence must be None or lie strictly between 0 and 1, got 1.0"),
        ("ttts", {"initial": 2}, {}, "initial must be an int >= 3, got 2"),
        ("ttts", {"beta": 0.0}, {}, "beta must lie strictly between 0 and 1"),
        ("ttts", {"draws": 0}, {}, "draws must be None or an int >= 1, got 0"),
        ("ttts", {"transform": "log"}, {}, "transform must be one of none, logit"),
        ("ttts", {"stopping": "never"}, {}, "stopping must be one of pi, glr"),
        ("bts", {"batch_size": 0}, {}, "batch_size must be an int >= 1, got 0"),
        ("ttts", {}, {"arms": 1}, "at least 2 arms"),
        ("sh", {}, {"arms": 4, "budget": 7}, "budget must be >= 8 evaluations"),
        ("sh", {"rounds": "round"}, {}, "rounds must be ceil or floor, got 'round'"),
        ("sh", {}, {"budget": None}, "budget must be a number of evaluations"),
        ("sr", {}, {"budget": 3}, "budget must be >= 4 evaluations"),
        ("nonadaptive", {}, {"budget": 3}, "budget must be >= 4 evaluations"),
    ],
)
def test_bad_arguments_name_rule_and_value(name: str, arguments: Any, of: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        agents.make(name, problem(**of), 0, **arguments)


def test_bad_spaces_and_scores_are_refused() -> None:
    with pytest.raises(ValueError, match="must be Discrete"):
        agents.make("ttts", Problem(gym.spaces.Box(-1.0, 1.0, (2,))), 0)
    agent = agents.make("ttts", problem(), 0)
    with pytest.raises(ValueError, match="score must be finite"):
        agent.tell(0, float("nan"), {})


@pytest.mark.parametrize("name", ALL)
def test_runs_in_the_loop_and_seeds_do_not_touch(name: str) -> None:
    kwargs = {"table": "surrogate"}
    both = run(name, "FIESTA-tdsa8-v0", [5, 6], budget=60, env_kwargs=kwargs)
    alone = run(name, "FIESTA-tdsa8-v0", [6], budget=60, env_kwargs=kwargs)[0]
    assert np.array_equal(both[1].actions, alone.actions)
    assert np.array_equal(both[1].rewards, alone.rewards)
    assert 24 <= len(alone) <= 60


def test_a_run_has_one_entry_a_pull() -> None:
    (r,) = run("bts", "FIESTA-tdsa8-v0", [0], budget=60, env_kwargs={"table": "surrogate", "batch_size": 4})
    assert len(r) % 4 == 0
    assert r.costs.tolist() == [1.0] * len(r)
    assert r.actions.shape == r.rewards.shape == (len(r),)


class Guesser(ArmsAgent):
    """Teeth: stops after one pull of each arm, whatever it saw."""

    def choose(self) -> int:
        return self.asked % self.arms

    def told(self) -> None:
        self.done = self.belief.counts.min() >= 1


def test_the_promise_test_has_teeth() -> None:
    """A guesser breaks the promise that ttts keeps on the same arms."""
    means, wrong = [0.5, 0.51, 0.5], {"ttts": 0, "guesser": 0}
    for seed in range(60):
        for name, agent in (
            ("ttts", agents.make("ttts", problem(3, budget=None), seed, confidence=0.9)),
            ("guesser", Guesser(problem(3), seed)),
        ):
            play(agent, means, 0.02, limit=2000, seed=seed)
            wrong[name] += agent.recommend() != 1
    assert wrong["ttts"] <= 12  # 99.5 % of Binomial(60, 0.1)
    assert wrong["guesser"] > 12


def test_sampled_belief_needs_draws() -> None:
    belief = Belief(2)
    for arm, score in ((0, 0.1), (0, 0.2), (0, 0.3), (1, 0.4), (1, 0.5), (1, 0.9)):
        belief.add(arm, score)
    assert best_probability_sampled(belief.posterior(), 1000, np.random.default_rng(0)).sum() == pytest.approx(1.0)


def test_expected_improvement_against_numerical_integration() -> None:
    from scipy import integrate, stats

    from hpo_envs.agents.bandits.top_two import _improvement

    for gap in (-3.0, -0.5, 0.0, 0.7, 5.0):
        for scale in (0.3, 2.0):
            if gap / scale < -8:
                continue
            law = stats.norm(gap, scale)
            value, _ = integrate.quad(lambda v, law=law: v * law.pdf(v), 0.0, max(gap, 0.0) + 12 * scale, epsabs=0)
            assert np.exp(_improvement(np.array([gap]), np.array([scale])))[0] == pytest.approx(value, rel=1e-5)
    far = _improvement(np.array([-40.0, -2000.0, -1e6]), np.ones(3))
    assert np.isfinite(far).all()
    assert (np.diff(far) < 0).all()
