"""Columns of the runs of one agent on one id, to store, replay and score many runs at once."""

from __future__ import annotations

import functools
import hashlib
import itertools
import json
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hpo_envs.benchmarks.analysis import regret
from hpo_envs.benchmarks.analysis.scales import scale_of
from hpo_envs.benchmarks.runs import Run
from hpo_envs.benchmarks.runs.episodes import seeds_of
from hpo_envs.tables import Array
from hpo_envs.tables.table import Floats

ONCE = ("recommended", "recommended_truth")
"""Arrays with one entry per run; all others have one per evaluation."""

Layout = tuple[tuple[str, str, tuple[int, ...]], ...]
"""Name, dtype and shape of one entry of each array of a run."""


@dataclass(frozen=True)
class Block:
    """Runs of one agent on one id, with concatenated evaluations."""

    header: dict[str, Any]  # entries shared by all runs
    seeds: npt.NDArray[np.int64]  # (runs,)
    rest: list[dict[str, Any]]  # distinct remainders of headers, without seed and scale: `table` and what else differs
    which: npt.NDArray[np.intp]  # (runs,) index in `rest`
    scales: list[str] | None  # (runs,) JSON with sorted keys, `null` for none; None: it is in `header`
    starts: npt.NDArray[np.int64]  # (runs + 1,) index of each run's first evaluation; the last is the total number
    arrays: dict[str, Array]
    """(all, ...) `action`, `reward`, `cost`, `seconds` if known, and those of `Run.evaluated`; and (runs, ...)
    `recommended` and, if known, `recommended_truth`."""

    @staticmethod
    def of(runs: Sequence[Run]) -> Block:
        """Concatenate one or more runs; different layouts, or arrays that are not numeric, raise a `ValueError`."""
        headers, arrays = [r.header for r in runs], [arrays_of(r) for r in runs]
        if len(set(map(layout_of, runs))) > 1:
            raise ValueError("runs of one part must have arrays of the same types and shapes")
        common = headers[0].keys() - {"seed", "reset_seed", "table", "kind", "sha256"}
        shared = {k: v for k, v in headers[0].items() if k in common and all(h.get(k) == v for h in headers[1:])}
        apart = {*shared, "seed", "reset_seed", "scale"}
        alone = [{k: v for k, v in h.items() if k not in apart} for h in headers]
        known: dict[str, int] = {}
        which = [known.setdefault(repr(sorted(own.items())), len(known)) for own in alone]
        several = "scale" not in shared and any("scale" in h for h in headers)
        return Block(
            shared,
            np.array([r.seed for r in runs], np.int64),
            [alone[which.index(k)] for k in range(len(known))],
            np.array(which, np.intp),
            [json.dumps(h.get("scale"), sort_keys=True) for h in headers] if several else None,
            np.cumsum([0, *map(len, runs)]),
            {n: (np.stack if n in ONCE else np.concatenate)([a[n] for a in arrays]) for n in arrays[0]},
        )

    def __len__(self) -> int:
        return len(self.seeds)

    @functools.cached_property
    def each_scale(self) -> Sequence[dict[str, Any] | None]:
        """(runs,) scales as in headers; None for a run without one."""
        return [self.header.get("scale")] * len(self) if self.scales is None else _parsed(tuple(self.scales))

    def scale(self, i: int) -> dict[str, Any]:
        """Return the scale of run `i` as in headers; a `ValueError` if it has none."""
        return self.each_scale[i] or scale_of(self.header_of(i))

    @functools.cached_property
    def _scales(self) -> list[dict[str, Any]]:
        return [self.scale(i) for i in range(len(self))]

    @functools.cached_property
    def scaled(self) -> npt.NDArray[np.bool_]:
        """(runs,) whether the scale of regret is known; a `ValueError` if a run has none in its header."""
        return np.array([s["source"] != "none" for s in self._scales], bool)

    @functools.cached_property
    def _bounds(self) -> Floats:
        """(2, runs) best and reference of the first objective; 0 if unknown."""
        each = [[s["best"][0], s["reference"][0]] if s["source"] != "none" else [0.0, 0.0] for s in self._scales]
        return np.array(each).reshape(-1, 2).T

    @property
    def flat(self) -> npt.NDArray[np.bool_]:
        """(runs,) whether a run is degenerate (best = median); False for several objectives or without a scale."""
        if self.arrays["reward"].ndim > 1:
            return np.zeros(len(self), bool)
        best, reference = self._bounds
        return np.asarray(self.scaled & (best <= reference))

    def _normalised(self, incumbents: Floats, run: npt.NDArray[np.intp]) -> Floats:
        best, reference = self._bounds[:, run, None]
        scaled = regret.normalised(incumbents[:, None], best, reference)[:, 0]
        return np.where(self.scaled[run], scaled, -incumbents)

    @functools.cached_property
    def regret(self) -> Floats:
        """(all,) regret after each evaluation, or raw score without a known scale, see `analysis.regret.after`."""
        rewards, starts = self.arrays["reward"], self.starts.tolist()
        if rewards.ndim > 1 or "truth" in self.arrays:
            return np.concatenate([np.empty(0), *(regret.after(run) for run in self.runs() if len(run))])
        parts = [np.maximum.accumulate(rewards[a:b]) for a, b in itertools.pairwise(starts)]
        return self._normalised(np.concatenate([np.empty(0), *parts]), np.repeat(np.arange(len(self)), np.diff(starts)))

    @functools.cached_property
    def final(self) -> Floats:
        """(runs,) final regret: of the recommendation with one noisy objective, else the last; NaN if there is none."""
        if {"truth", "recommended_truth"} <= self.arrays.keys() and self.arrays["reward"].ndim == 1:
            truths = self.arrays["recommended_truth"].reshape(len(self), -1)[:, 0]
            return self._normalised(truths, np.arange(len(self)))
        return np.append(self.regret, np.nan)[np.where(np.diff(self.starts), self.starts[1:] - 1, -1)]

    @functools.cached_property
    def mean(self) -> Floats:
        """(runs,) regret averaged over the budget; NaN without evaluations."""
        means = np.full(len(self), np.nan)
        for some in self.alike(np.flatnonzero(np.diff(self.starts))):
            at = self.at(some)
            means[some] = regret.averaged(self.header_of(int(some[0])), self.arrays["cost"][at], self.regret[at])
        return means

    def alike(self, runs: npt.NDArray[np.intp] | None = None) -> Iterable[npt.NDArray[np.intp]]:
        """Yield the indices of `runs` (default: all) of equal header, number of evaluations and source of the scale."""
        groups: dict[Any, list[int]] = {}
        lengths, which = np.diff(self.starts).tolist(), self.which.tolist()
        for i in range(len(self)) if runs is None else runs.tolist():
            groups.setdefault((which[i], lengths[i], self.scale(i)["source"]), []).append(i)
        return map(np.array, groups.values())

    def at(self, runs: npt.NDArray[np.intp]) -> npt.NDArray[np.int64]:
        """Return the (n, k) indices of the evaluations of n runs, which must all have k."""
        return self.starts[runs][:, None] + np.arange(self.starts[runs[0] + 1] - self.starts[runs[0]])

    @property
    def layout(self) -> Layout:
        """Name, dtype and shape of one entry of each array."""
        return tuple((name, str(a.dtype), a.shape[1:]) for name, a in self.arrays.items())

    def header_of(self, i: int) -> dict[str, Any]:
        """Return the whole header of run `i`."""
        scale, seed = self.each_scale[i], int(self.seeds[i])
        own = {**self.rest[self.which[i]], "seed": seed, "reset_seed": seeds_of(self.header["env"], seed)[0]}
        return {**self.header, **own} | ({} if scale is None else {"scale": scale})

    def take(self, runs: npt.NDArray[np.intp]) -> Block:
        """Return a block of some of the runs."""
        lengths = np.diff(self.starts)[runs]
        starts = np.concatenate([[0], np.cumsum(lengths)])
        at = np.arange(starts[-1]) + np.repeat(self.starts[runs] - starts[:-1], lengths)
        scales = None if self.scales is None else [self.scales[i] for i in runs.tolist()]
        arrays = {name: a[runs if name in ONCE else at] for name, a in self.arrays.items()}
        return Block(self.header, self.seeds[runs], self.rest, self.which[runs], scales, starts, arrays)

    def run(self, i: int) -> Run:
        """Return run `i` with copied arrays."""
        some = slice(self.starts[i], self.starts[i + 1])
        own = {name: a[i if name in ONCE else some].copy() for name, a in self.arrays.items()}
        actions, rewards, costs, recommended = map(own.pop, ("action", "reward", "cost", "recommended"))
        truth, seconds = own.pop("recommended_truth", None), own.pop("seconds", None)
        header = self.header_of(i)
        return Run(int(self.seeds[i]), actions, rewards, costs, recommended, header, own, truth, seconds=seconds)

    def runs(self) -> list[Run]:
        """Return all runs, with copied arrays."""
        return [self.run(i) for i in range(len(self))]


@functools.lru_cache(maxsize=1)  # agents have equal scales on equal seeds, and their runs are read in turn
def _parsed(texts: tuple[str, ...]) -> list[dict[str, Any] | None]:
    return list(json.loads(f"[{','.join(texts)}]"))


def blocks_of(runs: Sequence[Run]) -> Iterator[Block]:
    """Yield a block per id, agent and layout, ordered by first run; a `ValueError` if arrays are not numeric."""
    groups: dict[Any, list[Run]] = {}
    for r in runs:
        groups.setdefault((r.header["env"], r.header["agent"], layout_of(r)), []).append(r)
    yield from map(Block.of, groups.values())


def arrays_of(run: Run) -> dict[str, Array]:
    """Return the arrays of a run by the names of `Block.arrays`."""
    last = {name: getattr(run, name) for name in (*ONCE, "seconds")}
    arrays = {"action": run.actions, "reward": run.rewards, "cost": run.costs, **run.evaluated}
    return arrays | {name: np.asarray(value) for name, value in last.items() if value is not None}


def layout_of(run: Run) -> Layout:
    """Return name, dtype and shape of one entry of each array of a run; a `ValueError` if one is not numeric."""
    arrays = arrays_of(run)
    for name, array in arrays.items():
        if not _name_of(array.dtype):
            raise ValueError(f"{name} must hold numbers of at most 64 bits, got an array of {array.dtype}")
    return tuple((n, _name_of(a.dtype), a.shape if n in ONCE else a.shape[1:]) for n, a in arrays.items())


@functools.cache  # the text of a dtype takes long
def _name_of(dtype: np.dtype[Any]) -> str:
    return str(dtype) if dtype.kind in "biuf" and dtype.itemsize <= 8 else ""


def digest_of(blocks: Iterable[Block]) -> str:
    """Return the sha256 of runs in any order, without seconds and `suite`; equal digests mean identical results."""
    total = hashlib.sha256()
    groups: dict[tuple[str, str], list[Block]] = {}
    for block in blocks:
        groups.setdefault((block.header["env"], block.header["agent"]), []).append(block)
    for _, some in sorted(groups.items()):
        contents = [_contents(block) for block in some]
        each = [(seed, k, i) for k, block in enumerate(some) for i, seed in enumerate(block.seeds.tolist())]
        for _, k, i in sorted(each):
            total.update(contents[k](i))
    return total.hexdigest()


def _contents(block: Block) -> Callable[[int], bytes]:
    """Return a function from the index of a run to its hashed bytes: header, seed, scale, then each array."""
    whole = ({**block.header, **own} for own in block.rest)
    headers = [json.dumps({k: v for k, v in h.items() if k not in ("scale", "suite")}, sort_keys=True) for h in whole]
    scales = block.scales or [json.dumps(block.header.get("scale"), sort_keys=True)] * len(block)
    seeds, which, starts = block.seeds.tolist(), block.which.tolist(), block.starts.tolist()
    arrays = sorted((name, a) for name, a in block.arrays.items() if name != "seconds")
    columns = [(a.tobytes(), a.itemsize * math.prod(a.shape[1:]), name not in ONCE) for name, a in arrays]

    @functools.cache
    def labels(length: int) -> list[bytes]:
        shapes = [a.shape[1:] if name in ONCE else (length, *a.shape[1:]) for name, a in arrays]
        return [f"{name} {a.dtype} {shape}".encode() for (name, a), shape in zip(arrays, shapes, strict=True)]

    def content(i: int) -> bytes:
        a, b = starts[i], starts[i + 1]
        found = [f"{headers[which[i]]} {seeds[i]} {scales[i]}".encode()]
        for (raw, width, many), label in zip(columns, labels(b - a), strict=True):
            found += label, raw[a * width : b * width] if many else raw[i * width : (i + 1) * width]
        return b"".join(found)

    return content
