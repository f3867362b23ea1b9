"""`Run`: stored results of a run (actions, rewards, costs, statuses, seconds); headers of runs on registered ids."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hpo_envs.agents import Agent
from hpo_envs.benchmarks.runs import provenance
from hpo_envs.benchmarks.runs.episodes import Episodes
from hpo_envs.core.params import Params
from hpo_envs.families import registry
from hpo_envs.tables import frames, plugins
from hpo_envs.tables.table import STATUSES

SEEN = " (seen)"
"""Suffix of the label of an agent whose weights were trained on the problem's languages."""


def budget_apart(header: Mapping[str, Any]) -> float | None:
    """Return the budget of a run if it is that of a setting of its family's leaderboard after the first; else None."""
    family, budget = registry.family_of(header["env"]), header["budget"]
    apart = family is not None and any(s.get("budget") == budget for s in family.leaderboard[1:])
    return budget if apart else None


def table_apart(header: Mapping[str, Any]) -> str | None:
    """Return the name of a run's table if it was given in place of the only one of its id; else None."""
    spec = registry.find(header["env"])
    tables = spec.tables if spec is not None and "function" not in header["env_kwargs"] else ()
    return header["table"].removeprefix("user/") if len(tables) == 1 and header["table"] != tables[0] else None


def environment_of(header: Mapping[str, Any]) -> str:
    """Return the label of an environment: its id, and in parentheses what distinguishes its runs.

    These are arguments except budget, the subsample if it is below 1, the distribution of source tasks, and budget and
    table if `budget_apart` and `table_apart` have them. Runs with different labels count as on different environments.
    """
    extra = {k: v for k, v in header["env_kwargs"].items() if k not in ("table", "budget")}
    if (subsample := header.get("subsample", 1.0)) < 1.0:
        extra["subsample"] = subsample
    if helped := header.get("transfer"):
        extra["transfer"] = helped["distribution"]
    if (budget := budget_apart(header)) is not None:
        extra["budget"] = f"{budget:g}"
    if (table := table_apart(header)) is not None:
        extra["table"] = table
    return _label(header["env"], extra)


def agent_of(header: Mapping[str, Any]) -> str:
    """Return the label of an agent: its given name, or the registered name and the given hyperparameters.

    It ends with `SEEN` if the agent's weights were trained on languages of the problem.
    """
    name, algorithm, seen = header["agent"], header.get("algorithm"), "seen" in header
    given = {} if algorithm not in (None, name) else header["hyperparameters"]
    return _label(name, {k: v for k, v in given.items() if k != "seen" or not seen}) + SEEN * seen


def _label(name: str, arguments: Mapping[str, Any]) -> str:
    return f"{name} ({', '.join(f'{k}={v}' for k, v in sorted(arguments.items()))})" if arguments else name


@dataclass(frozen=True)
class Run:
    """One run: one agent in one episode.

    Attributes:
        seed: The given seed; agent and environment get the results of `episodes.seeds_of`.
        actions: One entry per evaluation: (k,) ints, or (k, ...) arrays. Row indices are those of the
            table, not of the episode.
        rewards: (k,) or (k, objectives) float64, higher is better.
        costs: (k,) float64 in `header["cost_unit"]`, which is the unit of the budget.
        recommended: The action that the agent recommends at the end, with the table's row.
        header: Plain data on the run: env id and arguments, `shuffle`, `subsample`, `reset_seed` (the seed with which
            `env.reset` draws the run's configurations and their order), budget, objectives, table name, kind and
            sha256, scale of the scores (`scales.Scale`), agent and hyperparameters, versions, `numbers`,
            `agent_numbers`, `environment_source` and `agent_source` (see `provenance.Code`); of searches, `space`, a
            digest of space and metrics; `suite`, the origin of this package's code; `random_search` if all evaluations
            equal those of random search; `seen`, the problem's languages on which the agent's weights were trained, if
            any; with source tasks, `transfer`: their `distribution`, `sources` (id, table, kind, sha256, languages),
            and `excluded`, the problem's languages.
        evaluated: Further data on each evaluation, (k, ...) arrays by name: `row`, `level` and `repeat` of the table
            (int32), if results are its; `status` (int8, index in `STATUSES`); and for arms and tables with repeats
            `truth`, shaped as the rewards: the true mean of the row at that level. If an evaluation takes several
            actions, `move` has all of them (int8), then -1. If the budget is not in the environment's cost unit,
            `price` (float64) is the cost of each evaluation in that unit.
        recommended_truth: True mean reward of the recommended action, if a table has it.
        configs: Natural values of each evaluation's hyperparameters if they are not a row of a table: on boxes and
            where steps call a function. They are not stored.
        seconds: (k, 2) float32 seconds of `ask` and `tell`, divided equally among the running episodes of a batch
            and all evaluations of a batch of pulls. They differ between repetitions and are in no digest.
    """

    seed: int
    actions: npt.NDArray[Any]
    rewards: npt.NDArray[np.float64]
    costs: npt.NDArray[np.float64]
    recommended: Any
    header: dict[str, Any]
    evaluated: Mapping[str, npt.NDArray[Any]] = dataclasses.field(default_factory=dict)
    recommended_truth: Any = None
    configs: list[dict[str, Any]] | None = None
    seconds: npt.NDArray[np.float32] | None = None

    def __len__(self) -> int:
        return len(self.costs)

    def __repr__(self) -> str:
        h = self.header
        return f"<Run of {h['agent']} on {h['env']}, seed {self.seed}: {len(self)} evaluations>"

    def _repr_html_(self) -> str:
        h = self.header
        facts = {"agent": h["agent"], "table": f"{h['table']} ({h['kind']})", "seed": self.seed}
        facts |= {"evaluations": len(self), "budget": f"{h['budget']:g} {h['cost_unit']}"}
        if self.rewards.ndim == 1 and len(self):
            facts[f"best {h['objectives'][0]}"] = f"{self.rewards.max():.6g}"
        return frames.facts(h["env"], facts)


@dataclass
class EpisodeLog:
    """Log of one episode, with an entry per evaluation; see `Run`.

    Attributes:
        ends: Number of evaluations after each step, if a step may be none or several; else empty.
    """

    actions: list[Any] = dataclasses.field(default_factory=list)
    rewards: list[Any] = dataclasses.field(default_factory=list)
    costs: list[float] = dataclasses.field(default_factory=list)
    statuses: list[int] = dataclasses.field(default_factory=list)
    moves: list[list[Any]] = dataclasses.field(default_factory=lambda: [[]])
    prices: list[float] = dataclasses.field(default_factory=list)
    configs: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    ends: list[int] = dataclasses.field(default_factory=list)

    def seconds(self, steps: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        """Return the (evaluations, 2) seconds of each evaluation from the (steps, 2) seconds of each step."""
        if not self.ends:
            return steps[: len(self.costs)].copy()
        counts = np.diff([0, *self.ends])
        last = np.flatnonzero(counts)
        spent = np.diff(np.cumsum(steps, axis=0)[last], axis=0, prepend=np.float32(0))
        return np.repeat(spent / counts[last, None].astype(np.float32), counts[last], axis=0)

    def known(self, moves: int) -> dict[str, npt.NDArray[Any]]:
        """Return `status` and, if present, `price` and `move` by name; `moves`: most actions per evaluation."""
        found = {"status": np.array(self.statuses, np.int8)}
        if self.prices:
            found["price"] = np.array(self.prices, dtype=np.float64)
        if moves > 1:
            shape = np.shape(self.actions)
            found["move"] = np.full((shape[0], moves, *shape[1:]), -1, np.int8)
            for row, several in zip(found["move"], self.moves, strict=False):  # the last may be unfinished
                row[: len(several)] = several
        return found

    def move(self, action: Any, finished: bool) -> None:
        """Log an action of an evaluation that takes several; if it is `finished`, begin the next evaluation."""
        self.moves[-1].append(action)
        if finished:
            self.moves.append([])

    def add(self, action: Any, reward: Any, info: Mapping[str, Any]) -> None:
        """Log an evaluation, or each pull of a batch with an equal share of cost and price."""
        scores = info.get("scores")
        if scores is not None:
            share = {k: info[k] / np.size(scores) for k in ("cost", "price") if k in info}
            for pull, score in zip(np.ravel(action).tolist(), np.ravel(scores).tolist(), strict=True):
                self.add(pull, score, {"status": info["status"], **share})
            return
        self.actions.append(action)
        self.rewards.append(reward)
        self.costs.append(info["cost"])
        self.statuses.append(STATUSES.index(info["status"]))
        if "price" in info:
            self.prices.append(info["price"])


def records(
    logs: Sequence[EpisodeLog],
    seeds: Sequence[int],
    episodes: Episodes,
    recommended: Sequence[Any],
    headers: Sequence[dict[str, Any]],
    steps: npt.NDArray[np.float32],
) -> list[Run]:
    """Return the `Run` of each episode with the table's data; `steps`: (n, 2) seconds of `ask` and `tell` per step."""
    last = [episodes.in_table(i, action) for i, action in enumerate(recommended)]
    truths = _truths(episodes, last)
    actions = [np.array(log.actions) for log in logs]
    some = [i for i, a in enumerate(actions) if len(a)] or [0]  # those without evaluations say nothing of dtypes
    lengths = [len(actions[i]) for i in some]
    known = episodes.evaluated(np.repeat(some, lengths), np.concatenate([actions[i] for i in some]))
    ends = np.cumsum([len(a) for a in actions])[:-1]
    parts = {name: np.split(values, ends) for name, values in known.items()}
    return [
        Run(
            seed,
            actions[i],
            np.array(log.rewards, dtype=np.float64),
            np.array(log.costs, dtype=np.float64),
            last[i],
            header,
            {name: part[i] for name, part in parts.items()} | log.known(episodes.params.moves),
            truths[i],
            log.configs or None,
            log.seconds(steps),
        )
        for i, (seed, log, header) in enumerate(zip(seeds, logs, headers, strict=True))
    ]


def _truths(episodes: Episodes, actions: Sequence[Any]) -> Sequence[Any]:
    """Return the true mean reward of each episode's action; a list of None if no table has it."""
    same = len({np.shape(a) for a in actions}) == 1  # candidates of several moves differ, and are in no table
    found = episodes.truth(np.arange(len(actions)), np.array(actions)) if same else None
    return [None] * len(actions) if found is None else list(found)


def header_of_id(
    params: Params,
    env_id: str,
    env_kwargs: Mapping[str, Any],
    agent: str | Callable[..., Agent],
    hyperparameters: Mapping[str, Any],
    **how: Any,
) -> dict[str, Any]:
    """Return the header of runs on a registered id: `provenance.header_of`, and the version of a plugin's package."""
    spec = registry.require_spec("env_id", env_id)
    header = provenance.header_of(params, spec, env_kwargs, agent, hyperparameters, **how)
    if plugin := plugins.of_id(env_id):
        header["versions"][plugin.package] = plugin.version
    return header


def copied(plain: Any) -> Any:
    """Return a deep copy of a dict or list of plain JSON data; ten times faster than `copy.deepcopy`."""
    own = plain.copy()
    for key, value in own.items() if isinstance(own, dict) else enumerate(own):
        if type(value) is dict or type(value) is list:
            own[key] = copied(value)
    return own
