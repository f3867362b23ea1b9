"""Scores of runs by environment and agent: labels, checks that runs are comparable, degenerate tasks, overlap.

Runs are read part by part, as columns; their scores, their costs and pairs of rewards are kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from hpo_envs.benchmarks.analysis import regret
from hpo_envs.benchmarks.runs.record import agent_of, environment_of
from hpo_envs.benchmarks.study.block import Block
from hpo_envs.tables.catalogue import overlap
from hpo_envs.tables.table import Floats

Header = Mapping[str, Any]

GRID = np.linspace(0.0, 1.0, 51)[1:]
"""Fractions of the budget at which curves are stored."""

TOGETHER = 200
"""Largest number of runs per batch in the computation of curves and running times."""


def _overlap(header: Header) -> list[str]:
    """Languages of a run's problem that its source tasks also have, of which there must be none."""
    known = header.get("transfer", {})
    languages = {language for s in known.get("sources", ()) for language in s["languages"]}
    return overlap(languages, known.get("excluded", ()))


COLUMNS = ("seeds", "random", "flat", "anytime", "final", "evaluations", "costs", "spent")


@dataclass
class ScoredRuns:
    """Scores of n runs of one agent on one environment; each array has an entry or a row for each run."""

    budget: float
    raw: bool  # whether no scale is known, so that scores are minus the incumbents instead of regret
    seeds: npt.NDArray[np.int64]
    random: npt.NDArray[np.bool_]  # whether all evaluations are those of random search
    flat: npt.NDArray[np.bool_]  # whether a run is degenerate: its regret is 0/0, and its scores are 0
    anytime: Floats  # (n,) mean regret over the budget
    final: Floats  # (n,) regret at the end
    evaluations: Floats  # (n, L) regret after 1 to L evaluations
    costs: npt.NDArray[Any]  # (n, L) cost of each evaluation, 0 after the last
    spent: Floats  # (n,) fraction of the budget used

    def score(self, name: str) -> Floats:
        """Return the (n,) scores `anytime` or `final`, by name."""
        return self.anytime if name == "anytime" else self.final

    def take(self, some: Any) -> ScoredRuns:
        """Return the runs that `some` selects, an index array, mask or slice."""
        return ScoredRuns(self.budget, self.raw, *(getattr(self, name)[some] for name in COLUMNS))

    @property
    def shares(self) -> Floats:
        """(n, len(GRID)) regret, or raw scores, at the fractions of the budget in `GRID`."""
        return np.concatenate([regret.at_costs(r, c, self.budget, GRID, raw=self.raw) for r, c in self._parts()])

    def runtimes(self, targets: npt.ArrayLike = regret.TARGETS) -> Floats:
        """Return the (n, targets) fractions of the budget until each target is reached; inf if never or if raw."""
        return np.concatenate([regret.runtimes(r, c, targets, raw=self.raw) for r, c in self._parts()]) / self.budget

    def _parts(self) -> Iterable[tuple[Floats, npt.NDArray[Any]]]:
        """Regret and costs of some runs at a time, to limit memory."""
        split = -(-len(self.seeds) // TOGETHER)
        return zip(np.array_split(self.evaluations, split), np.array_split(self.costs, split), strict=True)


ByAgent = Mapping[str, Mapping[str, ScoredRuns]]
"""Scored runs by environment and agent."""


@dataclass
class AgentRuns:
    """The runs of one agent on one environment, in the order in which they arrive."""

    rank: tuple[Any, ...]  # lowest sort key of its parts, see `Scores.add`
    header: dict[str, Any]  # of the first run of that part
    pieces: list[ScoredRuns] = field(default_factory=list)  # each with runs of equal length
    first: dict[bool, tuple[int, dict[str, Any]]] = field(default_factory=dict)
    """Lowest seed and its header, of the degenerate runs (True) and of the others (False), if there are any."""
    flat: int = 0  # number of degenerate runs
    fronts: list[tuple[Floats, Floats]] = field(default_factory=list)
    """(k, 2) rewards and (k,) costs of each run with two objectives."""


class Scores:
    """Scores of runs that arrive in parts, in any order."""

    def __init__(self) -> None:
        self.cells: dict[tuple[str, str], AgentRuns] = {}  # by the labels of environment and agent
        self.answered: dict[str, set[tuple[str, str, str]]] = {}  # name, kind and sha256 of tables, by environment
        self._facts: dict[tuple[str, ...], Any] = {}  # that compared runs must share

    def add(self, block: Block, rank: tuple[Any, ...]) -> None:
        """Add runs; `rank` is the sort key of their environment and agent, comparable with those of other calls.

        Raises:
            ValueError: The runs cannot be compared with the others, or a run has no evaluation.
        """
        for index in _groups(block):
            header = block.header_of(int(index[0]))
            env, agent = environment_of(header), agent_of(header)
            self.check(header)
            self.answered.setdefault(env, set()).add(
                (header["table"], header["kind"], header.get("space", header["sha256"]))
            )
            cell = self.cells.setdefault((env, agent), AgentRuns(rank, header))
            if rank < cell.rank:
                cell.rank, cell.header = rank, header
            for some in block.alike(index):
                self._score(block, some, cell)

    def check(self, h: Header) -> None:
        """Raise if a header does not match the previous ones, or source tasks share a language with the environment."""
        env, agent = environment_of(h), agent_of(h)
        own = ("space", env) if "space" in h else ("sha256", f"table {h['table']} ({h['kind']})")
        here = {
            own: h[own[0]],
            ("budget", env): (h["budget"], h["cost_unit"]),
            ("objective", env): tuple(h["objectives"]),
            ("shuffle", env): h.get("shuffle", False),
            ("sources", env): h.get("transfer"),
            ("number version", env): h.get("numbers"),
        }
        for name in ("algorithm", "hyperparameters", "agent_source", "agent_numbers", "agent_versions"):
            here[name, agent] = h.get(name) or {}
        if "changed" not in h:  # of a search kept apart under its own name
            here["environment_source", env] = h.get("environment_source") or {}
        for fact, value in here.items():
            if self._facts.setdefault(fact, value) != value:
                raise ValueError(f"runs must share their {' of '.join(fact)}, got {self._facts[fact]} and {value}")
        if both := _overlap(h):
            raise ValueError(
                f"sources must share no language with {env}, got {', '.join(both)} in runs of {agent_of(h)}"
            )

    def _score(self, block: Block, index: npt.NDArray[np.intp], cell: AgentRuns) -> None:
        """Score runs of equal length whose scales are from one source."""
        seeds = block.seeds[index]
        if block.starts[index[0] + 1] == block.starts[index[0]]:
            where = f"{agent_of(cell.header)} on {environment_of(cell.header)} with seed {seeds[0]}"
            raise ValueError(f"runs must have at least one evaluation, got none for {where}")
        at, flat, budget = block.at(index), block.flat[index], float(cell.header["budget"])
        rewards, costs = block.arrays["reward"][at], block.arrays["cost"][at]
        cell.flat += int(flat.sum())
        random = np.full(len(index), "random_search" in {**block.header, **block.rest[block.which[index[0]]]})
        measured = block.mean[index], block.final[index], block.regret[at], _narrow(costs), costs.sum(axis=1) / budget
        cell.pieces.append(ScoredRuns(budget, regret.raw(cell), seeds, random, flat, *measured))
        for f in np.unique(flat).tolist():
            low = min(np.flatnonzero(flat == f).tolist(), key=seeds.__getitem__)
            if f not in cell.first or seeds[low] < cell.first[f][0]:
                cell.first[f] = int(seeds[low]), block.header_of(int(index[low]))
        if rewards.shape[2:] == (2,):
            cell.fronts += zip(rewards, costs, strict=True)

    def ordered(self) -> list[tuple[str, str]]:
        """Return the (environment, agent) keys of all cells, by rank."""
        return sorted(self.cells, key=lambda key: self.cells[key].rank)

    def averaged(self, env: str) -> bool:
        """Return whether an environment has non-degenerate runs; if so, averages leave out the degenerate ones."""
        return any(False in cell.first for (e, _), cell in self.cells.items() if e == env)

    def first(self) -> dict[str, dict[str, Any]]:
        """Return the header of each environment's first scored run: the lowest seed of the agent of lowest rank."""
        found: dict[str, dict[str, Any]] = {}
        for env, agent in self.ordered():
            some = [pair for flat, pair in self.cells[env, agent].first.items() if not (flat and self.averaged(env))]
            if some:
                found.setdefault(env, min(some, key=lambda pair: pair[0])[1])
        return found

    def left_out(self, env: str) -> int:
        """Return the number of degenerate runs that averages of an environment leave out; 0 if all are degenerate."""
        return sum(cell.flat for (e, _), cell in self.cells.items() if e == env) if self.averaged(env) else 0

    def scored(self) -> dict[str, dict[str, ScoredRuns]]:
        """Return all scores by environment and agent, ordered by lowest seed, then by rank; can be called only once.

        Raises:
            ValueError: There are no runs, or a run occurs twice.
        """
        if not self.cells:
            raise ValueError("runs must not be empty, got none")
        pieces, lengths = {}, dict[str, int]()
        for key in self.ordered():
            cell, averaged = self.cells[key], self.averaged(key[0])
            seeds, times = np.unique(np.concatenate([p.seeds for p in cell.pieces]), return_counts=True)
            if times.max() > 1:
                seed = seeds[times.argmax()]
                raise ValueError(f"runs must be unique, got {key[1]} on {key[0]} with seed {seed} twice")
            some = [p.take(~p.flat) if averaged and p.flat.any() else p for p in cell.pieces]
            cell.pieces = []  # free the joined parts
            if some := [p for p in some if len(p.seeds)]:
                pieces[key] = some
                lengths[key[0]] = max(lengths.get(key[0], 0), *(p.evaluations.shape[1] for p in some))
        found: dict[str, dict[str, ScoredRuns]] = {}
        for env, agent in sorted(pieces, key=lambda key: min(int(p.seeds.min()) for p in pieces[key])):
            found.setdefault(env, {})[agent] = _joined(pieces.pop((env, agent)), lengths[env])
        return found


def _groups(block: Block) -> Iterable[npt.NDArray[np.intp]]:
    """Indices of the runs of a block, grouped by their headers without seed and scale."""
    known, first = np.unique(block.which, return_index=True)
    return (np.flatnonzero(block.which == k) for k in known[np.argsort(first)])


def _narrow(costs: Floats) -> npt.NDArray[Any]:
    """Return costs as uint8 if all are integers up to 255, else unchanged."""
    with np.errstate(invalid="ignore"):
        counts = costs.astype(np.uint8)
    return counts if (counts == costs).all() else costs


def _joined(pieces: Sequence[ScoredRuns], length: int) -> ScoredRuns:
    """Join the runs of an agent on an environment, sorted by seed and padded to `length` evaluations."""
    for p in pieces:
        p.costs = np.pad(p.costs, ((0, 0), (0, length - p.evaluations.shape[1])))
        p.evaluations = regret.at_evaluations(p.evaluations, length)
    columns = (np.concatenate([getattr(p, name) for p in pieces]) for name in COLUMNS)
    whole = ScoredRuns(pieces[0].budget, pieces[0].raw, *columns)
    return whole.take(np.argsort(whole.seeds))
