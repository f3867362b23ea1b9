"""`Problem`: read-only, equal on both ends of a pipe, and only plain data in between."""

import pickle
import subprocess
import sys
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from hpo_envs import agents
from hpo_envs.agents.models.source import Source
from hpo_envs.agents.problem import Problem
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
        with pytest.raises(ValueError, match="data must be a problem written by to_bytes, got another message"):
            Problem.from_bytes(data.replace(old, new))
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
