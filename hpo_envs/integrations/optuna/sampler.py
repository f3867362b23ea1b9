"""Agents as samplers of Optuna: `optuna.create_study(sampler=AgentSampler("bo"))`."""

import math
import threading
from collections.abc import Callable, Sequence
from typing import Any

import gymnasium as gym
import numpy as np

from hpo_envs import agents
from hpo_envs.agents.base import Agent
from hpo_envs.agents.problem import Problem
from hpo_envs.core.engines.function.params import MOST_CANDIDATES
from hpo_envs.core.params import check_int
from hpo_envs.tables.checks import extra_module, shown
from hpo_envs.tables.table import Hyperparameter, feature_matrix
from hpo_envs.tables.user.space import Points, axes_of
from hpo_envs.tuning.constraints import breaks

optuna = extra_module("optuna", "optuna", "samplers")

CONSTRAINTS = "constraints"
"""Key of a trial's constraints, as in Optuna's own samplers."""

LISTED = 1000
"""Largest number of steps of a range at which its values are listed; with more, suggestions are rounded to steps."""


class AgentSampler(optuna.samplers.BaseSampler):  # type: ignore[misc,name-defined]
    """Optuna sampler that uses an agent of this suite.

    Agents for featured rows choose among a finite set of candidates: the whole grid if it has at most `candidates`
    points, else at most as many seeded quasi-random points of the search space. Features are scaled to [0, 1]; a choice
    has one 0/1 feature per value. Agents for boxes get the unit cube with one coordinate per parameter, on which the
    values of a list have equal parts.

    The search space has all parameters suggested in any trial so far, including conditional ones; a new parameter is
    drawn at random in its first trial, as all are in the first trial. Several trials may run at once; how running ones
    count depends on the agent. Failed or pruned trials are reported as failed, those that violate a constraint with the
    worst reward of feasible trials. Successful trials that the sampler did not suggest, such as those of an earlier
    session, are reported at the nearest candidate. A sampler that was saved and loaded recreates its agent.

    Complexity: that of the agent on `candidates` rows.

    Args:
        agent: Name of an agent for featured rows or boxes, see `hpo_envs.agents.names()`.
        seed: Seed of candidates and agent.
        candidates: Largest size of the candidate set.
        constraints_func: Function of a finished trial that returns its constraints, as in Optuna's own samplers; the
            trial is feasible if all are at most 0.
        **hyperparameters: Arguments of the agent.

    Raises:
        ValueError: The agent does not exist or supports neither rows nor boxes, or `candidates` < 2. When a trial
            starts: there are more than two objectives, or the agent does not support their number.
    """

    def __init__(
        self, agent: str = "bo", *, seed: int | None = None, candidates: int = 1000,
        constraints_func: Callable[[Any], Sequence[float]] | None = None, **hyperparameters: Any,
    ) -> None:  # fmt: skip
        supports = set(agents.entry(agent).supports)
        if not {"rows", "objectives", "box"} & supports:
            kinds = ", ".join(agents.entry(agent).supports)
            raise ValueError(f"agent must work on featured rows or boxes, got {agent!r}, which works on {kinds}")
        if not (constraints_func is None or callable(constraints_func)):
            raise ValueError(f"constraints_func must be None or callable, got {shown(constraints_func)}")
        self._name, self._hyperparameters, self._count = (
            agent,
            hyperparameters,
            check_int("candidates", candidates, 2, MOST_CANDIDATES),
        )
        seed = None if seed is None else check_int("seed", seed, 0, 2**32 - 1)
        self._constraints = constraints_func
        self._finite = bool({"rows", "objectives"} & supports)
        self._independent = optuna.samplers.RandomSampler(seed=seed)
        self._rng = np.random.default_rng(seed)
        self._space: dict[str, Any] | None = None
        self._asked: dict[int, Any] = {}
        self._lock = threading.RLock()

    def __getstate__(self) -> dict[str, Any]:
        # Agents may hold generators, which cannot be saved: a copy makes a new one and reports finished trials to it.
        return {k: v for k, v in self.__dict__.items() if k not in ("_lock", "_agent")} | {"_space": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock = threading.RLock()

    def reseed_rng(self) -> None:
        """Reseed sampler and agent but keep observations, because Optuna calls this before trials with `n_jobs` > 1."""
        self._independent.reseed_rng()
        with self._lock:
            self._rng = np.random.default_rng()
            if self._space is not None:
                self._agent.rng = np.random.default_rng()

    def before_trial(self, study: Any, trial: Any) -> None:
        """Raise a ValueError if a study has more than two objectives, or a number that the agent does not support."""
        supports, count = agents.entry(self._name).supports, len(study.directions)
        if count > 2:
            raise ValueError(f"objectives must be at most 2 for AgentSampler, got {count}")
        if count > 1 and "objectives" not in supports:
            raise ValueError(f"agent must work on several objectives for this study, got {self._name!r}")
        if count == 1 and supports == ("objectives",):
            raise ValueError(f"agent must work on one objective for this study, got {self._name!r}")

    def after_trial(self, study: Any, trial: Any, state: Any, values: Any) -> None:
        """Store the values of `constraints_func`, if given, in a complete or pruned trial, as Optuna's samplers do."""
        if self._constraints is not None and state.name in ("COMPLETE", "PRUNED"):
            broken = tuple(map(float, self._constraints(trial)))
            study._storage.set_trial_system_attr(trial._trial_id, CONSTRAINTS, broken)

    def infer_relative_search_space(self, study: Any, trial: Any) -> dict[str, Any]:
        """Return the distributions of the parameters of all trials so far, by name, without those of a single value.

        Ranges that differ between trials are united if type, scale and step are equal; otherwise the later one counts.
        """
        space: dict[str, Any] = {}
        for each in study.get_trials(deepcopy=False):
            for name, d in each.distributions.items():
                space[name] = _hull(space[name], d) if name in space else d
        return {name: d for name, d in sorted(space.items()) if not d.single()}

    def sample_independent(self, study: Any, trial: Any, param_name: str, param_distribution: Any) -> Any:
        """Return a random value, for a parameter that is new or whose suggestion is outside its range in this trial."""
        self.before_trial(study, trial)
        return self._independent.sample_independent(study, trial, param_name, param_distribution)

    def sample_relative(self, study: Any, trial: Any, search_space: dict[str, Any]) -> dict[str, Any]:
        """Return the agent's next point, by parameter, or a random one if the agent is done or no candidate is left.

        If no parameter varies, the result is empty.
        """
        self.before_trial(study, trial)
        space = {name: d for name, d in search_space.items() if not d.single()}
        if not space:
            return {}
        with self._lock:
            if space != self._space:
                self._begin(space, study)
            self._hear(study)
            used = self._finite and self._used.all()
            action = self._random() if self._agent.done or used else self._agent.ask()
            if not self._agent.done:
                self._asked[trial.number] = action
            if self._finite:
                self._used[int(action)] = True
            return self._values(action)

    def _begin(self, space: dict[str, Any], study: Any) -> None:
        """Draw candidates and create the agent for a new search space, without observations."""
        self._space, self._points = space, Points(tuple(_hyperparameter(n, d) for n, d in space.items()))
        seed, objectives = int(self._rng.integers(2**31)), len(study.directions)
        self._raw = self._points.candidates(self._count, seed) if self._finite else np.empty((0, len(space)))
        self._used = np.zeros(len(self._raw), bool)
        if self._finite:
            names, features = feature_matrix(self._points.space, self._raw)
            problem = Problem(gym.spaces.Discrete(len(features)), features, names, objectives=objectives)
        else:
            axes: Any = axes_of(self._points.space)
            problem = Problem(gym.spaces.Box(0.0, 1.0, (len(space),), np.float64), objectives=objectives, axes=axes)
        self._asked = {n: self._action_of(study.trials[n].params) for n in self._asked}
        try:
            self._agent: Agent = agents.make(self._name, problem, seed, **self._hyperparameters)
        except TypeError as error:
            given = shown(self._hyperparameters)
            raise ValueError(f"hyperparameters must be arguments of {self._name}, got {given}: {error}") from None
        self._told: set[int] = set()

    def _values(self, action: Any) -> dict[str, Any]:
        """Return the values that an action suggests, by parameter."""
        raw = self._raw[int(action)] if self._finite else self._points.raw(np.asarray(action)[None])[0]
        return {name: _value(d, v) for (name, d), v in zip((self._space or {}).items(), raw.tolist(), strict=True)}

    def _random(self) -> Any:
        """Return a random action; among candidates, an unused one if any is left."""
        if not self._finite:
            return self._rng.random(len(self._points.space))
        free = np.flatnonzero(~self._used)
        return int(self._rng.choice(free if len(free) else len(self._used)))

    def _hear(self, study: Any) -> None:
        """Report newly finished trials to the agent, once one has succeeded.

        Trials that the agent did not suggest are reported only if they succeeded and the agent learns from them.
        """
        signs = np.array([1.0 if d.name == "MAXIMIZE" else -1.0 for d in study.directions])
        finished = {t.number: t for t in study.get_trials(deepcopy=False) if t.state.is_finished()}
        rewards = {n: signs * t.values for n, t in finished.items() if _complete(t)}
        if not rewards:
            return
        worst = np.min([*rewards.values()], axis=0)
        for number in sorted(finished.keys() - self._told):
            known = number in self._asked
            if not known and (number not in rewards or not self._agent.listens):
                continue
            self._told.add(number)
            params = finished[number].params
            action = self._asked.pop(number) if known else None
            # Enqueued trials, and those with other ranges, do not have the values that were suggested.
            other = known and any(params.get(n, v) != v for n, v in self._values(action).items())
            if not known or (other and self._agent.listens):
                action = self._action_of(params)
            # As failures, trials that violate a constraint would not show a model where it is violated.
            status = "failed" if number not in rewards and not breaks(finished[number]) else "ok"
            reward, info = rewards.get(number, worst), {"cost": 1.0, "metrics": {}, "status": status}
            self._agent.tell(action, float(reward[0]) if len(reward) == 1 else reward, info)

    def _action_of(self, params: dict[str, Any]) -> Any:
        """Return the action nearest to a trial's parameters, ignoring missing ones; mark a candidate as used."""
        assert self._space is not None
        known = np.array([name in params for name in self._space])
        raw = [d.to_internal_repr(params[n]) if n in params else 0.0 for n, d in self._space.items()]
        x = self._points.unit(np.array(raw, np.float64)[None])
        if not self._finite:
            return np.where(known, x[0], 0.5)
        apart = (self._points.unit(self._raw) - x)[:, known]
        choices = np.array([h.kind == "categorical" for h in self._points.space])[known]
        row = int(np.where(choices, apart != 0.0, apart**2).sum(axis=1).argmin())
        self._used[row] = True
        return row


def _complete(trial: Any) -> bool:
    """Return whether a trial has finite values and is feasible."""
    return trial.state.name == "COMPLETE" and all(map(math.isfinite, trial.values)) and not breaks(trial)


def _hull(one: Any, other: Any) -> Any:
    """Return the union of two ranges of equal type, scale and step; for other distributions, the second one."""
    alike = type(one) is type(other) and hasattr(one, "low") and (one.log, one.step) == (other.log, other.step)
    if one == other or not alike:
        return other
    return type(one)(min(one.low, other.low), max(one.high, other.high), log=one.log, step=one.step)


def _hyperparameter(name: str, d: Any) -> Hyperparameter:
    """Convert a distribution to a hyperparameter of Optuna's stored values, in which choices are indices."""
    if hasattr(d, "choices"):
        return Hyperparameter(name, "categorical", 0.0, len(d.choices) - 1.0, values=tuple(range(len(d.choices))))
    kind: Any = "int" if isinstance(d.low, int) else "float"
    steps = 0.0 if d.step is None or d.log or (kind == "int" and d.step == 1) else (d.high - d.low) / d.step
    values = tuple(d.low + i * d.step for i in range(round(steps) + 1)) if 0.0 < steps <= LISTED else ()
    return Hyperparameter(name, kind, float(d.low), float(d.high), d.log, values)


def _value(d: Any, stored: float) -> Any:
    """Return the value of a parameter from Optuna's stored number, on the nearest step."""
    if getattr(d, "step", None) is not None and not d.log:
        stored = min(d.low + round((stored - d.low) / d.step) * d.step, d.high)
    return d.to_external_repr(stored)
