"""Regularised evolution: population, tournaments, mutation of rows, grids and cells."""

from __future__ import annotations

import copy
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium as gym
import numpy as np

from hpo_envs.agents.base import Agent, Incumbent, lost, whole
from hpo_envs.agents.candidates import Candidates
from hpo_envs.agents.models import Floats
from hpo_envs.agents.problem import Problem
from hpo_envs.tables.checks import one_of

SCALES = (0.5, 1.0, 2.0, 4.0, 8.0)
"""Standard deviations of mutations, tried until the nearest row is not the parent (code of Klyuchnikov et al. 2020)."""

POPULATION = 20
"""Largest population by default (Klyuchnikov et al. 2020, section 5)."""


class RegularizedEvolution(Agent):
    """Regularised evolution (Real et al. 2019): tournament selection, and removal of the oldest member.

    The first `population` candidates are random; by default, after two, none starts once a third of the budget is
    spent, since otherwise most of the run would be random search. Then the best of `sample` members drawn from the
    population is mutated, the child is evaluated and appended, and the oldest member is removed. A mutation is, in this
    order:

    - if the problem has a grammar, `problem.mutate(parent, rng)`, with None for a random member; it returns one action,
      or the sequence of actions that builds a member (recurrent cells);
    - if rows have features, the row nearest to a normal step from the parent's features (Klyuchnikov et al. 2020,
      section 5: evolution "using graph2vec features"), with larger steps while that row is the parent;
    - else, if an action is a tuple of values, one of them redrawn; else a random row.

    Diverged or failed runs are members like all others but never parents, unless all drawn members are such runs.

    Formula:
        parent = argmax of reward in a random sample of S members
        child = mutate(parent); population <- population + child - its oldest member

    Paper: Esteban Real, Alok Aggarwal, Yanping Huang and Quoc V. Le. Regularized Evolution for Image Classifier
    Architecture Search. AAAI 2019, Algorithm 1. Nikita Klyuchnikov et al. NAS-Bench-NLP: Neural Architecture Search
    Benchmark for Natural Language Processing. arXiv:2006.07116, 2020, section 5.

    Complexity: O(rows d) a suggestion.

    Example:
        from hpo_envs import run
        runs = run("regularized-evolution", "NASBenchNLP-cell-v0", seeds=range(2), budget=6, population=3)
        runs[0].recommended  # the actions that build the best cell

    Args:
        problem: `Discrete` rows, (row, checkpoint) pairs, a grid, or a space with a grammar.
        population: P; None: the evaluations begun within a third of the budget, at least 2, at most `POPULATION`.
        sample: S, size of a tournament; None: half of the population.
        metric: `"cosine"` (as released) or `"euclidean"` distance between features.
        ranges: (lowest, highest) natural value of each feature: mutations and distances are then on
            natural values (as released); None: on standardised features.
        fresh: Whether a mutation is mapped to the nearest of the rows evaluated least often (without noise a repeat
            gives no information); False as in the released code, in which repeats are free.
        evaluations: Number of evaluations after which the agent is done; None: never.

    Raises:
        ValueError: An argument is not valid, or the action space is of another kind.
    """

    parallel = True

    def __init__(
        self, problem: Problem, seed: int, population: int | None = None, sample: int | None = None,
        metric: str = "euclidean", ranges: Sequence[tuple[float, float]] | None = None, fresh: bool = True,
        evaluations: int | None = None,
    ) -> None:  # fmt: skip
        super().__init__(problem, seed)
        self.population = POPULATION if population is None else whole("population", population, 1)
        self.sample = None if sample is None else whole("sample", sample, 1)
        if (self.sample or 1) > self.population:
            raise ValueError(f"sample must be at most population={self.population}, got {sample!r}")
        self._first_cost = np.inf if population is not None or problem.budget is None else problem.budget / 3
        self._spent = 0.0
        self.metric = one_of("metric", metric, ("cosine", "euclidean"))
        self.fresh, self._left = fresh, None if evaluations is None else whole("evaluations", evaluations, 1)
        self._members: deque[tuple[float, Any]] = deque(maxlen=self.population)
        self._incumbent = Incumbent(problem.objectives)
        self._building: tuple[Any, list[Any]] | None = None
        self._rows: Candidates | None = None
        self._x: Any = None
        self.parallel = problem.mutate is None
        if self.parallel and (problem.levels is not None or isinstance(problem.action_space, gym.spaces.Discrete)):
            self._incumbent = self._rows = Candidates(problem)
            self._rows.shuffle(self.rng)
            if problem.features is not None:
                self._x = natural(np.asfortranarray(self._rows.features), ranges)
                self._bounds = self._x.min(axis=0), self._x.max(axis=0)
        elif self.parallel and not isinstance(problem.action_space, gym.spaces.MultiDiscrete):
            raise ValueError(f"action_space must be rows, be a grid or have a grammar, got {problem.action_space}")

    def ask(self) -> Any:
        """Return the action of a random candidate (first population) or of a mutated tournament winner.

        If a candidate of the grammar takes several actions, return the next one.
        """
        if self._building is not None:
            member, actions = self._building
            return actions.pop(0) if len(actions) > 1 else actions[0]
        member = self._random() if self._young() else self._mutate(self._winner())
        if self._rows is not None:
            return self._rows.submit(self._rows.row(member))
        if self.problem.mutate is None:
            return member
        steps = np.ndim(member) > len(self.problem.action_space.shape or ())
        self._building = member, list(member) if steps else [member]
        return self.ask()

    def _young(self) -> bool:
        """Return whether the next candidate belongs to the first population, and if so, add 1 to `random_first`.

        Once it does not, the population has the size that it has reached.
        """
        count = len(self._members)
        if count < self.population and (count < 2 or self._spent < self._first_cost):
            self.random_first += 1
            return True
        if count < self.population:
            self.population = count
            self._members = deque(self._members, maxlen=count)
        return False

    def _winner(self) -> Any:
        size = min(self.sample or max(self.population // 2, 1), self.population)
        drawn = self.rng.choice(len(self._members), size, replace=False)
        return max((self._members[i] for i in drawn), key=lambda member: member[0])[1]  # the first of ties

    def _random(self) -> Any:
        if self._rows is not None:
            return self._rows.action(self._rows.draw(self.rng))
        if self.problem.mutate is not None:
            return self.problem.mutate(None, self.rng)
        return self.rng.integers(self.problem.action_space.nvec)  # type: ignore[attr-defined]

    def _mutate(self, parent: Any) -> Any:
        if self.problem.mutate is not None:
            return self.problem.mutate(parent, self.rng)
        if self._rows is None:
            changed = np.array(parent)
            sizes = self.problem.action_space.nvec  # type: ignore[attr-defined]
            if (several := np.flatnonzero(sizes > 1)).size:
                j = self.rng.choice(several)
                changed[j] = (changed[j] + self.rng.integers(1, sizes[j])) % sizes[j]
            return changed
        row: int = self._rows.row(parent)
        if self._x is None:
            return self._rows.action(self._rows.nearest(self.rng.random(self._rows.count), self.fresh))
        child: int = row
        for scale in SCALES:
            step = self.rng.standard_normal(self._x.shape[1]) * scale
            child = self._rows.nearest(self._distances(np.clip(self._x[row] + step, *self._bounds)), self.fresh)
            if child != row:
                break
        return self._rows.action(child)

    def _distances(self, point: Any) -> Any:
        if self.metric == "euclidean":
            return ((self._x - point) ** 2).sum(axis=1)
        lengths = np.linalg.norm(self._x, axis=1) * np.linalg.norm(point)
        return 1.0 - self._x @ point / np.where(lengths > 0, lengths, 1.0)

    def tell(self, action: Any, reward: Any, info: Mapping[str, Any]) -> None:
        """Add an evaluated member; the oldest one leaves a full population. Set `done` after `evaluations`.

        Of a candidate that takes several actions, the last one's outcome counts.
        """
        member = action if self._building is None else self._building[0]
        if not self._incumbent.note(member, reward, info):
            return
        if self._left is not None:
            self._left -= 1
            self.done = self._left <= 0
        self._building = None
        self._spent += float(info.get("cost", 0.0))
        self._members.append((-np.inf if lost(info) else float(np.sum(reward)), member))

    def recommend(self) -> Any:
        """Return the best evaluated candidate (all its actions, if it takes several); before any, a random one."""
        if self._incumbent.best is not None:
            return self._incumbent.best[1]
        return copy.deepcopy(self, {id(self.problem): self.problem})._random()


def natural(x: Floats, ranges: Sequence[tuple[float, float]] | None) -> Floats:
    """Return (n, d) features in [0, 1] as natural values, or, without `ranges`, standardised (constant columns as 0).

    Raises:
        ValueError: `ranges` is not a pair of numbers for each feature.
    """
    if ranges is None:
        deviation = x.std(axis=0)
        return np.asarray((x - x.mean(axis=0)) / np.where(deviation > 0, deviation, 1.0))
    ends = np.asarray(ranges, dtype=np.float64)
    if ends.shape != (x.shape[1], 2):
        raise ValueError(f"ranges must be (lowest, highest) for each of {x.shape[1]} features, got {ranges!r}")
    return np.asarray(ends[:, 0] + x * (ends[:, 1] - ends[:, 0]))
