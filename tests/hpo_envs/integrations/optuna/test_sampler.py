"""Our agents as samplers of Optuna, under its own tests of samplers."""

import functools
import pickle
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hpo_envs import agents
from hpo_envs.agents import Problem

optuna = pytest.importorskip("optuna", reason="extra optuna is not installed")
suites = pytest.importorskip("optuna.testing.pytest_samplers", reason="this Optuna has no sampler tests to offer")
from hpo_envs.integrations.optuna.sampler import AgentSampler  # noqa: E402
from tests.helpers import WIDE, rejects  # noqa: E402

optuna.logging.set_verbosity(optuna.logging.WARNING)

OURS = ("random", "bo-ei-rbf", "regularized-evolution", "box-bo")
"""One agent of each kind: a fixed plan, a model of candidates, a population, a box."""


def sampler_of(*names: str) -> Any:
    """The fixture that Optuna's tests require."""

    def sampler(self: Any, request: pytest.FixtureRequest) -> Callable[[], Any]:
        return functools.partial(AgentSampler, request.param, seed=0, candidates=40)

    return pytest.fixture(params=names)(sampler)


class TestOurSamplers(suites.BasicSamplerTestCase, suites.RelativeSamplerTestCase):
    """Optuna's own tests, unmodified."""

    sampler = sampler_of(*(["bo-ei-rbf"] if WIDE else []), "regularized-evolution")


class TestOurSamplersOfBoxes(suites.RelativeSamplerTestCase):
    sampler = sampler_of("box-bo")


class TestOurSamplersOfSeveralObjectives(suites.MultiObjectiveSamplerTestCase):
    sampler = sampler_of("random", "bo-ehvi-rbf")


class TestOurSamplersOfOneObjective(suites.SingleOnlySamplerTestCase):
    sampler = sampler_of("bo-ei-rbf", "regularized-evolution", "box-bo")


def bowl(trial: Any) -> float:
    x, kind = trial.suggest_float("x", -1, 1), trial.suggest_categorical("kind", ["a", "b"])
    return (x - 0.3) ** 2 + trial.suggest_int("k", 0, 4) * 0.2 + (kind == "b")


@pytest.mark.parametrize("name", ["box-bo", "bo-ei-rbf"])
def test_enqueued_values_are_reported_at_their_own_point(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[Any] = []
    study = optuna.create_study(sampler=AgentSampler(name, seed=0, candidates=40))
    study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=3)
    sampler = study.sampler
    given = type(sampler._agent).tell
    monkeypatch.setattr(type(sampler._agent), "tell", lambda a, x, r, i: (told.append((x, r)), given(a, x, r, i))[1])
    study.enqueue_trial({"x": 0.125})
    study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=3)
    points = {reward: sampler._values(action)["x"] for action, reward in told}
    assert abs(points[-0.125] - 0.125) < 0.05  # the nearest candidate
    assert all(abs(x + reward) < 0.05 for reward, x in points.items())


@pytest.mark.parametrize("name", OURS)
def test_failures_and_results_of_others_are_heard(name: str) -> None:
    study = optuna.create_study(sampler=AgentSampler(name, seed=0, candidates=50))

    def shaky(trial: Any) -> float:
        if trial.number % 4 == 2:
            raise RuntimeError("out of memory")
        return bowl(trial)

    study.enqueue_trial({"x": 0.3, "kind": "a", "k": 0})
    study.optimize(shaky, 12, catch=(RuntimeError,))
    study.enqueue_trial({"x": 0.25, "kind": "a", "k": 0})
    study.optimize(bowl, 4)
    assert len(study.trials) == 16
    assert study.best_value <= 0.0025 + 1e-12


SAMPLERS = [n for n, e in agents.AGENTS.items() if e.entrant and {"rows", "box", "objectives"} & {*e.supports}]


@pytest.mark.parametrize("name", SAMPLERS)
def test_every_agent_outlives_failures_pruning_and_end_of_grid(name: str) -> None:
    several = agents.AGENTS[name].supports == ("objectives",)
    study = optuna.create_study(
        directions=["minimize"] * (1 + several), sampler=AgentSampler(name, seed=1, candidates=20)
    )

    def objective(trial: Any) -> Any:
        value = trial.suggest_int("a", 1, 4) + trial.suggest_float("b", 0, 1, step=0.5)
        if trial.number in (2, 6):
            raise RuntimeError("out of memory")
        if trial.number == 4 and not several:
            raise optuna.TrialPruned
        return (value, -value) if several else value

    optuna.logging.set_verbosity(optuna.logging.CRITICAL)
    study.optimize(objective, 16, catch=(RuntimeError,))
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    states = [t.state.name for t in study.trials]
    assert (states.count("COMPLETE"), states.count("FAIL")) == (14 - (not several), 2)
    if {"rows", "objectives"} & {*agents.AGENTS[name].supports}:
        # The first trial is Optuna's; the 12 cells of the grid are then each met before any comes again.
        assert len({tuple(t.params.items()) for t in study.trials[1:]}) >= 11


class Deaf(agents.Agent):
    """Agent that records its results."""

    def __init__(self, problem: Problem, seed: int) -> None:
        super().__init__(problem, seed)
        self.heard: list[tuple[Any, float, str]] = []

    def ask(self) -> int:
        return 0

    def tell(self, action: Any, reward: Any, info: Any) -> None:
        self.heard.append((action, reward, info["status"]))

    def recommend(self) -> int:
        return 0


def test_what_agent_receives(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agents, "make", lambda name, problem, seed: Deaf(problem, seed))
    study = optuna.create_study(direction="maximize", sampler=AgentSampler("random", seed=0))
    space = {"x": optuna.distributions.IntDistribution(0, 9)}
    first = study.ask(space)  # Optuna's: no space is known yet
    study.tell(first, -7.0)
    one, two = study.ask(space), study.ask(space)
    told, values = study.sampler._agent.heard, study.sampler._raw[:, 0].tolist()
    row = values.index
    assert told == [(row(first.params["x"]), -7.0, "ok")]
    assert one.params["x"] == two.params["x"] == values[0]  # the agent was asked for both
    study.tell(two, -3.0)
    study.ask(space)
    assert told[1:] == [(0, -3.0, "ok")]
    study.tell(one, state=optuna.trial.TrialState.FAIL)
    study.add_trial(optuna.create_trial(params={"x": 5}, distributions=space, value=-1.0))
    study.ask(space)
    assert told[2:] == [(0, -7.0, "failed"), (row(5), -1.0, "ok")]


def test_failure_before_first_success_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agents, "make", lambda name, problem, seed: Deaf(problem, seed))
    study = optuna.create_study(sampler=AgentSampler("random", seed=0))
    space = {"x": optuna.distributions.IntDistribution(0, 9)}
    study.add_trial(optuna.create_trial(params={"x": 3}, distributions=space, value=float("inf")))
    one = study.ask(space)
    study.tell(one, state=optuna.trial.TrialState.FAIL)
    two = study.ask(space)
    assert study.sampler._agent.heard == []
    study.tell(two, 5.0)
    study.ask(space)
    assert study.sampler._agent.heard == [(0, -5.0, "failed"), (0, -5.0, "ok")]


@pytest.mark.parametrize("name", ["bo", "box-bo", "tpe"])
def test_conditional_parameters_are_modelled(name: str) -> None:
    def objective(trial: Any) -> float:
        if trial.suggest_categorical("kind", ["line", "flat"]) == "line":
            return float(trial.suggest_float("slope", 0.0, 1.0))
        return 0.2

    study = optuna.create_study(direction="maximize", sampler=AgentSampler(name, seed=0, candidates=100))
    study.optimize(objective, 30)
    assert set(study.sampler._space) == {"kind", "slope"}
    assert study.best_value > 0.9
    late = [t for t in study.trials[15:] if t.params["kind"] == "line"]
    assert len(late) > 4
    if name != "bo":  # whose candidates are used up: it has to go on with worse ones
        assert np.median([t.value for t in late]) > 0.6  # drawn at random it would be a half


@pytest.mark.parametrize("stored", [False, True])
def test_what_breaks_constraint_is_no_success(stored: bool) -> None:
    def objective(trial: Any) -> float:
        x = trial.suggest_float("x", 0.0, 1.0)
        trial.storage.set_trial_system_attr(trial._trial_id, "constraints:c", x - 0.5) if stored else None
        trial.set_user_attr("c", x - 0.5)
        return float(x)

    given: dict[str, Any] = {} if stored else {"constraints_func": lambda t: (t.user_attrs["c"],)}
    sampler = AgentSampler("bo", seed=0, candidates=50, **given)
    study = optuna.create_study(direction="maximize", sampler=sampler)
    study.optimize(objective, 20)
    if not stored:
        assert study.trials[3].system_attrs["constraints"] == (pytest.approx(study.trials[3].params["x"] - 0.5),)
    best = sampler._raw[sampler._agent.recommend()][0]
    assert 0.4 < best <= 0.5


@pytest.mark.parametrize("name", ["regularized-evolution", "box-bo"])
def test_several_workers_and_saved_samplers(name: str) -> None:
    study = optuna.create_study(sampler=AgentSampler(name, seed=0, candidates=60))
    study.optimize(bowl, 16, n_jobs=3)
    assert [t.state.name for t in study.trials] == ["COMPLETE"] * 16
    study.sampler = pickle.loads(pickle.dumps(study.sampler))
    study.optimize(bowl, 2)
    assert len(study.trials) == 18
    assert len(study.sampler._told) == 17  # all but the one that is out


@pytest.mark.parametrize("name", ["random", "box-bo"])
def test_suggestions_keep_steps_scales_and_choices(name: str) -> None:
    d = optuna.distributions
    space = {
        "a": d.FloatDistribution(1e-5, 1.0, log=True),
        "b": d.FloatDistribution(-1.0, 1.0, step=0.2),
        "c": d.FloatDistribution(0.0, 1.0, step=1e-5),
        "d": d.IntDistribution(0, 100, step=5),
        "e": d.IntDistribution(1, 1000, log=True),
        "f": d.CategoricalDistribution((None, True, 1, "a", float("nan"))),
    }
    study = optuna.create_study(sampler=AgentSampler(name, seed=0, candidates=200))
    study.tell(study.ask(space), 0.0)
    for i in range(12):
        trial = study.ask(space)
        assert all(each._contains(each.to_internal_repr(trial.params[n])) for n, each in space.items())
        study.tell(trial, float(i))
    assert len({str(t.params) for t in study.trials}) == 13


def test_wrong_agents_are_named() -> None:
    rejects("agent must work on featured rows or boxes, got 'ttts', which works on arms", AgentSampler, "ttts")
    rejects("agent must be one of .* did you mean 'bo", AgentSampler, "boo")
    rejects("agent must be one of .*, got \\['bo'\\]", AgentSampler, ["bo"])
    rejects("candidates must be an int >= 2, got 1", AgentSampler, candidates=1)
    rejects("candidates must be at most 1000000, got 1000000000", AgentSampler, candidates=10**9)
    rejects("seed must be an int >= 0, got 'x'", AgentSampler, seed="x")
    rejects("constraints_func must be None or callable, got 3", AgentSampler, constraints_func=3)
    for given, message in (
        ({"nope": 1}, "hyperparameters must be arguments of bo, .*'nope'"),
        ({"initial": None}, "initial must be an int >= 1, got None"),
    ):
        study = optuna.create_study(sampler=AgentSampler("bo", **given))
        with pytest.raises(ValueError, match=message):
            study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=2)  # the first is random
    study = optuna.create_study(directions=["minimize"] * 3, sampler=AgentSampler("bo"))
    rejects("objectives must be at most 2 for AgentSampler, got 3", study.ask)
    study = optuna.create_study(sampler=AgentSampler("bo-ehvi-rbf"))
    with pytest.raises(ValueError, match="agent must work on one objective for this study, got 'bo-ehvi-rbf'"):
        study.ask({"x": optuna.distributions.FloatDistribution(0, 1)})


def test_package_of_optunahub_has_form_of_registry_and_runs_its_example(monkeypatch: pytest.MonkeyPatch) -> None:
    # The folder of the example is a package without version for tests that run in docs/examples.
    hub = pytest.importorskip("optunahub", minversion="0.1", reason="optunahub is not installed")
    registry = Path(__file__).parents[4] / "docs" / "examples" / "optunahub"
    folder = registry / "samplers" / "hpo_envs"
    assert {"LICENSE", "README.md", "__init__.py"} <= {path.name for path in folder.iterdir()}
    text = (folder / "README.md").read_text("utf-8")
    front = dict(line.split(": ", 1) for line in text.split("---")[1].strip().splitlines())
    assert {*front} == {"author", "title", "description", "tags", "optuna_versions", "license"}
    assert front["tags"].startswith("[sampler,")
    assert optuna.__version__ in front["optuna_versions"]
    assert {"Abstract", "Class or Function Names", "Installation", "Example"} == {*re.findall("^## (.*)", text, re.M)}
    monkeypatch.setattr(hub, "load_module", functools.partial(hub.load_local_module, registry_root=str(registry)))
    names: dict[str, Any] = {}
    exec(re.findall("```text\n(.*?)```", text, re.S)[0], names)
    assert (len(names["study"].trials), names["study"].best_params["kind"]) == (30, "a")
    assert names["study"].best_value < 0.1
