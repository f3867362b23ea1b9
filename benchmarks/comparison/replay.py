"""Replay of stored actions: stored results are compared bit for bit with those of the environment.

The replay compares rewards, costs and statuses; row, level and repeat in the table, and their true reward; the true
reward of the recommendation; scale and regret. Surrogates are evaluated again; functions and trainings are not called.
"""

from __future__ import annotations

import copy
import functools
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt

from hpo_envs.benchmarks.analysis.scales import Scales
from hpo_envs.benchmarks.runs import provenance
from hpo_envs.benchmarks.runs.episodes import Episodes, seeds_of
from hpo_envs.benchmarks.study import flat, parquet
from hpo_envs.benchmarks.study.block import Block
from hpo_envs.core.params import checker
from hpo_envs.families import registry
from hpo_envs.tables import Array
from hpo_envs.tables import store as tables
from hpo_envs.tables.table import STATUSES, Table

CELLS = 2**20
"""Table rows, summed over runs, in a batch of replayed runs; more would need memory without being faster."""

KEPT = 4 * CELLS
"""Largest number of rows, of all episodes, cached for other agents: 120 MB."""

LIVE = "function/"
"""Prefix of the names of tables whose values a function computes, such as a user's or a training."""

SETTING = ("env_kwargs", "shuffle", "subsample", "budget")
"""Keys of a header that, with the kind of its table, determine the arguments of an environment."""


@dataclass
class Replay:
    """Comparison of stored parts with a replay of their runs; `Store.once` calls it for each part."""

    checked: int = 0  # number of runs compared
    unchecked: dict[str, str] = field(default_factory=dict)  # id -> reason why its runs were not compared
    _kept: dict[str, _Problems] = field(default_factory=dict)
    """Problems of earlier parts, reused for other agents on the same seeds; the least recently used first."""

    def __call__(self, part: Path, block: Block) -> None:
        """Check the runs of a part, or record in `unchecked` why they cannot be replayed.

        Raises:
            ValueError: A stored value differs from the environment's, the table has changed, or the part has no valid
                runs; the message names the file.
        """
        env = block.header["env"]
        spec, used = registry.find(env), {own["table"]: {**block.header, **own} for own in block.rest}
        if any(name.startswith(LIVE) for name in (*used, *(spec.tables if spec else ()))):
            self.called(env)  # whatever table the header names: making the environment would import the function
            return
        helped = [s["table"] for s in block.header.get("transfer", {}).get("sources", ())]
        lacking = [name for name in [*used, *helped] if not tables.exists(name) or tables.missing(name)]
        if lacking or spec is None:
            self.unchecked[env] = f"table {lacking[0]} is not installed" if lacking else "no such id is registered"
            return
        most = max(CELLS // max(len(table_of(header)) for header in used.values()), 64)
        most = most - most % 1000 or most
        try:
            for runs in _alike(block):
                # Cut at the same seeds in every part, wherever it begins: after thousands, where most parts begin.
                for some in np.split(runs, range(most - int(block.seeds[runs[0]]) % most, len(runs), most)):
                    alike = block.take(some)
                    _Runs(alike, self._problems_of(alike)).check()
            if not np.array_equal(parquet.regret_of(part), flat.regret_of(block), equal_nan=True):
                raise _MismatchError(f"regret of {block.header['agent']} on {env} must follow from rewards and scale")
        except _MismatchError as error:
            now = provenance.of_environment(registry.require_spec("env", env)).numbers
            changed = "" if now == block.header.get("numbers", {}) else "; its number version was raised since"
            raise ValueError(f"{part}: {error}{changed}") from None
        except (ValueError, KeyError, TypeError, AttributeError, IndexError, OverflowError) as error:
            raise ValueError(f"{part} must hold runs written by hpo_envs, got {error!r}") from error
        self.checked += len(block)

    def _problems_of(self, block: Block) -> _Problems:
        h = block.header_of(0)
        asked = json.dumps([h["env"], h["kind"], h["table"], *(h[k] for k in SETTING)]) + block.seeds.tobytes().hex()
        if asked not in self._kept:
            cells = len(block) * len(table_of(h))
            while self._kept and cells + sum(p.cells for p in self._kept.values()) > KEPT:
                del self._kept[next(iter(self._kept))]  # before the next are made
            self._kept[asked] = _Problems(h, block.seeds.tolist())
        self._kept[asked] = problems = self._kept.pop(asked)
        return problems

    def called(self, env: str) -> None:
        """Record in `unchecked` that the runs of an id are not replayed, because its steps call a function."""
        self.unchecked[env] = "a function is not called again"

    def __str__(self) -> str:
        """Return the result as sentences, also on runs that were not replayed; empty if there were no runs."""
        said = [f"Replayed {self.checked:,} stored runs: all rewards, costs and statuses are equal."]
        said += [f"Runs on {env} were not replayed: {why}." for env, why in sorted(self.unchecked.items())]
        return " ".join(said if self.checked else said[1:])


def table_of(header: Mapping[str, Any]) -> Table:
    """Return the table on which a saved run was made; raise an error if it is not available or has changed."""
    spec, arguments = registry.find(header["env"]), header.get("env_kwargs", {})
    arms = {k: v for k, v in arguments.items() if k in ("means", "deviations", "bounds")}
    if spec is not None and (spec.surrogate or arms):  # the environment makes its tables
        made = gym.make(spec.id, **arms).unwrapped.params.tables  # type: ignore[attr-defined]
        table: Table | None = next((t for t in made if t.name == header["table"]), None)
    else:
        table = tables.load(header["table"])
    if table is None or table.provenance.sha256 != header["sha256"]:
        got = "no table of this name" if table is None else table.provenance.sha256
        raise ValueError(
            f"runs must be scored on their own table: {header['table']} ({header['kind']}) must have sha256 "
            f"{header['sha256']}, got {got}"
        )
    return table


class _MismatchError(ValueError):
    pass


def _alike(block: Block) -> Iterator[npt.NDArray[np.intp]]:
    """Indices of the runs of a part, grouped by the arguments of their environment."""
    groups: dict[str, list[int]] = {}
    for k, own in enumerate(block.rest):
        groups.setdefault(json.dumps({key: own[key] for key in ("kind", *SETTING) if key in own}), []).append(k)
    alike = (np.flatnonzero(np.isin(block.which, some)) for some in groups.values())
    return (runs for runs in alike if len(runs))


class _Problems:
    """Vectorized environment for the runs of a header, and its episodes with the given seeds."""

    def __init__(self, header: dict[str, Any], seeds: list[int]) -> None:
        h = header
        # Any order of rows, of which the table's is simplest; results as they came back, which is the order in which
        # one worker makes them; and pulls of a batch one by one.
        kwargs = {k: v for k, v in h["env_kwargs"].items() if k not in ("workers", "batch_size")}
        kwargs |= {"budget": h["budget"]} | ({"subsample": h["subsample"]} if h["subsample"] < 1.0 else {})
        if h["table"] not in registry.require_spec("env", h["env"]).tables:
            kwargs["table"] = tables.load(h["table"])
        made: Any = gym.make_vec(h["env"], num_envs=len(seeds), **kwargs)
        self.envs = made.unwrapped
        self.params, self.checker = self.envs.params, checker(self.envs.single_action_space)
        self.cells = len(seeds) * len(self.params.table)
        self.told: dict[str, Any] = self.envs.reset(seed=[seeds_of(h["env"], seed)[0] for seed in seeds])[1]
        self.episodes = Episodes.of(self.envs)
        scales = Scales(h["env"], self.params, h["env_kwargs"])
        self.scales = scales.headers(self.episodes.tables, self.episodes.shares)  # of each episode, as in headers

    def started(self) -> Any:
        """Return a copy of the environments at the start of these episodes; a reset would take ten times as long."""
        return copy.deepcopy(self.envs, {id(self.params): self.params})

    @functools.cached_property
    def listed(self) -> Array:
        """Sorted row indices of all episodes; those of episode i are increased by i times the size of the table."""
        assert self.episodes.rows is not None
        size = len(self.params.table)
        return (self.episodes.rows + size * np.arange(len(self.episodes.rows))[:, None]).ravel()


class _Runs:
    """Runs of a part whose environments have the same arguments."""

    def __init__(self, block: Block, problems: _Problems) -> None:
        self.block, self.header, self.starts = block, block.header_of(0), block.starts
        self.run = np.repeat(np.arange(len(block)), np.diff(self.starts))
        self.stored = dict(block.arrays)
        self.actions, self.recommended = self.stored.pop("action"), self.stored.pop("recommended")
        self.truth = self.stored.pop("recommended_truth", None)
        self.stored.pop("seconds", None)
        self.problems, self.envs, self.params = problems, problems.envs, problems.params
        self.episodes = problems.episodes

    def check(self) -> None:
        """Compare stored values; raise a `_MismatchError` if one differs from the environment's."""
        for name in ("table", "kind", "sha256"):
            given = [self.block.rest[k][name] for k in self.block.which.tolist()]
            self._equal_each(name, given, self.problems.told[name].tolist())
        self._equal_each("scale", list(self.block.each_scale), self.problems.scales)
        if helped := self.header.get("transfer"):
            from hpo_envs.benchmarks.runs.transfer import sources_of

            self._equal(0, "transfer", helped, sources_of(self.envs, helped["distribution"]).header())
        self._equal(0, "objectives", self.header["objectives"], list(self.params.objectives))
        self._equal(0, "cost_unit", self.header["cost_unit"], self.params.cost_unit)
        asked, run = self._asked()
        known, over = self._answers(asked, run)
        known |= self.episodes.evaluated(self.run, self.actions)
        if self.params.moves > 1:
            known["move"] = self.stored["move"]
        self._equal(0, "columns", sorted(self.stored), sorted(known))
        for name, values in known.items():
            self._equal_all(name, self.stored[name], values)
        if self.header["env_kwargs"].get("workers", 1) == 1:
            late = over & np.append(self.run[1:] == self.run[:-1], False)
            if late.any():
                at = int(late.argmax())
                raise self._false_at(at + 1, "position", "after it", "before the budget is used up")
        self._check_recommended()

    def _asked(self) -> tuple[Array, npt.NDArray[np.intp]]:
        """Return stored actions in the order of submission, with the episode's indices, and the run of each."""
        actions, run = self._own(self.actions, self.run), self.run
        if self.params.moves > 1:  # only the last of each evaluation is its action
            moves = self.stored["move"]
            made = (moves >= 0).all(axis=-1)
            self._equal_all("action", actions, moves[np.arange(len(moves)), made.sum(axis=1) - 1])
            actions, run = moves[made], np.repeat(run, made.sum(axis=1))
        if len(actions) and not self._admits(actions[0]):  # all have its type and shape
            raise self._refused(0)
        return actions, run

    def _own(self, actions: Array, run: Array) -> Array:
        """(k, ...) actions with the episode's index instead of the table's row, -1 for rows not in the episode."""
        if self.episodes.rows is None:
            return actions
        rows, k = actions.reshape(len(actions), -1)[:, 0], self.episodes.rows.shape[1]
        inside = (rows >= 0) & (rows < (size := len(self.params.table)))
        listed, wanted = self.problems.listed, np.where(inside, rows, 0) + size * run
        at = np.minimum(listed.searchsorted(wanted), len(listed) - 1)
        own = np.where(inside & (listed[at] == wanted), at - k * run, -1)
        return np.stack([own, *actions.T[1:]], axis=1) if actions.ndim > 1 else own

    def _answers(self, asked: Array, run: Array) -> tuple[dict[str, Array], Array]:
        """Return the results of all stored actions by column, and (all,) whether each evaluation ended its episode."""
        envs = self.problems.started()
        total, n = int(self.starts[-1]), len(self.block)
        shape = (total, self.params.reward_dim) if self.params.vector else (total,)
        rewards, costs = np.full(shape, np.nan), np.full(total, np.nan)
        statuses, over = np.zeros(total, np.int8), np.zeros(total, bool)
        steps = np.bincount(run, minlength=n)
        first, to = np.cumsum(steps) - steps, self.starts[:-1].copy()
        envs.single_action_space.seed(0)
        batch = np.stack([np.asarray(envs.single_action_space.sample())] * n)  # what runs that have ended do
        for k in range(steps.max(initial=0)):
            on = k < steps
            batch[on] = asked[first[on] + k]
            try:
                answered, ended, info = envs.answer(batch)
            except ValueError:
                i = next(i for i in range(n) if not self._admits(batch[i]))
                raise self._refused(int(to[i])) from None
            done = on & (to < self.starts[1:]) & info.get("finished", True)
            at = to[done]
            rewards[at], costs[at], over[at] = answered[done], info["cost"][done], ended[done]
            for code, name in enumerate(STATUSES):
                statuses[at[info["status"][done] == name]] = code
            to[done] += 1
        return {"reward": rewards, "cost": costs, "status": statuses}, over

    def _check_recommended(self) -> None:
        run, each = np.arange(len(self.block)), self.recommended
        if self.params.kind == "arms":  # the first counts
            each = each.reshape(len(run), -1)[:, 0]
        own = self._own(each, run)
        for i in run if own.ndim > 1 else np.unique([own.argmin(), own.argmax()]):  # what is between them is within
            moves = own[i] if self.params.moves > 1 and own.ndim > 2 else [own[i]]
            if not all(map(self._admits, moves)):
                raise self._false(int(i), "recommendation", each[i].tolist(), "an action of its episode")
        truth = self.episodes.truth(run, self.recommended)
        self._equal(0, "whether recommendations have a true reward", self.truth is not None, truth is not None)
        if truth is not None and self.truth is not None:
            self._equal_each("true reward of the recommendation", self.truth.tolist(), truth.tolist())

    def _admits(self, action: Any) -> bool:
        try:
            self.problems.checker(action)
        except ValueError:
            return False
        return True

    def _equal_all(self, name: str, stored: Array, answered: Array) -> None:
        """`_equal` on arrays with one entry per evaluation."""
        self._equal(0, f"shape of {name}", stored.shape, answered.shape)
        false = (stored != answered).any(axis=tuple(range(1, stored.ndim)))
        if false.any():
            at = int(false.argmax())
            raise self._false_at(at, name, stored[at].tolist(), answered[at].tolist())

    def _equal_each(self, name: str, stored: list[Any], answered: list[Any]) -> None:
        """`_equal` on lists with one entry per run."""
        if stored != answered:
            for i, (one, other) in enumerate(zip(stored, answered, strict=True)):
                self._equal(i, name, one, other)

    def _equal(self, i: int, name: str, stored: Any, answered: Any) -> None:
        """Raise if a stored value of a run differs from the environment's."""
        if stored != answered:
            raise self._false(i, name, stored, answered)

    def _refused(self, at: int) -> _MismatchError:
        return self._false_at(at, "action", self.actions[at].tolist(), "an action of its episode")

    def _false_at(self, at: int, name: str, stored: Any, answered: Any) -> _MismatchError:
        i = self.run[at]
        return self._false(i, f"{name} of evaluation {at - self.starts[i]}", stored, answered)

    def _false(self, i: int, name: str, stored: Any, answered: Any) -> _MismatchError:
        h = self.block.header_of(int(i))
        return _MismatchError(
            f"{name} of {h['agent']} on {h['env']}, seed {h['seed']}, must be {answered}, got {stored}"
        )
