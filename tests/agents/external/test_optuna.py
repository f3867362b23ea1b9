"""Optuna both ways: its samplers as agents, our agents as samplers, under its own sampler tests."""

from __future__ import annotations

import functools
import pickle
from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from hpo_envs import agents
from hpo_envs.agents import Problem
from hpo_envs.benchmarks import run
from hpo_envs.tables import store

optuna = pytest.importorskip("optuna", reason="extra optuna is not installed")
suites = pytest.importorskip("optuna.testing.pytest_samplers", reason="this Optuna has no sampler tests to offer")
from hpo_envs.agents.external.as_sampler import AgentSampler  # noqa: E402
from hpo_envs.agents.external.unit_cube import Cube  # noqa: E402

optuna.logging.set_verbosity(optuna.logging.WARNING)

OURS = ("random", "bo-ei-rbf", "regularized-evolution", "box-bo")
"""One of each way to be a sampler: a plan drawn before, a model of candidates, a population, a box."""


class TestOurSamplers(suites.BasicSamplerTestCase, suites.RelativeSamplerTestCase):
    """Optuna's own tests, unmodified."""

    @pytest.fixture(params=OURS)
    def sampler(self, request: pytest.FixtureRequest) -> Callable[[], Any]:
        return functools.partial(AgentSampler, request.param, seed=0, candidates=40)


class TestOurSamplersOfSeveralObjectives(suites.MultiObjectiveSamplerTestCase):
    @pytest.fixture(params=["random", "bo-ehvi-rbf"])
    def sampler(self, request: pytest.FixtureRequest) -> Callable[[], Any]:
        return functools.partial(AgentSampler, request.param, seed=0, candidates=40)


class TestOurSamplersOfOneObjective(suites.SingleOnlySamplerTestCase):
    @pytest.fixture(params=["bo-ei-rbf", "regularized-evolution", "box-bo"])
    def sampler(self, request: pytest.FixtureRequest) -> Callable[[], Any]:
        return functools.partial(AgentSampler, request.param, seed=0, candidates=40)


def bowl(trial: Any) -> float:
    x, kind = trial.suggest_float("x", -1, 1), trial.suggest_categorical("kind", ["a", "b"])
    return (x - 0.3) ** 2 + trial.suggest_int("k", 0, 4) * 0.2 + (kind == "b")


def best(sampler: Any, trials: int = 25) -> float:
    study = optuna.create_study(sampler=sampler)
    study.optimize(bowl, trials)
    return float(study.best_value)


def test_a_model_finds_more_than_random_search() -> None:
    random = np.median([best(optuna.samplers.RandomSampler(seed=s)) for s in range(8)])
    ours = np.median([best(AgentSampler("bo-ei-matern52", seed=s, candidates=300)) for s in range(4)])
    assert ours < 0.5 * random


def test_same_seed_same_trials() -> None:
    def values(seed: int) -> list[float]:
        study = optuna.create_study(sampler=AgentSampler("bo-ei-rbf", seed=seed, candidates=60))
        study.optimize(bowl, 8)
        return [t.value for t in study.trials]

    assert values(1) == values(1)
    assert values(1) != values(2)


def test_small_grids_are_searched_without_repeats() -> None:
    study = optuna.create_study(sampler=AgentSampler("random", seed=0))
    study.optimize(lambda t: t.suggest_int("a", 1, 4) + t.suggest_float("b", 0, 1, step=0.5), 13)
    # The first trial is independent; the agent hears of it and meets each of the other 11 cells once.
    assert len({tuple(t.params.items()) for t in study.trials[:12]}) == 12


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


SAMPLERS = [n for n, e in agents.AGENTS.items() if e.alias_of is None and {"rows", "box", "objectives"} & {*e.supports}]


@pytest.mark.parametrize("name", SAMPLERS)
def test_every_agent_outlives_failures_pruning_and_the_end_of_the_grid(name: str) -> None:
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
    """Writes down what it is told."""

    def __init__(self, problem: Problem, seed: int) -> None:
        super().__init__(problem, seed)
        self.heard: list[tuple[Any, float, str]] = []

    def ask(self) -> int:
        return 0

    def tell(self, action: Any, reward: Any, info: Any) -> None:
        self.heard.append((action, reward, info["status"]))

    def recommend(self) -> int:
        return 0


def test_what_an_agent_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agents, "make", lambda name, problem, seed: Deaf(problem, seed))
    study = optuna.create_study(direction="maximize", sampler=AgentSampler("random", seed=0))
    space = {"x": optuna.distributions.IntDistribution(0, 9)}
    first = study.ask(space)  # Optuna's: no space is known yet
    study.tell(first, -7.0)
    own, others = study.ask(space), [study.ask(space) for _ in range(2)]
    told = study.sampler._agent.heard
    assert told == [(first.params["x"], -7.0, "ok")]
    assert own.params["x"] == 0
    assert all(o.params["x"] not in (0, first.params["x"]) for o in others)
    study.tell(others[0], -3.0)
    study.ask(space)
    assert len(told) == 1  # the agent waits for what it asked for
    study.tell(own, state=optuna.trial.TrialState.FAIL)
    study.ask(space)
    assert told[1:] == [(0, -7.0, "failed"), (others[0].params["x"], -3.0, "ok")]


def test_a_failure_before_the_first_success_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agents, "make", lambda name, problem, seed: Deaf(problem, seed))
    study = optuna.create_study(sampler=AgentSampler("random", seed=0))
    space = {"x": optuna.distributions.IntDistribution(0, 9)}
    study.add_trial(optuna.create_trial(params={"x": 3}, distributions=space, value=float("inf")))
    own = study.ask(space)
    study.tell(own, state=optuna.trial.TrialState.FAIL)
    other = study.ask(space)
    assert study.sampler._agent.heard == []
    study.tell(other, 5.0)
    study.ask(space)
    assert study.sampler._agent.heard == [(0, -5.0, "failed"), (other.params["x"], -5.0, "ok")]


@pytest.mark.parametrize("name", ["bo", "regularized-evolution", "random", "box-bo"])
def test_several_workers_and_saved_samplers(name: str) -> None:
    study = optuna.create_study(sampler=AgentSampler(name, seed=0, candidates=60))
    study.optimize(bowl, 16, n_jobs=3)
    assert [t.state.name for t in study.trials] == ["COMPLETE"] * 16
    study.sampler = pickle.loads(pickle.dumps(study.sampler))
    study.optimize(bowl, 2)
    assert len(study.trials) == 18
    assert name == "random" or len(study.sampler._told) == 17  # all but the one that is out


def test_a_table_as_an_objective() -> None:
    table = store.load("nmthpo/zhen-grid", "surrogate")
    bleu = {tuple(table.config(i).items()): table.values[i, 0, 0, table.metric("bleu")] for i in range(len(table))}

    def objective(trial: Any) -> float:
        config = {h.name: trial.suggest_categorical(h.name, h.values) for h in table.space}
        return float(bleu[tuple(config.items())])

    study = optuna.create_study(direction="maximize", sampler=AgentSampler("bo-ei-matern52", seed=0))
    study.optimize(objective, 30)
    assert len({tuple(t.params.items()) for t in study.trials[1:]}) == 29
    assert sum(v > study.best_value for v in bleu.values()) < 0.03 * len(bleu)


def test_two_objectives() -> None:
    def objective(trial: Any) -> tuple[float, float]:
        x, y = trial.suggest_float("x", 0, 1), trial.suggest_float("y", 0, 1)
        return x + y, (x - 1) ** 2 + y  # the front is y = 0

    def area(sampler: Any) -> float:
        study = optuna.create_study(directions=["minimize", "minimize"], sampler=sampler)
        study.optimize(objective, 30)
        return float(np.median([t.params["y"] for t in study.best_trials]))

    random = np.median([area(optuna.samplers.RandomSampler(seed=s)) for s in range(5)])
    assert np.median([area(AgentSampler("bo", seed=s, candidates=200)) for s in range(3)]) < random


def test_steps_ranges_and_choices_survive_the_cube() -> None:
    d = optuna.distributions
    space = [
        d.FloatDistribution(-2.0, 3.0),
        d.FloatDistribution(1e-5, 1.0, log=True),
        d.FloatDistribution(-1.0, 1.0, step=0.2),
        d.IntDistribution(0, 100, step=5),
        d.IntDistribution(1, 1000, log=True),
        d.IntDistribution(-5, 5),
        d.CategoricalDistribution((None, True, 1, "a", float("nan"))),
    ]
    cube, rng = Cube(space), np.random.default_rng(0)
    assert cube.size == 6 + 5
    for _ in range(200):
        point = cube.draw(rng)
        assert all(e._contains(v) for e, v in zip(space, point, strict=True))
        x = cube.encode(point)
        assert ((x >= 0) & (x <= 1)).all()
        assert cube.decode(x) == pytest.approx(point, rel=1e-12, abs=1e-12)
        assert all(e._contains(v) for e, v in zip(space, cube.decode(rng.random(cube.size)), strict=True))
    ends = cube.decode(np.zeros(11)), cube.decode(np.ones(11))
    assert ends[0][:6] == pytest.approx((-2.0, 1e-5, -1.0, 0, 1, -5))
    assert ends[1][:6] == pytest.approx((3.0, 1.0, 1.0, 100, 1000, 5))


def test_wrong_agents_are_named() -> None:
    with pytest.raises(ValueError, match="agent must work on featured rows or boxes, got 'ttts', which works on arms"):
        AgentSampler("ttts")
    with pytest.raises(ValueError, match="agent must be one of .* did you mean 'bo"):
        AgentSampler("boo")
    with pytest.raises(ValueError, match="candidates must be an int >= 2, got 1"):
        AgentSampler(candidates=1)
    study = optuna.create_study(sampler=AgentSampler("bo-ehvi-rbf"))
    with pytest.raises(ValueError, match="agent must work on one objective for this study, got 'bo-ehvi-rbf'"):
        study.ask({"x": optuna.distributions.FloatDistribution(0, 1)})


IDS = {
    "CushLEPOR-ted-ende-v0": 4,  # a box
    "CharHPO-v0": 4,  # a box of 16 dimensions
    "NMTHPO-v0": 6,  # a grid
    "NMTHPO-zhen-v0": 6,  # rows
    "NMTHPO-zhen-mo-v0": 6,  # two objectives
}
NEEDS = {"GPSampler": "torch", "CmaEsSampler": "cmaes"}


@pytest.mark.filterwarnings("ignore:.*independent:UserWarning")
@pytest.mark.parametrize("env_id", IDS)
@pytest.mark.parametrize(
    "sampler",
    ["RandomSampler", "TPESampler", "CmaEsSampler", "GPSampler", "NSGAIISampler", "NSGAIIISampler", "QMCSampler"],
)
def test_any_sampler_of_optuna_is_an_agent(sampler: str, env_id: str) -> None:
    if sampler in NEEDS:
        pytest.importorskip(NEEDS[sampler])
    several = env_id == "NMTHPO-zhen-mo-v0"
    if several and sampler == "CmaEsSampler":
        pytest.skip("CMA-ES has one objective")
    settings = {"n_startup_trials": 2} if sampler in ("GPSampler", "TPESampler", "CmaEsSampler") else {}
    budget = 3 if sampler == "GPSampler" else IDS[env_id]  # a fit takes long
    play = functools.partial(
        run, "optuna", env_id, budget=budget, env_kwargs={"table": "surrogate"}, sampler=sampler, **settings
    )
    one, two = play([3, 4])
    (again,) = play([3])
    assert len(one) == budget
    assert np.array_equal(one.actions, again.actions)
    assert not np.array_equal(one.actions, two.actions) or sampler == "QMCSampler"
    assert one.header["hyperparameters"] == {"sampler": sampler, **settings}
    assert one.rewards.shape == ((budget, 2) if several else (budget,))
    if env_id.startswith("NMTHPO-zhen"):
        assert len(set(one.actions.tolist())) == len(one)


def test_a_sampler_of_ones_own() -> None:
    problem = Problem(gym.spaces.MultiDiscrete([4, 4]))
    for own in (
        lambda: optuna.samplers.RandomSampler(seed=5),
        optuna.samplers.RandomSampler(seed=5),
        functools.partial(optuna.samplers.RandomSampler),
        optuna.samplers.RandomSampler,
    ):
        agent, again = (agents.make("optuna", problem, 0, sampler=own) for _ in range(2))
        for _ in range(5):
            asked = agent.ask()
            assert asked in problem.action_space
            assert np.array_equal(asked, again.ask())
            agent.tell(asked, 1.0, {})
            again.tell(asked, 1.0, {})
    made = agents.make("optuna", problem, 0, sampler="NSGAIISampler", population_size=7)
    assert made._inner._study.sampler._population_size == 7


def test_the_default_is_the_agent_tpe() -> None:
    for env_id in ("CushLEPOR-ted-ende-v0", "NMTHPO-v0"):
        plain = run("tpe", env_id, [2], budget=14, env_kwargs={"table": "surrogate"})
        (ours,) = run("optuna", env_id, [2], budget=14, env_kwargs={"table": "surrogate"})
        assert np.array_equal(plain[0].actions, ours.actions)
        assert np.array_equal(plain[0].recommended, ours.recommended)


@pytest.mark.parametrize(
    ("sampler", "settings"),
    [("BruteForceSampler", {}), ("GridSampler", {"search_space": {"x0": [0, 1, 2], "x1": [0, 1]}})],
)
def test_samplers_that_have_tried_everything_are_done(sampler: str, settings: dict[str, Any]) -> None:
    agent = agents.make("optuna", Problem(gym.spaces.MultiDiscrete([3, 2])), 0, sampler=sampler, **settings)
    seen = []
    while not agent.done:
        seen.append(agent.ask())
        agent.tell(seen[-1], float(seen[-1].sum()), {})
    assert sorted(map(tuple, seen)) == [(i, j) for i in range(3) for j in range(2)]
    assert agent.recommend().tolist() == [2, 1]


def test_wrong_samplers_are_named() -> None:
    problem = Problem(gym.spaces.MultiDiscrete([4, 4]))
    with pytest.raises(ValueError, match="sampler must be one of .*, got 'GPSample', did you mean 'GPSampler'"):
        agents.make("optuna", problem, 0, sampler="GPSample")
    with pytest.raises(ValueError, match="sampler must be a name, a sampler or something that makes one, got 3"):
        agents.make("optuna", problem, 0, sampler=3)
    with pytest.raises(ValueError, match="sampler must return a sampler of Optuna, got 'tpe'"):
        agents.make("optuna", problem, 0, sampler=lambda: "tpe")
    with pytest.raises(ValueError, match="settings must be given to the sampler itself, got n_startup_trials"):
        agents.make("optuna", problem, 0, sampler=optuna.samplers.TPESampler(), n_startup_trials=3)
    with pytest.raises(ValueError, match="problem must have features or a MultiDiscrete grid"):
        agents.make("optuna", Problem(gym.spaces.Discrete(3)), 0)
