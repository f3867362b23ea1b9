"""Keeps runs in a folder of Parquet files that any reader of Parquet understands.

    runs/<env>/<agent>-<first seed>-<last seed>.parquet        one row a run

Parts are only ever added. Each is written elsewhere, synced and then renamed, under a lock on the folder, so that a
reader sees whole parts, a killed or failed writer leaves none behind, and two writers store no run twice.

Columns: `env`, `agent`, `seed`, `table`, `kind`, `sha256`, `evaluations` (their number), `actions[component][k]`,
`rewards[objective][k]`, `costs[k]` (k counts evaluations), `recommended[component]`, `header` (JSON, all that
describes the run) and `layout` (JSON, the arrays' types and shapes). Without this module:

    duckdb -c "SELECT env, agent, avg(list_max(rewards[1])) FROM 'runs/*/*.parquet' GROUP BY ALL"
    pandas.read_parquet("runs/").groupby(["env", "agent"]).evaluations.sum()
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import numpy.typing as npt

from hpo_envs.benchmarks.runs import Run
from hpo_envs.benchmarks.study import parquet
from hpo_envs.tables.files.folder import locked

RUN_KEYS = ("seed", "table", "sha256")
"""What may differ between runs of one agent on one id."""

AGENT_KEYS = ("agent", "algorithm", "hyperparameters", "agent_versions", "agent_source")
"""What may differ between agents on one id; all else in a header must agree."""

Key = tuple[str, str, int]
"""(env, agent, seed): what a store holds at most once."""


def write(runs: Sequence[Run], folder: Path | str) -> int:
    """Stores runs that are not stored yet; see `Store.write`."""
    return Store(folder).write(runs)


def read(folder: Path | str, env: str | None = None, agent: str | None = None) -> list[Run]:
    """Reads all runs of a folder, or those of one id, one agent; sorted by id, agent and seed.

    Raises:
        FileNotFoundError: No such folder.
        ValueError: A file that this module did not write, or a run that is there twice.
    """
    return Store(folder).read(env, agent)


def digest(runs: Iterable[Run]) -> str:
    """Sha256 of everything in runs, whatever their order: two studies agree to the bit if their digests do."""
    total = hashlib.sha256()
    for run in sorted(runs, key=key_of):
        total.update(json.dumps(run.header, sort_keys=True).encode())
        for array in (run.actions, run.rewards, run.costs, np.asarray(run.recommended)):
            total.update(f"{array.dtype} {array.shape}".encode())
            total.update(np.ascontiguousarray(array).tobytes())
    return total.hexdigest()


def key_of(run: Run) -> Key:
    """What identifies a run in a store."""
    return run.header["env"], run.header["agent"], run.seed


@dataclass(frozen=True)
class Group:
    """Runs of one part that differ only in their seed: a study of millions of runs remembers few headers.

    Attributes:
        header: Of one of them.
        seeds: (runs,) int64.
    """

    header: dict[str, Any]
    seeds: npt.NDArray[np.int64]


class Store:
    """A folder of runs.

    Parts that were read once are not read again, so one object serves a whole study.

    Args:
        folder: Made when the first run is stored.
    """

    def __init__(self, folder: Path | str) -> None:
        self.folder = Path(folder)
        self._groups: dict[Path, list[Group]] = {}

    def write(self, runs: Sequence[Run]) -> int:
        """Stores runs, one part for each agent and id; runs already stored are left as they are.

        When it returns, the new runs are on the disk. If it raises, or the process dies, parts are there as a
        whole or not at all.

        Returns:
            Number of runs that were new.

        Raises:
            ValueError: What is stored was made on another table, with other versions or other arguments.
            OSError: The disk is full or refuses.
        """
        groups: dict[tuple[str, str], dict[int, Run]] = {}
        for run in runs:
            group = groups.setdefault(key_of(run)[:2], {})
            if run.seed in group:
                raise ValueError(f"runs must have distinct seeds, got {run.seed} of {run.header['agent']} twice")
            group[run.seed] = run
        if len(groups) > 1:
            self.check([r.header for r in runs])
        written = 0
        for (env, agent), group in sorted(groups.items()):
            folder = self.folder / quote(env, safe="")
            folder.mkdir(parents=True, exist_ok=True)
            with locked(folder) as alone:
                self.check([r.header for r in group.values()])
                have = self.seeds(env, agent)
                new = [group[seed] for seed in sorted(group.keys() - have)]
                if new:
                    name = f"{quote(agent, safe='')}-{new[0].seed}-{new[-1].seed}.parquet"
                    parquet.publish(parquet.encode(new), folder / name, alone)
                    self._groups[folder / name] = _grouped([r.header for r in new])
                    written += len(new)
        return written

    def read(self, env: str | None = None, agent: str | None = None) -> list[Run]:
        """Reads runs; see the function of this name."""
        if not self.folder.is_dir():
            raise FileNotFoundError(f"runs must be in a folder, got {self.folder}, which is none")
        found: dict[Key, tuple[Run, Path]] = {}
        for part in self._parts(env, agent):
            for run in parquet.decode(part):
                key = key_of(run)
                if key in found:
                    raise ValueError(f"a run must be stored once, got {key} in {found[key][1]} and in {part}")
                found[key] = run, part
        return [found[key][0] for key in sorted(found)]

    def groups(self, env: str | None = None, agent: str | None = None) -> list[Group]:
        """What is stored, by runs that differ only in their seed; evaluations are not read."""
        listed = []
        for part in self._parts(env, agent):
            if part not in self._groups:
                self._groups[part] = _groups_of(part)
            listed.extend(self._groups[part])
        return listed

    def seeds(self, env: str, agent: str) -> set[int]:
        """Seeds that an agent has finished on an id."""
        return {seed for group in self.groups(env, agent) for seed in group.seeds.tolist()}

    def check(self, headers: Sequence[dict[str, Any]]) -> None:
        """Refuses runs that must not stand beside those that are stored.

        Raises:
            ValueError: Another table, other versions, another budget or other arguments; the message says which.
        """
        for env in sorted({h["env"] for h in headers}):
            stored = [group.header for group in self.groups(env)]
            new = [h for h in headers if h["env"] == env]
            agents = {h["agent"]: h for h in stored}
            tables = {h["table"]: h["sha256"] for h in stored}
            for h in new:
                if h["agent"] in agents:
                    if _setting(h) != _setting(agents[h["agent"]]):
                        _compare(h, agents[h["agent"]], RUN_KEYS, self.folder)
                else:
                    agents[h["agent"]] = h
                    _compare(h, stored[0] if stored else new[0], RUN_KEYS + AGENT_KEYS, self.folder)
                if tables.setdefault(h["table"], h["sha256"]) != h["sha256"]:
                    raise _mixed(h, f"sha256 of table {h['table']}", tables[h["table"]], h["sha256"], self.folder)

    def _parts(self, env: str | None, agent: str | None) -> Iterator[Path]:
        wanted = re.compile((".+" if agent is None else re.escape(quote(agent, safe=""))) + r"-\d+-\d+\.parquet")
        folders = self.folder.glob("*") if env is None else [self.folder / quote(env, safe="")]
        for folder in sorted(folders):
            if folder.is_dir():
                yield from sorted(p for p in folder.iterdir() if wanted.fullmatch(p.name))


def _groups_of(part: Path) -> list[Group]:
    try:
        return _grouped([json.loads(h) for h in parquet.load(part, ["header"])["header"].to_pylist()])
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError) as error:
        raise ValueError(f"{part} must be a file of runs that hpo_envs wrote, got {error}") from None


def _grouped(headers: Sequence[dict[str, Any]]) -> list[Group]:
    found: list[tuple[dict[str, Any], list[int]]] = []
    for header in headers:
        rest = {**header, "seed": None}
        for known, seeds in found:
            if known == rest:
                seeds.append(header["seed"])
                break
        else:
            found.append((rest, [header["seed"]]))
    return [Group({**known, "seed": seeds[0]}, np.array(seeds, np.int64)) for known, seeds in found]


def _setting(header: dict[str, Any]) -> dict[str, Any]:
    rest = header.copy()
    for key in RUN_KEYS:
        rest.pop(key, None)
    return rest


def _compare(new: Mapping[str, Any], old: Mapping[str, Any], ignored: Sequence[str], folder: Path) -> None:
    for key in sorted((new.keys() | old.keys()) - set(ignored)):
        a, b = old.get(key), new.get(key)
        if a == b:
            continue
        if isinstance(a, dict) and isinstance(b, dict):
            key, a, b = next((f"{key} {k}", a.get(k), b.get(k)) for k in sorted(a | b) if a.get(k) != b.get(k))
        raise _mixed(new, key, a, b, folder)


def _mixed(new: Mapping[str, Any], what: str, old: Any, value: Any, folder: Path) -> ValueError:
    return ValueError(
        f"runs in one folder must agree on what was run: {folder} has runs of {new['env']} with {what} {old!r}, "
        f"{new['agent']} would add {value!r}. Choose another folder, or delete {folder / new['env']}"
    )
