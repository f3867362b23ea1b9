"""Constraints of a search: the best evaluation, observations of agents, and refused input."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hpo_envs.agents.random import RandomSearch
from hpo_envs.tuning import Search, load, tune
from hpo_envs.tuning.constraints import parsed_constraints
from tests.helpers import rejects

SPACE: dict[str, Any] = {"x": (0.0, 1.0), "y": (0.0, 1.0), "kind": ["a", "b"]}
RULES: dict[str, Any] = {"size": ("<=", 1.0), "speed": (">=", 10.0)}


def limited(config: Any) -> dict[str, float]:
    """The constraint of the optimum is active: the best feasible point is x + y = 1 with x = 0.9 and kind a."""
    bonus = 0.2 if config["kind"] == "b" else 0.0
    score = config["y"] + 2.0 * config["x"] + bonus
    speed = 1.0 if config["kind"] == "b" else 100.0 * (1.0 - config["x"])
    return {"score": score, "size": config["x"] + config["y"], "speed": speed}


def test_constrained_optimum_is_found_and_shown(tmp_path: Path) -> None:
    tuned = tune(limited, SPACE, budget=30, constraints=RULES, out=tmp_path, progress=False)
    best = tuned.best
    assert best.feasible
    assert best.metrics["size"] <= 1.0
    assert best.metrics["speed"] >= 10.0
    assert best.reward > 1.85  # 1.9 is the optimum; without constraints 3.2
    assert max(e.reward for e in tuned) > best.reward
    frame = tuned.to_frame()
    assert frame["incumbent"].iloc[-1] == best.reward
    assert (frame["feasible"].sum(), len(frame)) == (sum(e.feasible for e in tuned), 30)
    page = load(tmp_path).report().read_text()
    assert "with size &lt;= 1, speed &gt;= 10" in page
    assert "infeasible" in page
    more = tune(limited, SPACE, budget=31, constraints=RULES, out=tmp_path, progress=False)
    assert [e.config for e in more][:30] == [e.config for e in tuned]
    rejects("has constraints .*'size'.*, got None", tune, limited, SPACE, budget=31, out=tmp_path, progress=False)


def test_two_objectives_are_constrained() -> None:
    def both(config: Any) -> dict[str, float]:
        return {"a": config["x"], "b": config["y"], "size": config["x"] ** 2 + config["y"] ** 2}

    given: dict[str, Any] = {"objective": ("a", "b"), "constraints": {"size": ("<=", 0.64)}}
    tuned = tune(both, {"x": (0.0, 1.0), "y": (0.0, 1.0)}, budget=30, progress=False, **given)
    front = np.array([e.rewards for e in tuned.pareto])
    assert (np.square(front).sum(axis=1) <= 0.64).all()
    assert (np.linalg.norm(front, axis=1) > 0.75).sum() >= 4


def test_agents_without_constraints_observe_failures() -> None:
    statuses = []

    class Listening(RandomSearch):
        def tell(self, action: Any, reward: Any, info: Any) -> None:
            statuses.append(info["status"])

    tuned = tune(limited, SPACE, agent=Listening, budget=20, constraints=RULES, progress=False)
    assert statuses == ["ok" if e.feasible else "failed" for e in tuned]
    assert {*statuses} == {"ok", "failed"}


def test_search_without_feasible_evaluation_names_nearest() -> None:
    tuned = tune(limited, SPACE, budget=6, constraints={"size": ("<=", -1.0)}, progress=False)
    with pytest.raises(ValueError, match="evaluations must satisfy size <= -1, got 6 that do not; the nearest is <Ev"):
        _ = tuned.best
    assert "none satisfies size <= -1" in repr(tuned)


@pytest.mark.parametrize(
    "constraints, message",
    [
        ({"cost_of_it": ("<=", 1.0)}, "must return a mapping with score, cost_of_it, finite, got one with score, size"),
        ({"size": "<= 1"}, r"constraint on size must be a relation and a bound, as in \('<=', 20.0\), got '<= 1'"),
        ({"size": ("<", 1.0)}, "relation of size must be one of <=, >=, got '<'"),
        ({"size": ("<=", float("nan"))}, "bound of size must be a finite number, got nan"),
        ([("size", 1)], "constraints must be a mapping"),
    ],
)
def test_wrong_constraints_are_named(constraints: Any, message: str) -> None:
    rejects(message, tune, limited, SPACE, budget=3, constraints=constraints, progress=False)


def test_constraints_are_written_as_text_and_needed_by_tell() -> None:
    rejects("constraint must be one for each metric .*, got two of l", parsed_constraints, ["l<=20", "l >= 1"])
    assert parsed_constraints(["latency<=20", "top 5 >= 1e-2"]) == {"latency": ("<=", 20.0), "top 5": (">=", 0.01)}
    rejects("constraint must be as in latency<=20, got 'latency<20'", parsed_constraints, ["latency<20"])
    search = Search(SPACE, constraints=RULES, tolerate=True)
    assert "mapping with score, size, speed" in search.tell(search.ask(), 1.0).error
    assert search.tell(search.ask(), limited({"x": 1.0, "y": 1.0, "kind": "b"})).violations == [1.0, 9.0]
