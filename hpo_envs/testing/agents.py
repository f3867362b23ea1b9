"""Contract of agents: actions are in the space and depend only on the problem, the seed and the observations."""

import random
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import gymnasium as gym
import numpy as np

from hpo_envs import agents
from hpo_envs.agents import Agent, Problem
from hpo_envs.benchmarks.runs import Run, problem_of, run
from hpo_envs.benchmarks.runs.episodes import has_rows
from hpo_envs.tables.checks import one_of
from hpo_envs.testing.rules import check_rules, require

STAGES: dict[str, tuple[str, dict[str, Any]]] = {
    "rows": ("NMTHPO-zhen-v0", {}), "objectives": ("NMTHPO-zhen-mo-v0", {"budget": 12}), "grid": ("NMTHPO-v0", {}),
    "box": ("CushLEPOR-ted-ende-v0", {"budget": 16}), "arms": ("FIESTA-tdsa8-v0", {"budget": 60}),
    "levels": ("NMTLC-ft-zhen-v0", {"budget": 300}),
}  # fmt: skip
"""Kinds of problems in `Registration.supports`, each with an id that represents it and arguments of its episode."""


@dataclass(frozen=True)
class _Subject:
    agent: str | Callable[..., Agent]
    stage: str
    hyperparameters: Mapping[str, Any] = field(default_factory=dict)
    waits: bool = False
    transfer: str | None = None

    def play(self, seeds: Iterable[int], agent: Any = None, **arguments: Any) -> list[Run]:
        """Run the agent, or a factory of another one, on the stage; return a run for each seed."""
        spec_id, kwargs = STAGES[self.stage]
        # Not shuffled: recorded actions are those of the agent, and only its seed makes runs differ.
        order = {"shuffle": False} if has_rows(spec_id, kwargs) else {}
        env_kwargs = {**order, **kwargs, **({} if agent else self._shorter()), **arguments}
        return run(
            agent or self.agent, spec_id, list(seeds), env_kwargs=env_kwargs, transfer=self.transfer,
            **self.hyperparameters,
        )  # fmt: skip

    def _shorter(self) -> dict[str, Any]:
        """Return a `budget` just beyond the random phase of an agent that is slow everywhere; empty for any other."""
        if not isinstance(self.agent, str) or "anywhere" not in agents.entry(self.agent).slow:
            return {}
        problem = _problem(self.stage, self.transfer)
        count = 3 + (self.make(problem, 0, **self.hyperparameters).random_first or 5)  # see `check_agent`
        assert problem.budget is not None
        each = 1.0 if problem.unit == "evaluations" else problem.budget / 20  # complete trainings of `levels`
        return {"budget": min(count * each, problem.budget)}

    def make(self, problem: Problem, seed: int, **hyperparameters: Any) -> Agent:
        """Make the agent for a problem and a seed."""
        if isinstance(self.agent, str):
            return agents.make(self.agent, problem, seed, **hyperparameters)
        return self.agent(problem, seed, **hyperparameters)


def check_agent(
    agent: str | Callable[..., Agent], *, stages: Iterable[str] | None = None, waits: bool = False,
    rules: Iterable[str] | None = None, transfer: str | None = None, **hyperparameters: Any,
) -> tuple[str, ...]:  # fmt: skip
    """Check that comparisons can rely on an agent, with a few short runs.

    Registered agents that take more than a second per run everywhere (`Registration.slow`: `anywhere`) have shorter
    episodes: three evaluations after their random ones, taken as five if there are none or unknown.

    Args:
        agent: Registered name, or a factory `(problem, seed, **hyperparameters) -> Agent`, such as a class.
        stages: Names of `STAGES` that the agent supports. By default all that it `supports`, or `rows` without this
            attribute.
        waits: Whether the agent needs each result before its next action. With delayed results (simulated workers,
            stage `levels`) it must then raise a ValueError; any other agent must continue.
        rules: Names of `AGENT_RULES` to check; all by default.
        transfer: Source tables of the agent, see `run`; by default those that a registered agent needs.
        **hyperparameters: Arguments of the agent.

    Returns:
        Kinds of problems that the agent supports and that were not checked.

    Raises:
        ValueError: Unknown rule, stage or agent.
        AssertionError: The agent breaks a rule; the message names it.

    Example:
        >>> check_agent("random", stages=["rows", "box"])
    """
    if isinstance(agent, str):
        transfer = transfer or ("family" if agents.entry(agent).sources else None)
        supports = agents.entry(agent).supports
        stages_of = (s for s in supports if s in STAGES)
        supported = [s for s in stages_of if agents.fits(agent, _problem(s, transfer), **hyperparameters)]
    else:
        supports = tuple(getattr(agent, "supports", ())) or ("rows",)
        supported = [s for s in supports if s in STAGES]
    label = agent if isinstance(agent, str) else getattr(agent, "__name__", repr(agent))
    names = None if rules is None else list(rules)
    played = supported if stages is None else list(stages)
    for stage in played:
        subject = _Subject(agent, one_of("stages", stage, STAGES), hyperparameters, waits, transfer)
        check_rules(f"agent {label} on {stage}", subject, AGENT_RULES, names)
    return tuple(s for s in supports if s not in played)


def _problem(stage: str, transfer: str | None) -> Problem:
    spec_id, kwargs = STAGES[stage]
    return problem_of(gym.make(spec_id, **kwargs), transfer)


def _interface(subject: _Subject) -> None:
    made = subject.make(_problem(subject.stage, subject.transfer), 0, **subject.hyperparameters)
    missing = [name for name in ("ask", "tell", "recommend", "done") if not hasattr(made, name)]
    require(not missing, f"must have ask, tell, recommend and done, got {made!r} without {', '.join(missing)}")
    require(isinstance(made.done, (bool, np.bool_)), f"done must be a bool, got {made.done!r}")


def _actions(subject: _Subject) -> None:
    spec_id, kwargs = STAGES[subject.stage]
    space = gym.make(spec_id, **kwargs).action_space
    for r in subject.play([0, 1]):
        require(len(r), "a run must have at least one evaluation")
        for action in r.actions:
            require(_inside(action, space), f"actions must be in {space}, got {action!r}")
        require(_inside(r.recommended, space), f"the recommendation must be in {space}, got {r.recommended!r}")
        require(np.isfinite(r.rewards).all(), "rewards must be finite")


def _inside(action: Any, space: gym.Space[Any]) -> bool:
    """Return whether a recorded action is in a space, regardless of its dtype."""
    return action in space or np.asarray(action, dtype=space.dtype) in space


def _repeatable(subject: _Subject) -> None:
    alone, batch = subject.play([7])[0], subject.play([3, 7])[1]
    for name in ("actions", "rewards", "costs", "recommended"):
        one, two = np.asarray(getattr(alone, name)), np.asarray(getattr(batch, name))
        require(
            np.array_equal(one, two),
            f"a seed must give the same run alone and among others, got other {name}: draw from self.rng alone, and "
            "share nothing between agents",
        )


def _seeded(subject: _Subject) -> None:
    if subject.transfer:
        return  # an order that follows from other tables needs no random numbers
    # Rewards of arms are noisy, so they show that an agent with a fixed order is seeded. Some only break ties.
    noisy = subject.stage == "arms"
    runs = (subject.play([seed])[0] for seed in range(12))
    seen = (np.asarray(r.actions).tobytes() + (r.rewards.tobytes() if noisy else b"") for r in runs)
    first = next(seen)
    differ = any(other != first for other in seen)  # most do at once
    require(differ, "different seeds must give different runs, got 12 equal ones: draw from self.rng")


def _hidden_state(subject: _Subject) -> None:
    runs = []
    states = random.getstate(), np.random.get_state()  # noqa: NPY002
    try:
        for seed in (0, 1):
            random.seed(seed)
            np.random.seed(seed)  # noqa: NPY002
            runs.append(subject.play([5])[0])
    finally:
        random.setstate(states[0])
        np.random.set_state(states[1])  # noqa: NPY002
    require(
        np.array_equal(runs[0].actions, runs[1].actions),
        "runs must not depend on the global generators of NumPy and Python: draw from self.rng alone",
    )


class _Monitor:
    """Wrapper of an agent that records its suggestions and the outcomes of finished evaluations."""

    def __init__(self, agent: Agent) -> None:
        self.agent = agent
        self.suggestions: list[tuple[int, ...]] = []
        self.outcomes: list[tuple[tuple[int, ...], float]] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self.agent, name)

    def ask(self) -> Any:
        action = self.agent.ask()
        self.suggestions.append(tuple(int(a) for a in action))
        return action

    def tell(self, action: Any, reward: Any, info: Mapping[str, Any]) -> None:
        if info["finished"]:
            self.outcomes.append((tuple(int(a) for a in action), float(reward)))
        self.agent.tell(action, reward, info)


def _late_results(subject: _Subject) -> None:
    if subject.stage != "levels":
        return
    made: list[_Monitor] = []

    def factory(problem: Problem, seed: int, **hyperparameters: Any) -> Any:
        made.append(_Monitor(subject.make(problem, seed, **hyperparameters)))
        return made[-1]

    try:
        result = subject.play([0], factory, workers=3)[0]
    except ValueError as error:
        require(subject.waits, f"must continue while results are pending (waits=False), got {error}")
        require("workers must be 1 for" in str(error), f"must raise 'workers must be 1 for ...', got {error}")
        return
    require(not subject.waits, "must raise ValueError in tell for steps that only submit (waits=True), got none")
    (monitor,) = made
    require(len(result) == len(monitor.outcomes) > 10, f"must evaluate more than 10 actions once, got {len(result)}")
    outcomes = dict(monitor.outcomes)
    require({*outcomes} <= {*monitor.suggestions}, "must receive outcomes of its own actions only, got others")
    first = monitor.suggestions[:12]
    require(len(set(first)) == len(first), f"must not suggest a pending action again, got {first}")
    recommended = tuple(int(a) for a in np.atleast_1d(result.recommended))
    require(
        outcomes.get(recommended) == max(reward for _, reward in monitor.outcomes),
        f"must recommend the best evaluated action, got {recommended}, which was only submitted or is worse",
    )


AGENT_RULES: dict[str, Callable[[_Subject], None]] = {
    "interface": _interface, "actions": _actions, "repeatable": _repeatable, "seeded": _seeded,
    "hidden-state": _hidden_state, "late-results": _late_results,
}  # fmt: skip
"""Rules of agents by name."""
