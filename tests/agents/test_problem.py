"""`Problem`: read-only, equal on both ends of a pipe, plain data in between; axes of tables, grids and boxes."""

import pickle
import subprocess
import sys
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from hpo_envs import agents
from hpo_envs.agents.models.source import Source
from hpo_envs.agents.problem import Axis, Problem, Space
from hpo_envs.agents.wire import encode_space
from hpo_envs.benchmarks import problem_of
from tests.helpers import ROOT, rejects

FULL = Problem(
    gym.spaces.MultiDiscrete([3, 4]),
    feature_names=("a", "b"),
    levels=np.array([1.0, 2.0, 4.0, 0.1 + 0.2]),
    objectives=2,
    budget=20.0,
    unit="seconds",
    reward_bounds=np.array([[-np.inf, 0.0], [0.0, 1.0]]),
    base=np.random.default_rng(0).random((5, 2)),
    index=np.array([4, 0, 2]),
    sources=(Source("x", np.ones((4, 2)), np.zeros((4, 2)), np.arange(4.0)),),
    held_out=("ja", "zh"),
)

AXES = (
    Axis((0.25, 0.75), True, name="how", choices=("a", "b")),
    Axis((0.25, 0.75), name="size", choices=(8, 64), log=True),
    Axis(name="rate", low=1e-4, high=1.0, log=True, parent=0, when=(1,)),
    Axis(name="depth", low=1.0, high=100.0, whole=True),
)


def same(a: Any, b: Any) -> bool:
    """Return whether two problems are equal."""
    for name in Problem.__dataclass_fields__:
        one, two = getattr(a, name), getattr(b, name)
        if name == "sources":
            one, two = ([(s.name, s.features, s.rewards, s.costs) for s in x] for x in (one, two))
            equal = all(all(map(np.array_equal, s, t)) for s, t in zip(one, two, strict=True))
        elif isinstance(one, np.ndarray):
            equal = one.dtype == two.dtype and np.array_equal(one, two)
        else:
            equal = str(one) == str(two) if name == "action_space" else np.array_equal(one, two)
        if not equal:
            return False
    return a.action_space == b.action_space


def test_a_problem_survives_a_pipe() -> None:
    back = Problem.from_bytes(FULL.to_bytes())
    assert same(FULL, back)
    assert back.features is not None
    assert not back.features.flags.writeable


@pytest.mark.parametrize("env_id", ["NMTHPO-zhen-mo-v0", "NMTLC-zhen-v0", "FIESTA-tdsa8-v0", "CushLEPOR-ted-ende-v0"])
def test_every_kind_of_environment_crosses(env_id: str) -> None:
    problem = problem_of(gym.make(env_id))
    assert same(problem, Problem.from_bytes(problem.to_bytes()))


def test_a_grammar_is_passed_by_name_to_another_process() -> None:
    problem = problem_of(gym.make("NASBenchNLP-cell-v0"))
    assert problem.mutate is not None
    script = "import sys, numpy as np\nfrom hpo_envs.agents.problem import Problem\n"
    script += "p = Problem.from_bytes(sys.stdin.buffer.read())\n"
    script += "print(p.mutate(None, np.random.default_rng(3)).tolist())"
    done = subprocess.run(
        [sys.executable, "-c", script], input=problem.to_bytes(), capture_output=True, check=True, cwd=ROOT
    )
    assert done.stdout.decode().strip() == str(problem.mutate(None, np.random.default_rng(3)).tolist())


def test_what_cannot_cross_is_reported() -> None:
    with pytest.raises(ValueError, match="mutate must be a function of a module to be encoded, got .*lambda"):
        Problem(gym.spaces.Discrete(3), mutate=lambda action, rng: 0).to_bytes()
    with pytest.raises(ValueError, match="action_space must be a Discrete, .*, got Graph"):
        encode_space(gym.spaces.Graph(gym.spaces.Discrete(2), None))


def test_wrong_bytes_are_refused() -> None:
    data = FULL.to_bytes()
    for wrong in (b"", data[:10], pickle.dumps(FULL.base), data[:-1], data + b"x"):
        rejects("must begin with|data must have", Problem.from_bytes, wrong)
    for old, new in (
        (b'"unit"', b'"unix"'),
        (b'"action_space"', b'"action_spice"'),
        (b'"dtype": "int64"', b'"dtype": "in,64"'),
    ):
        assert old in data
        rejects("data must be a problem|space must be an encoded", Problem.from_bytes, data.replace(old, new))
    large = Problem(gym.spaces.Discrete(10**18)).to_bytes().replace(b"1000000000000000000", b"9" * 19)
    rejects("space must be an encoded Discrete", Problem.from_bytes, large)
    rejects("a message must be JSON", Problem.from_bytes, data.replace(b'{"', b'["', 1))


def test_arrays_are_read_only_and_shared_where_they_can_be() -> None:
    x = np.random.default_rng(1).random((6, 2))
    p = Problem(gym.spaces.Discrete(6), x)
    x[0] = 7.0
    assert p.features is not None
    assert p.features.max() < 1.0, "a problem is what it was when it was made"
    assert p.base is p.features
    assert Problem(gym.spaces.Discrete(6), p.features).features is p.features
    with pytest.raises(ValueError, match="read-only"):
        p.features[0] = 1.0


def test_features_are_those_of_candidates() -> None:
    assert FULL.base is not None
    assert np.array_equal(FULL.features, FULL.base[[4, 0, 2]])  # type: ignore[arg-type]
    assert FULL.rows == 3
    with pytest.raises(ValueError, match=r"features must equal base\[index\]"):
        Problem(gym.spaces.Discrete(2), np.zeros((2, 2)), base=np.ones((5, 2)), index=np.array([0, 1]))


def test_a_problem_keeps_the_requested_features() -> None:
    base = np.arange(12.0).reshape(4, 3) / 12
    problem = Problem(gym.spaces.Discrete(2), base=base, index=np.array([3, 1]), feature_names=("wl_0", "g_0", "wl_1"))
    assert problem.with_features("") is problem
    some = problem.with_features("wl_")
    assert some.feature_names == ("wl_0", "wl_1")
    assert np.array_equal(some.features, base[[3, 1]][:, [0, 2]])
    rejects("features must be a prefix of the name of a feature .*, got 'x'", problem.with_features, "x")


def test_problems_and_agents_are_shown_in_few_words() -> None:
    assert repr(FULL) == "<Problem: 3 candidates with 2 features, 4 levels, 2 objectives, 1 sources, budget 20 seconds>"
    problem = Problem(gym.spaces.Discrete(700), np.random.default_rng(0).random((700, 9)))
    agent = agents.make("bo", problem, 0)
    assert repr(agent) == "<BayesianOptimisation on 700 candidates with 9 features, no budget>"


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


def test_logarithmic_range_is_positive() -> None:
    rejects("low of a logarithmic range must be > 0, got 0.0", Axis, (0.5,), whole=True, log=True)
    axis = Axis((0.5,), low=3.0, high=3.0, whole=True, log=True)
    assert [axis.natural(u) for u in (0.0, axis.coordinate(3), 1.0)] == [3, 3, 3]


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
