"""Search spaces of agents: kinds, natural values and conditions, on tables, grids and boxes."""

import gymnasium as gym
import numpy as np
import pytest

from hpo_envs.agents.problem import Problem
from hpo_envs.agents.space import Axis, Space
from hpo_envs.benchmarks.runs import problem_of

AXES = (
    Axis((0.25, 0.75), True, name="how", choices=("a", "b")),
    Axis((0.25, 0.75), name="size", choices=(8, 64), log=True),
    Axis(name="rate", low=1e-4, high=1.0, log=True, parent=0, when=(1,)),
    Axis(name="depth", low=1.0, high=100.0, whole=True),
)


def made(env_id: str, **arguments: object) -> Problem:
    return problem_of(gym.make(env_id, disable_env_checker=True, **arguments))


@pytest.mark.parametrize("env_id", ["CharHPO-g2p-geo-transformer-v0", "NMTLC-zhen-v0", "CharMini-dut-lstm-v0"])
def test_rows_have_the_natural_values_of_the_table(env_id: str) -> None:
    table = gym.make(env_id).unwrapped.params.table  # type: ignore[attr-defined]
    problem = made(env_id)
    space, points = Space(problem.axes), problem.candidates
    assert points is not None
    assert space.names == tuple(h.name for h in table.space)
    for row in range(0, len(points), 7):
        config = space.config(points[row])
        active = {h.name for h in table.space if h.condition is None or config.get(h.condition[0]) in h.condition[1]}
        assert config.keys() == active
        for j, h in enumerate(table.space):
            if h.name in config:
                want = h.natural(table.configs[row, j])
                assert config[h.name] == (pytest.approx(want, rel=1e-9) if h.kind == "float" else want)


def test_axes_have_kinds_logarithms_and_conditions() -> None:
    axes = {a.name: a for a in made("CharHPO-g2p-geo-transformer-v0").axes}
    kinds = {name: axes[name].kind for name in ("scheduler", "batch_size", "learning_rate", "warmup_samples")}
    assert kinds == {
        "scheduler": "categorical", "batch_size": "ordinal", "learning_rate": "real", "warmup_samples": "integer",
    }  # fmt: skip
    assert axes["learning_rate"].log
    assert [*axes][axes["patience"].parent] == "scheduler"
    assert axes["patience"].when == (1,)


def test_grids_and_boxes_have_space_too() -> None:
    grid = made("NMTHPO-v0")
    assert [len(a.choices) or len(a.values) for a in grid.axes] == grid.action_space.nvec.tolist()  # type: ignore[attr-defined]
    assert grid.points is None
    box = made("CharHPO-v0")
    assert box.axes[5].choices == ("none", "reduceonplateau", "warmupinvsqrt")
    assert box.axes[12].kind == "real"  # the architectures differ in it
    lstm = made("CharHPO-v0", architecture="lstm")
    assert lstm.axes[12].choices == (1, 2)


def test_a_space_survives_a_pipe_and_follows_the_rows() -> None:
    problem = Problem(gym.spaces.Discrete(2), base=np.eye(4), index=[2, 0], axes=AXES, points=np.eye(4))  # type: ignore[arg-type]
    back = Problem.from_bytes(problem.to_bytes())
    assert back.axes == AXES
    assert np.array_equal(back.candidates, np.eye(4)[[2, 0]])  # type: ignore[arg-type]


def test_some_features_are_no_search_space() -> None:
    some = made("NMTHPO-zhen-v0").with_features(("layers", "embed"))
    assert (some.axes, some.candidates) == ((), None)


@pytest.mark.parametrize("axis", AXES, ids=lambda a: a.kind + a.name)
def test_coordinates_and_natural_values_are_inverse(axis: Axis) -> None:
    for u in (0.0, 0.3, 0.62, 1.0):
        value = axis.natural(u)
        back = axis.natural(axis.coordinate(value))
        assert back == (pytest.approx(value) if axis.kind == "real" else value)
        if axis.kind == "real":
            assert axis.coordinate(value) == pytest.approx(u)
    with pytest.raises(ValueError, match=f"{axis.name} must be "):
        axis.coordinate("c" if axis.choices else 1e9)


def test_distance_is_the_mean_difference_on_native_kinds() -> None:
    space = Space(AXES)
    a = space.point({"how": "a", "size": 8, "depth": 1})
    others = [
        {"how": "a", "size": 64, "depth": 1},  # one ordered value of two
        {"how": "b", "size": 8, "rate": 1.0, "depth": 1},  # another choice, and what it activates
        {"how": "a", "size": 8, "depth": 1},
    ]
    points = np.array([space.point(c) for c in others])
    points[2, 2] = 0.9  # inactive at both
    assert space.distances(a[None], points)[0] == pytest.approx([0.25, 0.5, 0.0])
    assert space.config(points[2]) == others[2]
