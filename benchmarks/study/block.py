"""Runs of one agent on one id as columns: what is stored, replayed and scored many runs at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hpo_envs.benchmarks.runs import Run

RUN_KEYS = ("seed", "table", "kind", "sha256")
"""Keys of a header that are columns: they may differ from run to run."""

Array = npt.NDArray[Any]
Layout = tuple[tuple[str, str, tuple[int, ...]], ...]
"""Name, dtype and shape of one entry of each array of a run."""


@dataclass(frozen=True)
class Block:
    """Runs of one agent on one id, their evaluations one after the other.

    Attributes:
        header: What all runs share.
        headers: What is a run's alone, one record a run: `seed`, `table`, `kind`, `sha256` and what else differs.
        starts: (runs + 1,) where each run's evaluations begin; the last is the number of all.
        actions: (all, ...) as in `Run`.
        rewards: (all,) or (all, objectives) float64.
        costs: (all,) float64.
        evaluated: (all, ...) arrays by name, see `Run.evaluated`.
        recommended: (runs, ...).
        recommended_truth: (runs, ...) float64, or None.
    """

    header: dict[str, Any]
    headers: list[dict[str, Any]]
    starts: npt.NDArray[np.int64]
    actions: Array
    rewards: npt.NDArray[np.float64]
    costs: npt.NDArray[np.float64]
    evaluated: dict[str, Array]
    recommended: Array
    recommended_truth: npt.NDArray[np.float64] | None

    @staticmethod
    def of(runs: Sequence[Run]) -> Block:
        """Puts runs together.

        Raises:
            ValueError: Runs of different layouts, or arrays that do not hold numbers.
        """
        layout, headers = layout_of(runs[0]), [r.header for r in runs]
        if any(layout_of(r) != layout for r in runs[1:]):
            raise ValueError("runs of one part must have arrays of the same types and shapes")
        shared = {k: v for k, v in headers[0].items() if k not in RUN_KEYS and all(h.get(k) == v for h in headers[1:])}
        rest = [{k: v for k, v in h.items() if k not in shared} for h in headers]
        return Block(
            shared,
            [{**own, "seed": r.seed} for r, own in zip(runs, rest, strict=True)],
            np.cumsum([0, *map(len, runs)]),
            np.concatenate([r.actions for r in runs]),
            np.concatenate([r.rewards for r in runs]),
            np.concatenate([r.costs for r in runs]),
            {name: np.concatenate([r.evaluated[name] for r in runs]) for name in runs[0].evaluated},
            np.stack([np.asarray(r.recommended) for r in runs]),
            None if runs[0].recommended_truth is None else np.stack([r.recommended_truth for r in runs]),
        )

    def __len__(self) -> int:
        return len(self.headers)

    def array(self, name: str) -> Array:
        """What a layout calls by this name."""
        known = {"action": self.actions, "reward": self.rewards, "cost": self.costs, "recommended": self.recommended}
        return getattr(self, name) if name == "recommended_truth" else {**self.evaluated, **known}[name]

    def header_of(self, i: int) -> dict[str, Any]:
        """The whole header of a run."""
        return {**self.header, **self.headers[i]}

    def take(self, runs: npt.NDArray[np.intp]) -> Block:
        """Some of the runs."""
        lengths = np.diff(self.starts)[runs]
        starts = np.concatenate([[0], np.cumsum(lengths)])
        at = np.arange(starts[-1]) + np.repeat(self.starts[runs] - starts[:-1], lengths)
        truth = None if self.recommended_truth is None else self.recommended_truth[runs]
        arrays = self.actions[at], self.rewards[at], self.costs[at], {k: v[at] for k, v in self.evaluated.items()}
        return Block(self.header, [self.headers[i] for i in runs], starts, *arrays, self.recommended[runs], truth)

    def run(self, i: int) -> Run:
        """A run, with arrays of its own."""
        some = slice(self.starts[i], self.starts[i + 1])
        return Run(
            self.headers[i]["seed"],
            self.actions[some].copy(),
            self.rewards[some].copy(),
            self.costs[some].copy(),
            self.recommended[i].copy(),
            self.header_of(i),
            {name: array[some].copy() for name, array in self.evaluated.items()},
            None if self.recommended_truth is None else self.recommended_truth[i].copy(),
        )

    def runs(self) -> list[Run]:
        """The runs, each with arrays of its own."""
        return [self.run(i) for i in range(len(self))]


def blocks_of(runs: Sequence[Run]) -> Iterator[Block]:
    """Runs as blocks, in the order of the first run of each.

    Raises:
        ValueError: An array that does not hold numbers.
    """
    groups: dict[Any, list[Run]] = {}
    for r in runs:
        key = (r.header["env"], r.header["agent"], layout_of(r))
        groups.setdefault(key, []).append(r)
    yield from map(Block.of, groups.values())


def layout_of(run: Run) -> Layout:
    """What runs of one part have in common.

    Raises:
        ValueError: An array that does not hold numbers.
    """
    arrays = {"action": run.actions, "reward": run.rewards, "cost": run.costs, **run.evaluated}
    entries = [(name, str(a.dtype), a.shape[1:]) for name, a in arrays.items()]
    last = {"recommended": run.recommended}
    if run.recommended_truth is not None:
        last["recommended_truth"] = run.recommended_truth
    entries += [(name, str(np.asarray(a).dtype), np.asarray(a).shape) for name, a in last.items()]
    for name, dtype, _ in entries:
        if np.dtype(dtype).kind not in "biuf" or np.dtype(dtype).itemsize > 8:
            raise ValueError(f"{name}s must be numbers of at most 64 bits, got an array of {dtype}")
    return tuple(entries)
