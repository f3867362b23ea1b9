"""Arguments of environments on a function, and the resulting candidates."""

from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from hpo_envs.benchmarks import run
from hpo_envs.benchmarks.analysis import regret
from hpo_envs.core.engines.function.params import EACH, FEWEST, FunctionParams, metrics_of
from hpo_envs.families import registry
from hpo_envs.families.function import example
from tests.helpers import rejects

SPACE = {"x": (0.0, 1.0), "layers": (1, 4), "opt": ["a", "b"]}


def score(config: dict[str, Any]) -> float:
    return float(config["x"])


def params(**kwargs: Any) -> FunctionParams:
    return FunctionParams.of(score, kwargs.pop("space", SPACE), **kwargs)


def test_candidates_grow_with_budget_and_keep_their_order() -> None:
    small, large = params(budget=10), params(budget=100.0)
    assert (small.actions, large.actions) == (FEWEST, EACH * 100)
    assert np.array_equal(small.candidates, large.candidates[:FEWEST])
    assert (params(candidates=7).actions, params(budget=30.0, budget_unit="cost").actions) == (7, FEWEST)
    assert params(budget=None).budget == FEWEST
    trained = FunctionParams.of(example.train_epochs, SPACE, candidates=7, epochs=3)
    assert (trained.steps, params(candidates=7).steps) == (21, None)


def test_box_and_candidates_stand_for_same_configurations() -> None:
    box, rows = params(actions="box"), params()
    assert (box.kind, rows.kind) == ("box", "rows")
    config = rows.points.config(rows.candidates[3])
    assert rows.action_of(config) == 3
    again = box.points.config(box.stored(box.action_of(config)))
    assert again["x"] == pytest.approx(config["x"], abs=1e-6)
    assert {k: again[k] for k in ("layers", "opt")} == {k: config[k] for k in ("layers", "opt")}
    assert box.problem()["features"] is None
    assert rows.problem()["features"].shape == (1000, 4)


def test_hash_says_which_search_it_is() -> None:
    made = {params(**k).table.provenance.sha256 for k in ({}, {"candidate_seed": 1}, {"goal": "min"}, {"budget": 60})}
    assert (len(made), params().table.provenance.sha256) == (4, params(actions="box").table.provenance.sha256)


def test_budget_has_unit_of_its_own() -> None:
    assert (params().cost_unit, params().budget_unit) == ("s", "evaluations")
    assert params(budget=60.0, budget_unit="cost", cost_unit="GPU s").budget_unit == "GPU s"
    assert params().problem()["unit"] == "evaluations"


@pytest.mark.parametrize(
    "kwargs, message",
    [
        ({"actions": "bix"}, "actions must be one of candidates, box, got 'bix', did you mean 'box'"),
        ({"budget_unit": "epochs"}, "budget_unit must be one of evaluations, cost, got 'epochs'"),
        ({"candidates": 1}, "candidates must be None or an int >= 2, got 1"),
        ({"candidates": 10**9}, "candidates must be at most 1000000, got 1000000000"),
        ({"candidate_seed": -1}, "candidate_seed must be an int >= 0, got -1"),
        ({"epochs": 3}, "function must yield a score after each epoch"),
        ({"goal": "up"}, "goal must be max or min"),
        ({"goal": ("max", "min")}, "goal must be max or min"),
        ({"goal": [[1]]}, "goal must be max or min"),
        ({"goal": 5}, "goal must be max or min"),
        ({"bounds": 5}, "bounds of score must be two finite numbers, low < high, got 5"),
        ({"bounds": (0, np.ma.masked)}, "bounds of score must be two finite numbers"),
        ({"space": {"x": [str(i) for i in range(10_001)]}}, "x must have at most 10000 values, got 10001"),
        ({"objective": ()}, "objective must be a name or a tuple of distinct names"),
        ({"bounds": (1, 0)}, "bounds of score must be two finite numbers, low < high"),
        ({"bounds": {"scor": (0, 1)}}, "name in bounds must be one of score, got 'scor', did you mean 'score'"),
        ({"best": 1.0}, "reference must be a finite number if best or reference is given, got None"),
        ({"best": np.nan, "reference": 0.0}, "best must be a finite number if best or reference is given, got nan"),
        ({"best": 10**400, "reference": True}, "best must be a finite number"),
        ({"best": 0.5, "reference": 0.5}, "best must be better than reference in every objective, got 0.5 and 0.5"),
        ({"best": 0.9, "reference": 0.5, "goal": "min"}, "best must be better than reference"),
        ({"best": 1, "reference": 0, "objective": ("a", "b")}, "best must be 2 finite numbers"),
    ],
)
def test_wrong_arguments_are_named(kwargs: dict[str, Any], message: str) -> None:
    rejects(message, params, **kwargs)


def test_trainings_need_their_form() -> None:
    rejects("function must return its score", FunctionParams.of, example.train_epochs, SPACE)
    rejects("epochs must be an int >= 1, got 0", FunctionParams.of, example.train_epochs, SPACE, epochs=0)
    message = "candidates times epochs must be at most 100000000, got 1000000000000"
    rejects(message, FunctionParams.of, example.train_epochs, SPACE, epochs=10**9)
    rejects("actions must be 'candidates' for", FunctionParams.of, example.train_epochs, SPACE, epochs=2, actions="box")


def test_metrics_have_goals_and_bounds() -> None:
    accuracy, size = metrics_of(("accuracy", "size"), ("max", "min"), {"accuracy": (0, 1)})
    assert (accuracy.low, accuracy.high, size.goal, size.worst) == (0.0, 1.0, "min", 1e6)
    assert [params(bounds=b).bounded for b in (None, (0.0, 1.0), (0.0, 1e6), (-1e9, 1e9))] == [False, True, True, True]


def test_what_is_known_of_function_is_told_as_rewards() -> None:
    assert params().known is None
    best, reference = params(best=0.1, reference=2, goal="min").known or ((), ())
    assert (best.tolist(), reference.tolist()) == ([-0.1], [-2.0])
    two = params(objective=("a", "b"), goal=("max", "min"), best=(1.0, 3.0), reference=(0.5, 9.0)).known or ((), ())
    assert [x.tolist() for x in two] == [[1.0, -3.0], [0.5, -9.0]]


@pytest.mark.parametrize("env_id", ["FunctionHPO-v0", "FunctionLC-v0"])
def test_runs_on_function_have_regret_where_its_scale_is_given(env_id: str) -> None:
    family = registry.family_of(env_id)
    assert family is not None
    for known, source in (({}, "none"), ({"best": 0.95, "reference": 0.8}, "given")):
        made = run("random", env_id, [0, 1], budget=5, env_kwargs={**family.example, **known})
        assert {r.header["scale"]["source"] for r in made} == {source}
        after = [regret.after(r) for r in made]
        best = [np.maximum.accumulate(r.rewards) for r in made]
        expected = [np.clip((0.95 - b) / (0.95 - 0.8), 0.0, 1.0) if known else -b for b in best]
        assert np.concatenate(after) == pytest.approx(np.concatenate(expected))


def test_arguments_of_other_family_are_rejected() -> None:
    rejects("no argument 'epochs'", gym.make, "FunctionHPO-v0", function=score, space=SPACE, epochs=3, error=TypeError)
    with pytest.raises(TypeError, match="missing 2 required positional arguments: 'function' and 'space'"):
        gym.make("FunctionHPO-v0")
