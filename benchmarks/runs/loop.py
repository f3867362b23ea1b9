"""The run loop: k agents on one batched environment of k episodes, and what it records."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import inspect
import json
import platform
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt
from gymnasium.vector import AutoresetMode
from threadpoolctl import threadpool_limits

import hpo_envs
from hpo_envs import agents, registry
from hpo_envs.agents import Agent, Problem
from hpo_envs.agents.problem import private, sealed
from hpo_envs.benchmarks import actions, sources
from hpo_envs.benchmarks.crew import Crew, LocalCrew
from hpo_envs.benchmarks.episodes import Episodes, seeds_of
from hpo_envs.benchmarks.isolation import Host
from hpo_envs.benchmarks.scales import Scales
from hpo_envs.core.params import is_integer, kind_of, shown
from hpo_envs.registry import SPECS
from hpo_envs.tables.table import STATUSES, nearest

Target = Callable[[Any, float], bool]
"""`target(action, reward) -> bool`: whether a run has reached what it was meant to find. Agents never see it."""

_STRIPPED = ("held_out", "row")


@dataclass(frozen=True)
class Run:
    """One agent's episode.

    Attributes:
        seed: Seed as it was given; agent and environment get what `episodes.seeds_of` makes of it.
        actions: One entry per evaluation: (k,) ints, or (k, ...) arrays. Rows are the table's, whatever the episode's
            own order of them.
        rewards: (k,) or (k, objectives) float64, higher is better.
        costs: (k,) float64 in `header["cost_unit"]`, which is the unit of the budget.
        recommended: The action that the agent recommends at the end; a row of it is the table's, too.
        header: What was run: env id and arguments, order and share of the rows, table name, kind and sha256, what
            scores are measured with (`scales.Scale`), agent and hyperparameters, versions, and the digests of the
            source of every module that the agent and the environment import; `random_search` where the agent had no
            evaluation in which it could have differed from that; `seen` where its weights were fitted to tables of the
            problem's languages, with these.
        evaluated: What is known of each evaluation besides, (k, ...) arrays by name: `row`, `level` and `repeat` of the
            table (int32) where one answered; `status` (int8, index in `STATUSES`); and for arms and tables with repeats
            `truth`, shaped as the rewards: what the row's repeats have at that level on average. Where several actions
            make one evaluation, `move` has all of them (int8), then -1. Where the
            budget is not counted in the environment's cost unit, `price` (float64): what each evaluation cost in that.
        recommended_truth: What all repeats of the recommended action have on average, where a table says so.
    """

    seed: int
    actions: npt.NDArray[Any]
    rewards: npt.NDArray[np.float64]
    costs: npt.NDArray[np.float64]
    recommended: Any
    header: dict[str, Any]
    evaluated: Mapping[str, npt.NDArray[Any]] = dataclasses.field(default_factory=dict)
    recommended_truth: Any = None

    def __len__(self) -> int:
        return len(self.costs)


def problem_of(env: Any) -> Problem:
    """What agents may know of an environment, scalar or batched, before its first evaluation."""
    params, spec = env.unwrapped.params, env.unwrapped.spec
    excluded = registry.languages_of([t.name for t in params.tables], spec and spec.id)
    return Problem(**params.problem(), excluded=excluded)


def run(
    agent: str | Callable[..., Agent],
    env_id: str,
    seeds: Sequence[int],
    *,
    budget: float | None = None,
    target: Target | None = None,
    env_kwargs: Mapping[str, Any] | None = None,
    progress: Callable[[int], object] | None = None,
    isolate: bool | Host = False,
    **hyperparameters: Any,
) -> list[Run]:
    """Runs an agent once per seed and returns what happened.

    Seed 7 alone gives the same run as seed 7 among others.

    Args:
        agent: Registered name, or a factory `(problem, seed, **hyperparameters) -> Agent`; where it is isolated,
            `module:factory` will do.
        env_id: Registered id.
        seeds: Distinct seeds. Agent and environment are seeded with a hash of the id and of each.
        budget: Replaces the id's default budget, in its cost unit.
        target: Stops a run once it returns True for an evaluation.
        env_kwargs: Arguments of the environment (`table=`, `objective=`, ...). Where actions are rows, each episode has
            its own order of them unless `order="table"` is among the arguments.
        progress: Called with the number of evaluations done since the last call.
        isolate: Whether the agents run in a process of their own, which knows the problem and nothing else; or such a
            process of this agent, to be used again.
        **hyperparameters: Arguments of the agent.

    Returns:
        One run per seed, in the order of `seeds`.

    Raises:
        ValueError: Unknown id or agent, seeds that are not distinct ints >= 0, or an agent that asks for or recommends
            what is no action.
        AgentError: An isolated agent failed in whatever way.
    """
    if registry.find(env_id) is None:
        raise ValueError(f"env_id must be a registered id (hpo-envs list), got {env_id!r}{nearest(env_id, [*SPECS])}")
    seeds = _check_seeds(seeds)
    hashed, own = map(list, zip(*(seeds_of(env_id, s) for s in seeds), strict=True))
    kwargs = arguments(env_id, env_kwargs or {})
    if budget is not None:
        kwargs["budget"] = budget
    if len(seeds) > 1 and _LIVE.get(env_id):
        # Side by side, episodes that have ended would go on calling the function.
        given: Any = {"target": target, "env_kwargs": kwargs, "progress": progress, "isolate": isolate}
        return [run(agent, env_id, [seed], **given, **hyperparameters)[0] for seed in seeds]
    envs: Any = gym.make_vec(env_id, num_envs=len(seeds), autoreset_mode=AutoresetMode.NEXT_STEP, **kwargs)
    name = agent if isinstance(agent, str) else getattr(agent, "__qualname__", repr(agent))
    with contextlib.ExitStack() as stack:
        stack.enter_context(one_blas_thread())
        _, info = envs.reset(seed=hashed)
        episodes = Episodes.of(envs)
        problem = sealed(problem_of(envs))
        if isolate is True:
            isolate = stack.enter_context(Host(agent))
        hire = isolate.crew if isolate else functools.partial(_local, agent)
        crew = hire(problem, own, hyperparameters, episodes.rows)
        check = actions.checker(envs.single_action_space)
        scales = Scales(env_id, episodes.params, kwargs)
        logs = _loop(envs, episodes, crew, seeds, target, progress, check, f"{name} on {env_id}")
        tables = info["table"], info["kind"], info["sha256"]
        shared = json.dumps(header_of(envs, agent, env_id, kwargs, hyperparameters, isolated=bool(isolate)))
        runs = []
        recommended, random = crew.recommend(), crew.random([len(log.costs) for log in logs])
        trained_on = crew.trained_on()
        for i, (seed, log, last) in enumerate(zip(seeds, logs, recommended, strict=True)):
            header = json.loads(shared)  # a copy, four times faster than copy.deepcopy
            header |= {"table": str(tables[0][i]), "kind": str(tables[1][i]), "sha256": str(tables[2][i]), "seed": seed}
            if random[i]:
                header["random_search"] = True
            if seen := sorted(set(trained_on[i]) & set(problem.excluded)):
                header["seen"] = seen
            header["scale"] = scales.of(*episodes.part(i)).header()
            try:
                last = actions.recommendation(check, last, envs.unwrapped.params.mutate is not None)
            except ValueError as error:
                raise ValueError(f"what {name} on {env_id}, seed {seed}, recommends {error}") from None
            runs.append(log.run(seed, episodes, i, last, header))
    envs.close()
    return runs


def _local(
    agent: str | Callable[..., Agent],
    problem: Problem,
    seeds: Sequence[int],
    hyperparameters: Mapping[str, Any],
    rows: npt.NDArray[np.int64] | None,
) -> Crew:
    make = functools.partial(agents.make, agent) if isinstance(agent, str) else agent
    each = [None] * len(seeds) if rows is None else rows
    return LocalCrew([make(private(problem, s, r), s, **hyperparameters) for s, r in zip(seeds, each, strict=True)])


def arguments(env_id: str, env_kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments of an environment on which agents are compared: an order of the rows for each episode, where that is.

    Args:
        env_id: Registered id.
        env_kwargs: Arguments given; they win.

    Raises:
        ValueError: An order or a share of rows where actions are none.
    """
    if has_rows(env_id, {k: v for k, v in env_kwargs.items() if k not in ("order", "share")}):
        return {"order": "episode", **env_kwargs}
    for name in ("order", "share"):
        if name in env_kwargs:
            raise ValueError(
                f"{name} must be left alone on {env_id}, whose actions are no rows, got {env_kwargs[name]!r}"
            )
    return dict(env_kwargs)


_KINDS: dict[str, str | None] = {}
"""What an action is on the ids that were asked for so far; no argument changes that, but on a function of one's own."""

_LIVE: dict[str, bool] = {}
"""Whether a step on an id that was asked for calls a function."""


def kind_of_action(env_id: str, env_kwargs: Mapping[str, Any]) -> str | None:
    """What an action of an id is, see `hpo_envs.core.params.Kind`; None where it is nothing of this suite."""
    if env_id not in _KINDS:
        env: Any = gym.make(env_id, disable_env_checker=True, **env_kwargs)
        _KINDS[env_id], _LIVE[env_id] = kind_of(env), env.unwrapped.params.live
        env.close()
    return _KINDS[env_id]


def has_rows(env_id: str, env_kwargs: Mapping[str, Any]) -> bool:
    """Whether an id's actions are rows or arms of its table, alone or with a checkpoint."""
    # The candidates of a function are in an order that says nothing already.
    return kind_of_action(env_id, env_kwargs) in ("rows", "fidelity", "arms") and not _LIVE[env_id]


def one_blas_thread() -> threadpool_limits:
    """A context in which BLAS uses one thread; small kernels are ten times slower with two.

    Only libraries that are loaded already are limited, so SciPy's is loaded first.
    """
    import scipy.linalg  # noqa: F401

    return threadpool_limits(limits=1, user_api="blas")


@dataclass
class _Log:
    actions: list[Any] = dataclasses.field(default_factory=list)
    rewards: list[Any] = dataclasses.field(default_factory=list)
    costs: list[float] = dataclasses.field(default_factory=list)
    statuses: list[int] = dataclasses.field(default_factory=list)
    moves: list[list[Any]] = dataclasses.field(default_factory=lambda: [[]])
    prices: list[float] = dataclasses.field(default_factory=list)

    def run(self, seed: int, episodes: Episodes, i: int, recommended: Any, header: dict[str, Any]) -> Run:
        actions, recommended = np.array(self.actions), episodes.in_table(i, recommended)
        truth = episodes.truth(np.array([i]), np.asarray(recommended)[None])
        evaluated = {
            **episodes.evaluated(np.full(len(actions), i), actions),
            "status": np.array(self.statuses, np.int8),
        }
        if self.prices:
            evaluated["price"] = np.array(self.prices, dtype=np.float64)
        if (most := episodes.params.moves) > 1:
            evaluated["move"] = np.full((len(actions), most, *actions.shape[1:]), -1, np.int8)
            for row, moves in zip(evaluated["move"], self.moves, strict=False):  # the last may be unfinished
                row[: len(moves)] = moves
        return Run(
            seed,
            actions,
            np.array(self.rewards, dtype=np.float64),
            np.array(self.costs, dtype=np.float64),
            recommended,
            header,
            evaluated,
            None if truth is None else truth[0],
        )

    def move(self, action: Any, finished: bool) -> None:
        """Keeps an action of an evaluation that takes several."""
        self.moves[-1].append(action)
        if finished:
            self.moves.append([])

    def add(self, action: Any, reward: Any, info: Mapping[str, Any]) -> None:
        scores, status = info.get("scores"), STATUSES.index(info["status"])
        if "price" in info:
            self.prices.append(info["price"])
        if scores is None:
            self.actions.append(action)
            self.rewards.append(reward)
            self.costs.append(info["cost"])
            self.statuses.append(status)
            return
        # A batch of pulls is one entry per pull; the cost is shared equally.
        scores = np.atleast_1d(scores)
        self.actions.extend(np.atleast_1d(action).tolist())
        self.rewards.extend(scores.tolist())
        self.costs.extend([info["cost"] / len(scores)] * len(scores))
        self.statuses.extend([status] * len(scores))


def _loop(
    envs: Any,
    episodes: Episodes,
    crew: Crew,
    seeds: list[int],
    target: Target | None,
    progress: Callable[[int], object] | None,
    check: actions.Checker,
    who: str,
) -> list[_Log]:
    """Steps all episodes side by side until every one has ended, its agent is done or its target is met.

    What is recorded is what the environment did: it is logged before the agent sees any of it, and the agent gets
    copies.
    """
    logs, several = [_Log() for _ in seeds], episodes.params.moves > 1
    running = list(range(len(seeds)))
    # Episodes that ended keep being stepped with this harmless action; what they return is dropped.
    envs.single_action_space.seed(0)
    idle = envs.single_action_space.sample()
    batch = np.stack([np.asarray(idle)] * len(seeds))
    while running:
        asked = []
        for i, action in zip(running, crew.ask(running), strict=True):
            try:
                asked.append(check(action))
            except ValueError as error:
                number = len(logs[i].costs)
                raise ValueError(f"action {number} of {who}, seed {seeds[i]}, {error}") from None
        for i, action in zip(running, asked, strict=True):
            batch[i] = action
        _, rewards, terminated, _, infos = envs.step(batch)
        chosen = None if len(running) == len(seeds) else running
        evaluated, told, ended = [], _rows(infos, chosen), []
        rewards = _listed(rewards, chosen)
        for i, action, reward, over, info in zip(
            running, asked, rewards, _listed(terminated, chosen), told, strict=True
        ):
            action = info.pop("action", action)
            if "spent" in info:  # agents know costs in the unit of their budget
                info["price"], info["cost"] = info["cost"], info.pop("spent")
            evaluated.append(action)
            stop = False
            if several:
                logs[i].move(action, info["finished"])
            if info.get("finished", True):
                row = episodes.in_table(i, action)
                logs[i].add(row, reward, info)
                stop = target is not None and target(row, reward)
            ended.append(over or stop)
        done = crew.tell(running, evaluated, rewards, told)
        if progress is not None:
            progress(len(running))
        for i, stop in zip(running, done, strict=True):
            if not isinstance(stop, (bool, np.bool_)):
                raise ValueError(f"done of {who}, seed {seeds[i]}, must be True or False, got {shown(stop)}")
        running = [i for i, over, stop in zip(running, ended, done, strict=True) if not (over or stop)]
    return logs


def _rows(infos: Mapping[str, Any], chosen: list[int] | None) -> list[dict[str, Any]]:
    """The batched info as one dict an episode, without masks and held-out metrics."""
    names = [k for k in infos if k[0] != "_" and k not in _STRIPPED]
    columns = [_rows(v, chosen) if isinstance(v := infos[k], dict) else _listed(v, chosen) for k in names]
    return [dict(zip(names, values, strict=True)) for values in zip(*columns, strict=True)]


def _listed(values: npt.NDArray[Any], chosen: list[int] | None) -> list[Any]:
    """The entries of the chosen episodes, numbers as Python's own: a list is read faster than an array."""
    if chosen is not None:
        values = values[chosen]
    return values.tolist() if values.ndim == 1 else list(np.array(values))


def _check_seeds(seeds: Iterable[int]) -> list[int]:
    listed = list(seeds)
    for s in listed:
        if not is_integer(s) or s < 0:
            raise ValueError(f"seeds must be ints >= 0, got {shown(s)}")
        if s >= 2**63:
            raise ValueError(f"seeds must be below 2**63, got {shown(s)}")
    if not listed or len(set(listed)) != len(listed):
        raise ValueError(f"seeds must be distinct and at least one, got {listed!r}")
    return [int(s) for s in listed]


def header_of(
    envs: Any,
    agent: str | Callable[..., Agent],
    env_id: str,
    env_kwargs: Mapping[str, Any],
    hyperparameters: Mapping[str, Any],
    isolated: bool = False,
) -> dict[str, Any]:
    """What is known of runs before they start; all of it is plain JSON.

    Args:
        envs: An environment of the id, scalar or batched, made with `env_kwargs`.
        agent: As of `run`.
        env_id: Registered id.
        env_kwargs: Arguments of the environment; which table answers is said by name, kind and sha256 of each run.
        hyperparameters: Arguments of the agent.
        isolated: Whether the agent has a process of its own.
    """
    header = {
        "env": env_id,
        "env_kwargs": {k: v for k, v in env_kwargs.items() if k not in ("table", "order", "share")},
        "order": envs.unwrapped.params.view.order,
        "share": float(envs.unwrapped.params.view.share),
        "budget": float(envs.unwrapped.budget),
        "cost_unit": envs.unwrapped.params.budget_unit,
        "objectives": list(envs.unwrapped.objectives),
        "agent": agent if isinstance(agent, str) else getattr(agent, "__qualname__", repr(agent)),
        "hyperparameters": dict(hyperparameters),
        "agent_versions": _extra_version(agent),
        "agent_source": sources.of_agent(agent),
        "environment_source": sources.of_environment(registry.find(env_id).vector_entry_point),  # type: ignore[union-attr]
        "versions": {"hpo_envs": hpo_envs.__version__, "python": platform.python_version(), **_versions()},
    }
    if isolated:
        header["isolated"] = True
    plain: dict[str, Any] = json.loads(json.dumps(header, default=_jsonable))
    return plain


@functools.cache
def _versions() -> dict[str, str]:
    return {name: version(name) for name in ("numpy", "gymnasium", "scipy", "scikit-learn")}


def _extra_version(agent: Any) -> dict[str, str]:
    """Version of the optional package that an agent is made of; extras are named as their package."""
    extra = agents.entry(agent).extra if isinstance(agent, str) and ":" not in agent else None
    return {extra: version(extra)} if extra else {}


def _jsonable(value: Any) -> Any:
    if isinstance(value, (np.integer, np.floating)):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    if inspect.isroutine(value):  # a repr would name its place in memory
        return f"{value.__module__}:{value.__qualname__}"
    return repr(value)
