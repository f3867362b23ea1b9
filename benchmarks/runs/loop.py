"""`run`: the loop between agents and one batched environment; checks of actions, withheld metrics, targets of runs."""

from __future__ import annotations

import contextlib
import functools
import itertools
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt
from gymnasium.vector import AutoresetMode

from hpo_envs import agents
from hpo_envs.agents import Agent, Problem
from hpo_envs.agents.problem import sealed
from hpo_envs.benchmarks.analysis.scales import Scales
from hpo_envs.benchmarks.runs.episodes import Episodes, arguments, is_live, made, seeds_of
from hpo_envs.benchmarks.runs.executors import AnyExecutor, calls_on
from hpo_envs.benchmarks.runs.frame import Runs
from hpo_envs.benchmarks.runs.limits import one_blas_thread
from hpo_envs.benchmarks.runs.pool import AgentPool
from hpo_envs.benchmarks.runs.record import EpisodeLog, copied, header_of_id, records
from hpo_envs.core.params import Checker, checker, is_integer, recommendation
from hpo_envs.families import registry
from hpo_envs.tables.catalogue import overlap
from hpo_envs.tables.checks import shown

if TYPE_CHECKING:
    from hpo_envs.benchmarks.runs.isolation import IsolatedProcess

Target = Callable[[Any, float], bool]
"""`target(action, reward) -> bool`: whether a run has reached its target; `action` has the row of the table."""

TOGETHER = 16
"""Largest number of seeds per call of an executor."""

MOST_SEEDS = 1_000_000
"""Largest number of seeds of a run or a study, so that a typing error does not fill the memory."""

_STRIPPED = ("held_out", "row", "action_mask", "status_code")


def problem_of(env: Any, transfer: str | None = None) -> Problem:
    """Return the problem that agents get on an environment, scalar or vectorized; `transfer` is that of `run`.

    Raises:
        ValueError: The environment has no such source tasks.
    """
    params, spec = env.unwrapped.params, env.unwrapped.spec
    excluded = registry.held_out_of([t.name for t in params.tables], spec and spec.id)
    sources: tuple[Any, ...] = ()
    if transfer:
        from hpo_envs.benchmarks.runs import transfer as tables

        sources = tables.sources_of(env, transfer).sources
    return Problem(**params.problem(), held_out=excluded, sources=sources)


def run(
    agent: str | Callable[..., Agent],
    env_id: str,
    seeds: Sequence[int],
    *,
    budget: float | None = None,
    target: Target | None = None,
    env_kwargs: Mapping[str, Any] | None = None,
    progress: bool | Callable[[int], object] | None = None,
    isolate: bool | str | os.PathLike[str] | IsolatedProcess = False,
    transfer: str | None = None,
    executor: AnyExecutor | None = None,
    **hyperparameters: Any,
) -> Runs:
    """Run an agent once for each seed and return the runs, a list with `.to_frame()`, `.best()` and `.plot()`.

    Seed 7 alone gives the same run as seed 7 among others.

    Args:
        agent: Registered name, `module:factory`, or a factory `(problem, seed, **hyperparameters) -> Agent`.
        env_id: Registered id.
        seeds: Distinct ints >= 0 and < 2**63, at least one. The agent and the environment get hashes of id and seed.
        budget: Budget of a run, which replaces the id's default budget, in the same unit.
        target: Function of an evaluation's action (with the table's row) and reward; a run stops once it returns True.
        env_kwargs: Arguments of the environment (`table=`, `objective=`, ...). If actions are configurations or arms of
            a table, they are shuffled in each episode unless `shuffle=False` is given.
        progress: Whether to show a bar; or a function, called with the number of evaluations since its last call.
        isolate: Whether the agents run in a separate process, which does not have the environment; or the
            interpreter of another environment; or an `IsolatedProcess` of this agent, which is reused.
        transfer: Meta-training tasks of all agents: tables of the id's family (`family`) or of a distribution
            (`NMTHPO`, `CharMini`, ...) that share no language with it; by default none. See `docs/transfer.md`.
        executor: Any `concurrent.futures.Executor`, or a factory of one, to which batches of seeds are submitted; all
            arguments must be picklable. Default: this process.
        **hyperparameters: Arguments of the agent.

    Returns:
        One run per seed, in the order of `seeds`.

    Raises:
        ValueError: The id or agent is unknown, another argument is invalid, or an agent suggests or recommends an
            invalid action.
        TypeError: The agent has no such argument.
        AgentError: An isolated agent failed.
    """
    registry.require_spec("env_id", env_id)
    seeds = _check_seeds(seeds)
    given: Any = dict(target=target, env_kwargs=env_kwargs, isolate=isolate, transfer=transfer, budget=budget)
    if executor is not None:
        return _elsewhere(functools.partial(run, agent, env_id, **given, **hyperparameters), seeds, executor, progress)
    hashed, own = map(list, zip(*(seeds_of(env_id, s) for s in seeds), strict=True))
    kwargs = arguments(env_id, {} if env_kwargs is None else env_kwargs)
    if budget is not None:
        kwargs["budget"] = budget
    if len(seeds) > 1 and is_live(env_id, kwargs):
        # In a batch, ended episodes would continue calling the function.
        return Runs(run(agent, env_id, [s], progress=progress, **given, **hyperparameters)[0] for s in seeds)
    envs = made(gym.make_vec, env_id, kwargs, num_envs=len(seeds), autoreset_mode=AutoresetMode.NEXT_STEP)
    who = f"{agent if isinstance(agent, str) else getattr(agent, '__qualname__', repr(agent))} on {env_id}"
    with contextlib.ExitStack() as stack:
        stack.enter_context(one_blas_thread())
        start = envs.reset(seed=hashed)
        episodes = Episodes.of(envs)
        problem = sealed(problem_of(envs, transfer))
        host = None
        if isolate is not False:
            from hpo_envs.benchmarks.runs.isolation import IsolatedProcess as Host

            host = isolate if isinstance(isolate, Host) else stack.enter_context(Host(agent, isolate))
        if host is not None:
            pool = host.pool(problem, own, hyperparameters, episodes.rows)
        else:
            pool = AgentPool(agents.make_each(agent, problem, own, hyperparameters, episodes.rows))
        check = checker(envs.single_action_space)
        whole = episodes.params.budget * len(seeds) if episodes.params.budget_unit == "evaluations" else None
        watch = stack.enter_context(_watch(progress, who, whole))
        logs, steps = _loop(envs, episodes, pool, start, seeds, target, watch, check, who)
        how = {"isolated": host is not None, "versions": host.versions() if host and host.elsewhere else None}
        shared = header_of_id(episodes.params, env_id, kwargs, agent, hyperparameters, **how)
        if transfer:
            from hpo_envs.benchmarks.runs.transfer import sources_of

            shared["transfer"] = sources_of(envs, transfer).header()
        answers, random = pool.recommend(), pool.random([len(log.costs) for log in logs])
        trained_on = pool.trained_on()
        headers, recommended = [], []
        scales = Scales(env_id, episodes.params, kwargs).headers(episodes.tables, episodes.shares)
        for i, (seed, answer, scale) in enumerate(zip(seeds, answers, scales, strict=True)):
            header = copied(shared) | {key: str(start[1][key][i]) for key in ("table", "kind", "sha256")}
            header |= {"seed": seed, "reset_seed": hashed[i]}
            if random[i]:
                header["random_search"] = True
            if seen := overlap(trained_on[i], problem.held_out):
                header["seen"] = seen
            header["scale"] = copied(scale)
            headers.append(header)
            try:
                recommended.append(recommendation(check, answer, envs.unwrapped.params.mutate is not None))
            except ValueError as error:
                raise ValueError(f"recommendation of {who}, seed {seed}, {error}") from None
        runs = records(logs, seeds, episodes, recommended, headers, steps)
    envs.close()
    return Runs(runs, {t.provenance.sha256: t for t in episodes.params.tables})


def _elsewhere(
    some: Callable[[list[int]], Runs],
    seeds: list[int],
    executor: AnyExecutor,
    progress: bool | Callable[[int], object] | None,
) -> Runs:
    """Return the runs of `seeds` in order, made in batches on an executor."""
    parts = [seeds[i : i + TOGETHER] for i in range(0, len(seeds), TOGETHER)]
    found: dict[int, Runs] = {}
    with _watch(progress, "runs", None) as watch, calls_on(executor) as calls:
        for i, runs in calls.map(some, parts):
            found[i] = runs
            if watch is not None:
                watch(sum(map(len, runs)))
    return sum((found[i] for i in range(len(parts))), Runs())


@contextlib.contextmanager
def _watch(
    progress: bool | Callable[[int], object] | None, name: str, total: float | None
) -> Iterator[Callable[[int], object] | None]:
    """Yield the progress callback: the given function, the update of a bar, or None."""
    if progress is not True:
        if progress and not callable(progress):
            raise ValueError(f"progress must be True, False or a function, got {shown(progress)}")
        yield progress or None
        return
    from tqdm.auto import tqdm

    with tqdm(total=total, desc=name, unit=" evaluations") as bar:
        yield bar.update


def _loop(
    envs: Any,
    episodes: Episodes,
    pool: AgentPool,
    start: tuple[npt.NDArray[Any], Mapping[str, Any]],
    seeds: list[int],
    target: Target | None,
    progress: Callable[[int], object] | None,
    check: Checker,
    who: str,
) -> tuple[list[EpisodeLog], npt.NDArray[np.float32]]:
    """Step the batch until every episode has ended, its agent is done or its target is met.

    Returns the logs, and (steps, 2) seconds of `ask` and `tell` per running episode.

    Results of the environment are logged before they are passed to the agent, which gets copies. `start` is the result
    of `reset`.
    """
    observations, infos = start
    logs, several = [EpisodeLog() for _ in seeds], episodes.params.moves > 1
    uneven = several or episodes.params.kind == "arms"  # a step may be no evaluation, or several
    steps: list[tuple[float, float]] = []
    counted = 0
    in_no_table = episodes.params.kind == "box" or (episodes.params.live and not several)  # a cell has its moves
    running, process = list(range(len(seeds))), os.getpid()
    # Episodes that ended keep being stepped with this harmless action; what they return is dropped.
    envs.single_action_space.seed(0)
    idle = envs.single_action_space.sample()
    batch = np.stack([np.asarray(idle)] * len(seeds))
    while running:
        begun = time.perf_counter()
        if pool.observes:
            masks = infos["action_mask"][running] if "action_mask" in infos else None
            pool.observe(running, observations[running], masks)
        asked = []
        for i, action in zip(running, pool.ask(running), strict=True):
            try:
                asked.append(check(action))
            except ValueError as error:
                number = len(logs[i].costs)
                raise ValueError(f"action {number} of {who}, seed {seeds[i]}, {error}") from None
        asking = time.perf_counter() - begun
        if os.getpid() != process:  # a child that an agent forked has returned, too: the parent has the run
            os._exit(0)
        batch[running] = asked
        observations, rewards, terminated, _, infos = envs.step(batch)
        chosen = None if len(running) == len(seeds) else running
        told, rewards, ended = _rows(infos, chosen), _listed(rewards, chosen), _listed(terminated, chosen)
        if "action" in infos:
            asked = [info.pop("action") for info in told]
        if "spent" in infos:  # agents know costs in the unit of their budget
            for info in told:
                info["price"], info["cost"] = info["cost"], info.pop("spent")
        rows = episodes.in_tables(running, asked)
        for k, (i, row, reward, info) in enumerate(zip(running, rows, rewards, told, strict=True)):
            if several:
                logs[i].move(row, info["finished"])
            if info.get("finished", True):
                logs[i].add(row, reward, info)
                if in_no_table:
                    logs[i].configs.append(dict(info["config"]))
                if target is not None and target(row, reward):  # called on the last evaluation, too: it may count
                    ended[k] = True
        begun = time.perf_counter()
        done = pool.tell(running, asked, rewards, told)
        steps.append((asking / len(running), (time.perf_counter() - begun) / len(running)))
        for i in running if uneven else ():
            logs[i].ends.append(len(logs[i].costs))
        if progress is not None:
            before, counted = counted, sum(len(log.costs) for log in logs)
            progress(counted - before)
        for i, stop in zip(running, done, strict=True):
            if not isinstance(stop, (bool, np.bool_)):
                raise ValueError(f"done of {who}, seed {seeds[i]}, must be True or False, got {shown(stop)}")
        running = [i for i, over, stop in zip(running, ended, done, strict=True) if not (over or stop)]
    return logs, np.array(steps, np.float32).reshape(-1, 2)


def _rows(infos: Mapping[str, Any], chosen: list[int] | None) -> list[dict[str, Any]]:
    """Return one info dict per chosen episode (None: all), without masks, rows, status codes and held-out metrics."""
    names = tuple(k for k in infos if k[0] != "_" and k not in _STRIPPED)
    columns = [_rows(v, chosen) if isinstance(v := infos[k], dict) else _listed(v, chosen) for k in names]
    return [*map(dict, map(zip, itertools.repeat(names), zip(*columns, strict=True)))]


def _listed(values: npt.NDArray[Any], chosen: list[int] | None) -> list[Any]:
    """Return the entries of the chosen episodes (None: all) as a list, which is read faster than an array."""
    if chosen is not None:
        values = values[chosen]
    return values.tolist() if values.ndim == 1 else list(np.array(values))


def _check_seeds(seeds: Iterable[int]) -> list[int]:
    listed = list(itertools.islice(seeds, MOST_SEEDS + 1)) if np.iterable(seeds) else []
    for s in listed:
        if not is_integer(s) or not 0 <= s < 2**63:
            raise ValueError(f"seeds must be ints >= 0 and below 2**63, got {shown(s)}")
    if not 0 < len(listed) <= MOST_SEEDS or len(set(listed)) < len(listed):
        raise ValueError(f"seeds must be 1 to {MOST_SEEDS} distinct ints, got {shown(seeds)}")
    return [int(s) for s in listed]
