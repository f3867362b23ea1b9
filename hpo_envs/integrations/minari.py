"""Runs as Minari datasets, for offline reinforcement learning. Needs the extra `interop`."""

from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium as gym
import numpy as np

from hpo_envs.benchmarks.analysis.scales import of_header as scales_of
from hpo_envs.benchmarks.runs import Run, problem_of, run
from hpo_envs.benchmarks.runs.episodes import is_live, seeds_of
from hpo_envs.benchmarks.runs.record import table_apart
from hpo_envs.families import registry
from hpo_envs.tables import VERSION
from hpo_envs.tables.checks import extra_module

EPISODES = 100
"""Number of episodes of random search whose mean return is the lower reference score."""


def to_minari(
    runs: Sequence[Run], dataset_id: str, *, env_kwargs: Mapping[str, Any] | None = None, **facts: Any
) -> Any:
    """Write runs of one environment as a Minari dataset, one episode per run.

    Saved runs have no observations: each is replayed, and must reproduce its rewards. The cost of each step is in the
    episode's infos, `cost` ((steps + 1, 1) float64, 0 at reset). An episode that stopped before its environment ended
    it (a target, a confident agent) is truncated. `dataset.recover_environment()` recreates the environment by id, also
    for evaluation; with `table=`, the data set has only the spaces. Reference scores are the mean return of `EPISODES`
    episodes of random search and that of an agent that gets the best known reward at each step. With `table=`, a live
    function or no known best there are none, unless `ref_min_score` and `ref_max_score` are given.

    Args:
        runs: Runs on one environment with one objective (Minari's rewards are numbers) and one entry per step: no
            parallel workers, batches of pulls, or cells built node by node.
        dataset_id: Name of the data set in Minari, such as `hpo/nmthpo-swen/bo-v0`.
        env_kwargs: Arguments of the environment that headers lack: `table=` if the runs were on an unsaved table, or
            `max_episode_steps=` for readers that need it.
        **facts: Other arguments of `minari.create_dataset_from_buffers` (`author`, `data_format="hdf5"`, ...).

    Returns:
        The `minari.MinariDataset`, saved in Minari's folder.

    Raises:
        ModuleNotFoundError: Minari is not installed.
        ValueError: There are no runs, or one is empty; their environment is unknown; they differ in environment,
            arguments or budget, have several objectives or entries that are not steps; the table or rewards differ from
            those of the runs; or the name is invalid.
    """
    modules = ("minari", "minari.data_collector", "minari.dataset.minari_dataset")
    minari, collector, named = (extra_module(m, "interop", "datasets") for m in modules)
    named.parse_dataset_id(dataset_id)
    if not runs:
        raise ValueError("runs must not be empty, got none")
    first = runs[0].header
    for r in runs:
        for key in ("env", "env_kwargs", "budget", "kind"):
            if r.header[key] != first[key]:
                raise ValueError(f"runs must share their {key}, got {first[key]!r} and {r.header[key]!r}")
    if len(first["objectives"]) > 1:
        raise ValueError(f"runs must have one objective, got {', '.join(first['objectives'])}")
    registry.find(first["env"])
    saved = first["env_kwargs"].items()  # of which JSON made lists of tuples
    kwargs: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in saved}
    kwargs |= {"table": table} if (table := table_apart(first)) is not None else {}
    kwargs |= dict(env_kwargs or {})
    env: Any = gym.make(first["env"], disable_env_checker=True, **kwargs)
    if problem_of(env).mutate is not None:
        raise ValueError(f"runs must have one entry per step, got {first['env']}, whose candidates take several")
    buffers = [collector.EpisodeBuffer(id=i, **_replay(env, r)) for i, r in enumerate(runs)]
    facts.setdefault("data_format", "arrow")  # needs nothing that is not here already
    facts.setdefault("algorithm_name", first["agent"])
    facts.setdefault("description", f"{first['agent']} on {first['env']}, {first['kind']} table {first['table']}")
    facts.setdefault("requirements", [f"hpo_envs=={VERSION}"])
    if kwargs.get("table") is None:
        facts["env"] = env
        facts.setdefault("eval_env", env)
        facts = {**_references(first["env"], kwargs), **facts}
    else:
        facts |= {"action_space": env.action_space, "observation_space": env.observation_space}
    return minari.create_dataset_from_buffers(dataset_id, buffers, **facts)


def _references(env_id: str, kwargs: Mapping[str, Any]) -> dict[str, float]:
    """Return the arguments `ref_min_score` and `ref_max_score`, see `to_minari`; empty if there are none."""
    kwargs = {k: v for k, v in kwargs.items() if k != "max_episode_steps"}
    if is_live(env_id, kwargs):
        return {}
    runs = run("random", env_id, range(EPISODES), env_kwargs=kwargs)
    scales = [scales_of(r.header) for r in runs]
    if not all(len(s.best) for s in scales):
        return {}
    best = [s.best[0] * len(r) for s, r in zip(scales, runs, strict=True)]
    return {"ref_min_score": float(np.mean([r.rewards.sum() for r in runs])), "ref_max_score": float(np.mean(best))}


def _replay(env: Any, run: Run) -> dict[str, Any]:
    """Replay a run; return arguments of its episode's buffer, or raise a ValueError if the replay differs."""
    observation, info = env.reset(seed=seeds_of(run.header["env"], run.seed)[0])
    if info["sha256"] != run.header["sha256"]:
        raise ValueError(f"the table must be {run.header['sha256']} as in the runs, got {info['sha256']}")
    if not len(run) or run.actions.shape[1:] != env.action_space.shape:
        raise ValueError(f"runs must have one entry per step, got seed {run.seed} with actions of {run.actions.shape}")
    observations = [observation]
    rewards: list[Any] = []
    ends: list[bool] = []
    for action, reward in zip(run.actions, run.rewards, strict=True):
        action = int(action) if isinstance(env.action_space, gym.spaces.Discrete) else action
        observation, got, terminated, _, info = env.step(action)
        if not info.get("finished", True):
            raise ValueError(f"runs must have one entry per step, got seed {run.seed} of parallel workers")
        # What a step computes may differ in its last digit between the batched and the scalar form.
        if not np.allclose(got, reward, rtol=1e-9, atol=0.0):
            raise ValueError(f"seed {run.seed} must give reward {reward} again at step {len(rewards) + 1}, got {got}")
        observations.append(observation)
        rewards.append(got)
        ends.append(terminated)
    stopped = [False] * (len(ends) - 1) + [not ends[-1]]
    actions = run.actions.astype(env.action_space.dtype)
    infos = {"cost": np.concatenate([[0.0], run.costs])[:, None]}  # Minari cannot read back one number per step
    return {"seed": run.seed, "observations": np.array(observations), "actions": actions, "rewards": rewards,
            "terminations": ends, "truncations": stopped, "infos": infos}  # fmt: skip
