"""Agents for boxes, Optuna's samplers among them: kinds of spaces, errors, a bowl."""

import gymnasium as gym
import numpy as np
import pytest

from hpo_envs import agents
from hpo_envs.agents import Problem

pytest.importorskip("optuna")

BOX = Problem(gym.spaces.Box(-1, 1, (2,), np.float32))


def minimum(name: str, evaluations: int, seed: int = 0) -> float:
    """Best value that an agent finds on a bowl with maximum 0 at (0.3, -0.7)."""
    agent = agents.make(name, BOX, seed)
    best = -np.inf
    for _ in range(evaluations):
        action = agent.ask()
        reward = -float(np.sum((np.asarray(action) - [0.3, -0.7]) ** 2))
        agent.tell(action, reward, {})
        best = max(best, reward)
    assert -float(np.sum((np.asarray(agent.recommend()) - [0.3, -0.7]) ** 2)) == best
    return best


def test_errors():
    with pytest.raises(ValueError, match="problem must have features .*, got Discrete"):
        agents.make("tpe", Problem(gym.spaces.Discrete(3)), 0)
    with pytest.raises(ValueError, match="action_space must be a Box for this agent"):
        agents.make("cmaes", Problem(gym.spaces.MultiDiscrete([2, 2])), 0)
    with pytest.raises(ValueError, match="objectives must be 1 for this agent, got 2"):
        agents.make("cmaes", Problem(BOX.action_space, objectives=2), 0)
    with pytest.raises(ValueError, match="action_space must be a bounded Box"):
        agents.make("box-bo", Problem(gym.spaces.Box(-np.inf, np.inf, (2,))), 0)
    with pytest.raises(ValueError, match="initial must be an int >= 2, got 1"):
        agents.make("box-bo", BOX, 0, initial=1)
    with pytest.raises(ValueError, match="objectives must be 1 or 2 for this agent, got 3"):
        agents.make("box-bo", Problem(BOX.action_space, objectives=3), 0)


MIXED = Problem(
    gym.spaces.Box(-1, 1, (4,), np.float32),
    axes=(
        {"values": (1 / 6, 0.5, 5 / 6), "categorical": True},
        {"parent": 0, "when": (1,)},
        {"values": tuple((np.arange(5) + 0.5) / 5)},
        {},
    ),
)


def mixed(action: np.ndarray) -> float:
    """A function of a category with an axis of its own, an integer and a real number; the maximum is 0."""
    unit = (np.asarray(action, float) + 1.0) / 2.0
    category, whole = np.minimum(unit[[0, 2]] * [3, 5], [2, 4]).astype(int)
    own = (unit[1] - 0.8) ** 2 if category == 1 else 0.3
    return -float(own + 0.1 * (whole - 3) ** 2 + (unit[3] - 0.2) ** 2)


def test_mixed_axes_are_searched_without_repeats_and_at_their_values():
    agent = agents.make("box-bo", MIXED, 0)
    seen = []
    for _ in range(25):
        action = agent.ask()
        unit = (np.asarray(action, float) + 1.0) / 2.0
        assert np.abs(unit[0] - np.array([1 / 6, 0.5, 5 / 6])).min() < 1e-6
        assert np.abs(unit[2] - (np.arange(5) + 0.5) / 5).min() < 1e-6
        if round(unit[0] * 3 - 0.5) != 1:
            assert unit[1] == 0.5
        seen.append(action.tobytes())
        agent.tell(action, mixed(action), {})
    assert len(set(seen)) == len(seen)
    assert mixed(agent.recommend()) > -0.01


def test_the_centre_is_the_first_suggestion_and_the_problem_survives_encoding():
    copy = Problem.from_bytes(MIXED.to_bytes())
    assert copy.axes == MIXED.axes
    assert agents.make("box-bo", copy, 3).ask().tolist() == agents.make("box-bo", MIXED, 3).ask().tolist()
    assert agents.make("box-bo", BOX, 3).ask().tolist() == [0.0, 0.0]


def test_pending_and_failed_evaluations_are_avoided():
    agent = agents.make("box-bo", BOX, 0, initial=3)
    asked = [agent.ask() for _ in range(8)]
    assert len({a.tobytes() for a in asked}) == 8
    for action in asked:
        failed = action[0] > 0
        agent.tell(action, -5.0 if failed else float(action[1]), {"status": "failed" if failed else "ok"})
    later = []
    for _ in range(8):
        later.append(agent.ask())
        failed = later[-1][0] > 0
        agent.tell(later[-1], -5.0 if failed else float(later[-1][1]), {"status": "failed" if failed else "ok"})
    assert sum(a[0] > 0 for a in later) <= 2
    assert agent.recommend()[0] <= 0


def test_gradient_of_the_acquisition_equals_differences():
    from hpo_envs.agents.models.gp.box import BoxGP, cheapness, half_linear
    from hpo_envs.agents.search.bo_box import BoxSpace

    space, rng = BoxSpace(MIXED.axes), np.random.default_rng(0)
    x = space.snap(rng.random((12, 4)))
    z = half_linear(np.array([mixed(2 * p - 1) for p in x]))
    model = BoxGP(space, x, z, BoxGP.estimate(space, x, z, None))
    cheap = cheapness(space, x, np.log([*range(1, 13)]))
    points = space.snap(rng.random((5, 4)))
    points[:, 0], points[:, 1] = 0.5, 0.3
    values, slopes = model.log_ei_slope(points)
    assert values == pytest.approx(model.log_ei(points))
    for k, j in enumerate(space.real):
        up, down = points.copy(), points.copy()
        up[:, j] += 1e-6
        down[:, j] -= 1e-6
        assert slopes[:, k] == pytest.approx((model.log_ei(up) - model.log_ei(down)) / 2e-6, rel=1e-3, abs=1e-5)
        rise = (cheap(up)[0] - cheap(down)[0]) / 2e-6
        assert cheap(points)[1][:, k] == pytest.approx(rise, rel=1e-3, abs=1e-5)


def test_half_linear_keeps_differences_of_feasible_observations_that_are_worse_than_infeasible_ones():
    from hpo_envs.agents.models.gp.box import half_linear

    border = -5.0 + 1e-6 * np.arange(12)
    y, feasible = np.append(border, np.arange(10.0)), np.arange(22) % 2 == 0
    feasible[12:] = False
    z = half_linear(y, feasible)
    assert (np.argsort(z, kind="stable") == np.argsort(y, kind="stable")).all()
    assert np.ptp(z[:12]) < 1e-5 < 1.0 < np.ptp(half_linear(y)[:12])


def test_half_linear_keeps_the_upper_half_and_ranks_the_lower_one():
    from hpo_envs.agents.models.gp.box import half_linear

    y = np.array([0.0, 1.0, 2.0, 3.0, 4.0, -1e6])
    z = half_linear(y)
    assert (np.argsort(z) == np.argsort(y)).all()
    assert np.ptp(z) < 6.0
    assert (np.diff(z[2:5]), half_linear(np.ones(5)).tolist()) == (pytest.approx(np.full(2, z[3] - z[2])), [0.0] * 5)
