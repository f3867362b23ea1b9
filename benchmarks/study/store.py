"""Store of runs, a folder of Parquet files: duplicates, damage, and runs of other code or tables, which must not mix.

    runs/<env>/<agent>-<first seed>-<last seed>-<sha256>.parquet        one row per evaluation

Parts are only added, and their name contains the sha256 of all their bytes, which is verified on reading. Each is
written to a temporary file, synced and then renamed, so that readers see complete parts and a killed or failed writer
leaves none. Publishing a part needs no index and no lock. Two processes that make the same run store it twice; readers
use it once, and raise an error if the two differ.

The columns of parts are those of the table `evaluations` of `hpo_envs.benchmarks.study.flat`.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np

from hpo_envs.benchmarks.runs import Run
from hpo_envs.benchmarks.runs.record import table_apart
from hpo_envs.benchmarks.study import parquet
from hpo_envs.benchmarks.study.block import Block, blocks_of, digest_of, layout_of
from hpo_envs.tables.files import atomic

RUN_KEYS = ("seed", "reset_seed", "table", "sha256", "scale", "random_search", "seen", "suite")
"""Header keys that may differ between runs of one agent on one id."""

CODE_KEYS = ("agent_numbers", "agent_source", "agent_versions", "environment_source", "numbers", "versions")
"""Header keys that identify the code that a run depends on."""


def code_of(header: Mapping[str, Any]) -> str:
    """Return eight hexadecimal digits of a sha256 of the `CODE_KEYS` of a run's header, which identify its code."""
    code = json.dumps([header.get(key) for key in CODE_KEYS], sort_keys=True)
    return hashlib.sha256(code.encode()).hexdigest()[:8]


AGENT_KEYS = ("agent", "algorithm", "hyperparameters", *CODE_KEYS[:3], "isolated")
"""Header keys that may differ between agents on one id."""


Check = Callable[[Path, Block], object]
"""Check of a part before its runs are used, such as `hpo_envs.benchmarks.comparison.replay.Replay`."""

Agents = str | Collection[str] | None
"""The names of some agents, or of one; None: all."""


def write(runs: Sequence[Run], folder: Path | str) -> int:
    """Store runs, one part per agent and id, and return the number of new ones; stored runs are skipped.

    Once it returns, the new runs are on disk. If it raises, or the process dies, each part is complete or absent.

    Raises:
        ValueError: Stored runs were made on another table, with other versions or other arguments; or the folder of the
            runs is a symbolic link.
        OSError: Writing to the disk fails.
    """
    return sum(map(len, Store(folder).add(runs)))


def read(folder: Path | str, env: str | None = None, agent: str | None = None, check: Check | None = None) -> list[Run]:
    """Return the runs of a folder, if given of one id or one agent (its name in results), by id, agent and seed.

    `check` is called with each part before its runs are used, and raises an error if they are invalid.

    Raises:
        FileNotFoundError: The folder does not exist.
        ValueError: A file was not written by this module, or two different results of a run are stored.
    """
    return sorted((run for block in Store(folder).once(env, agent, check) for run in block.runs()), key=key_of)


def digest(runs: Iterable[Run]) -> str:
    """Return the sha256 of runs in any order, without seconds and `suite`; equal digests mean identical results."""
    return digest_of(blocks_of([*runs]))


def key_of(run: Run) -> tuple[str, str, int]:
    """Return the key of a run, unique in a store: id, agent and seed."""
    return run.header["env"], run.header["agent"], run.seed


class _Setting:
    """What the runs of one id have in common, and the seeds of each agent."""

    def __init__(self) -> None:
        self.agents: dict[str, dict[str, Any]] = {}  # header of the first run of each agent
        self.tables: dict[str, str] = {}  # name -> sha256
        self.seeds: dict[str, set[int]] = {}

    def check(self, h: dict[str, Any], folder: Path | None) -> None:
        """Raise a `ValueError` if a header must not be mixed with those already added."""
        first = next(iter(self.agents.values()), h)
        if h["agent"] in self.agents:
            _compare(h, self.agents[h["agent"]], RUN_KEYS, folder)
        else:
            _compare(h, first, (*RUN_KEYS, *AGENT_KEYS), folder)
        if table_apart(first) != table_apart(h):
            raise _mixed(h, "table", first["table"], h["table"], folder)
        if self.tables.get(h["table"], h["sha256"]) != h["sha256"]:
            raise _mixed(h, f"sha256 of table {h['table']}", self.tables[h["table"]], h["sha256"], folder)

    def add(self, h: dict[str, Any], seeds: Iterable[int] = ()) -> None:
        """Add a checked header, and seeds of its agent."""
        self.agents.setdefault(h["agent"], h)
        self.tables.setdefault(h["table"], h["sha256"])
        self.seeds.setdefault(h["agent"], set()).update(seeds)


class Store:
    """A folder of runs.

    Headers are read once per id; runs added later by other processes are not checked.

    Args:
        folder: Folder, created with the first stored run; None: runs are not stored.

    Attributes:
        added: Paths of the parts that this object has written.
    """

    def __init__(self, folder: Path | str | None) -> None:
        self.folder = None if folder is None else Path(folder)
        self.added: set[Path] = set()
        self._settings: dict[str, _Setting] = {}

    def add(self, runs: Sequence[Run]) -> list[Block]:
        """Store runs as `write` does; return the new runs as blocks. A run given twice raises a `ValueError`."""
        groups: dict[tuple[Any, ...], dict[int, Run]] = {}
        for run in runs:
            group = groups.setdefault((*key_of(run)[:2], layout_of(run)), {})
            if run.seed in group:
                raise ValueError(f"runs must have distinct seeds, got {run.seed} of {run.header['agent']} twice")
            group[run.seed] = run
        self.check([r.header for r in runs])
        written = []
        for (env, agent, _), group in sorted(groups.items(), key=lambda item: item[0][:2]):
            setting = self._setting(env)
            new = [group[seed] for seed in sorted(group.keys() - setting.seeds.get(agent, set()))]
            if new:
                written.append(block := Block.of(new))
                if self.folder is not None:
                    self.added.add(_publish(block, self.folder))
                for r in new:
                    setting.add(r.header, (r.seed,))
        return written

    def once(self, env: str | None = None, agent: Agents = None, check: Check | None = None) -> Iterator[Block]:
        """Yield parts as blocks, each run once; arguments and errors are those of `read`; `agent` may be several names.

        Parts added by this object are neither read nor checked.
        """
        if self.folder is None or not self.folder.is_dir():
            raise FileNotFoundError(f"runs must be in a folder, got {self.folder}, which is not one")
        parts: dict[tuple[str, str], list[Path]] = {}
        known: dict[tuple[str, str], set[int]] = {}
        for part in [part for part in self._parts(env, agent) if part not in self.added]:
            block = _decoded(part)
            if check is not None:
                check(part, block)
            who = block.header["env"], block.header["agent"]
            before, seeds = known.setdefault(who, set()), set(block.seeds.tolist())
            if again := before & seeds:
                _same(part, block, parts[who], again)
                block = block.take(np.flatnonzero(~np.isin(block.seeds, [*again])))
            before.update(seeds)
            parts.setdefault(who, []).append(part)
            if len(block):
                yield block

    def blocks(self, env: str | None = None, agent: Agents = None) -> Iterator[tuple[Path, Block]]:
        """Yield the path and the verified runs of each part; runs stored by two processes occur twice."""
        for part in [*self._parts(env, agent)]:
            yield part, _decoded(part)

    def seeds(self, env: str, agent: str) -> set[int]:
        """Return the seeds of the stored runs of an agent on an id."""
        return set(self._setting(env).seeds.get(agent, ()))

    def check(self, headers: Sequence[dict[str, Any]]) -> None:
        """Raise if runs must not be mixed with the stored ones or with each other.

        Raises:
            ValueError: Table, versions, budget or arguments differ; the message names the difference.
        """
        new: dict[str, _Setting] = {}
        for h in headers:
            self._setting(h["env"]).check(h, self.folder)
            new.setdefault(h["env"], _Setting()).check(h, self.folder)
            new[h["env"]].add(h)

    def _setting(self, env: str) -> _Setting:
        """Return the common header and the seeds of the stored runs of an id, which are read once."""
        if env not in self._settings:
            setting = _Setting()
            for _, block in self.blocks(env):
                for k, own in enumerate(block.rest):
                    header = {**block.header, **own}
                    setting.check(header, self.folder)
                    setting.add(header, block.seeds[block.which == k].tolist())
            self._settings[env] = setting
        return self._settings[env]

    def _parts(self, env: str | None, agent: Agents) -> Iterator[Path]:
        names = [agent] if isinstance(agent, str) else agent
        prefix = ".+" if names is None else "|".join(re.escape(_quoted(name)) for name in names)
        wanted = re.compile(rf"({prefix})-(\d+)-\d+(-[0-9a-f]{{64}})?\.parquet")
        folders = () if self.folder is None else self.folder.glob("*") if env is None else [self.folder / _quoted(env)]
        for folder in sorted(f for f in folders if f.is_dir()):
            matches = [m for m in map(wanted.fullmatch, os.listdir(folder)) if m]
            # The same seeds of all agents one after the other: they have the same episodes.
            yield from (
                atomic.inside(folder.parent, folder / m[0]) for m in sorted(matches, key=lambda m: (int(m[2]), m[0]))
            )


def _quoted(name: str) -> str:
    return quote(name, safe="")


def _publish(block: Block, root: Path) -> Path:
    env, agent = _quoted(block.header["env"]), _quoted(block.header["agent"])
    data = parquet.encode(block)
    part = atomic.inside(root, root / env / parquet.name_of(agent, block.seeds, data))
    part.parent.mkdir(parents=True, exist_ok=True)
    atomic.write(part, data)
    return part


def _decoded(part: Path) -> Block:
    """Read a part; raise a `ValueError` if folder and file name, by which runs are found, do not match its runs."""
    block = parquet.decode(part)
    env, agent = _quoted(block.header["env"]), _quoted(block.header["agent"])
    stem = f"{agent}-{block.seeds.min()}-{block.seeds.max()}-"
    if part.parent.name != env or not re.fullmatch(re.escape(stem) + parquet.ENDING, part.name):
        raise ValueError(f"{part} must be {env}/{stem}..., where its runs belong, got a renamed or moved file")
    return block


def _same(part: Path, block: Block, others: Sequence[Path], seeds: set[int]) -> None:
    """Raise if the runs of a part with these seeds differ from those in other parts."""
    expected = {run.seed: digest([run]) for run in block.runs() if run.seed in seeds}
    for other in others:
        _, low, high, *_ = parquet.SHARD_NAME.fullmatch(other.name).groups()  # type: ignore[union-attr]
        if any(int(low) <= seed <= int(high) for seed in seeds):
            for run in parquet.decode(other).runs():
                if run.seed in seeds and digest([run]) != expected[run.seed]:
                    raise ValueError(
                        f"a run must have one result, got {key_of(run)} in {part} and, different, in a file beside it"
                    )


def _compare(new: Mapping[str, Any], old: Mapping[str, Any], ignored: Sequence[str], folder: Path | None) -> None:
    differ = {key for key in new.keys() | old.keys() if new.get(key) != old.get(key)} - {*ignored}
    # Arguments first: they may be why other code was used.
    for key in sorted(differ, key=lambda k: (k in CODE_KEYS, k)):
        a, b = old.get(key), new.get(key)
        if isinstance(a, dict) and isinstance(b, dict):
            key, a, b = next((f"{key} {k}", a.get(k), b.get(k)) for k in sorted(a | b) if a.get(k) != b.get(k))
        raise _mixed(new, key, a, b, folder)


def _mixed(new: Mapping[str, Any], what: str, old: Any, value: Any, folder: Path | None) -> ValueError:
    where = "this comparison" if folder is None else folder
    return ValueError(
        f"runs in one folder must agree on what was run: {where} has runs of {new['env']} with {what} {old!r}, "
        f"{new['agent']} would add {value!r}. Choose another folder, or delete {where}/{new['env']}"
    )
