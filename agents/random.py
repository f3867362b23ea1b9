"""Random search."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import gymnasium as gym
import numpy as np

from hpo_envs.agents.base import Agent
from hpo_envs.agents.problem import Problem
from hpo_envs.agents.rows import Rows


class RandomSearch(Agent):
    """Uniform random search (Bergstra and Bengio 2012), without replacement where candidates can be counted.

    On `Discrete` spaces a fresh permutation is drawn whenever all candidates were tried; on `MultiDiscrete`
    spaces cells already tried are drawn again; other spaces are sampled uniformly. Where actions are (row, level)
    pairs, each row is trained to the last level, or to `resource` in units of the first one (epochs where every
    epoch is a level). Where the problem has a grammar, candidates are drawn from it, and the recommendation is all
    actions of the best one.

    Zhang and Duh 2020, section 6.1.1 (RS): "configurations are sampled without replacement".

    Formula:
        a ~ U(A without the candidates tried)

    Paper: James Bergstra and Yoshua Bengio. Random Search for Hyper-Parameter Optimization. JMLR 13:281-305, 2012.
    Xuan Zhang and Kevin Duh. Reproducible and Efficient Benchmarks for Hyperparameter Optimization of Neural
    Machine Translation Systems. Transactions of the ACL 8:393-408, 2020, section 6.1.1.

    Complexity: O(1) a suggestion after O(n) at the start.

    Args:
        problem: Any problem.
        seed: Seed of `self.rng`.
        resource: Where actions are (row, level) pairs: the level that a training goes to, in units of the first one;
            None = the last.
    """

    def __init__(self, problem: Problem, seed: int, resource: float | None = None) -> None:
        super().__init__(problem, seed)
        self._best: tuple[float, Any] | None = None
        space = problem.action_space
        self._pairs = problem.levels is not None and isinstance(space, gym.spaces.MultiDiscrete)
        self._shape = tuple(int(n) for n in space.nvec) if isinstance(space, gym.spaces.MultiDiscrete) else ()
        if isinstance(space, gym.spaces.Discrete):
            self._count = int(space.n)
        elif self._pairs:
            self._count, self._top = self._shape[0], Rows(problem, resource).top
        elif self._shape:
            self._count = int(np.prod(self._shape))
        else:
            self._count = 0
            # A private copy: seeding the problem's own space would tie agents to each other.
            self._space = copy.deepcopy(space)
            self._space.seed(int(self.rng.integers(2**31)))
        self._order: list[int] = []
        self._building: tuple[Any, list[Any]] = (None, [])

    def ask(self) -> Any:
        """Returns a candidate that was not drawn before, or a uniform sample."""
        if self.problem.mutate is not None:
            return self._from_grammar()
        if not self._count:
            return self._space.sample()
        if not self._order:
            self._order = self.rng.permutation(self._count).tolist()
        row = self._order.pop()
        if self._pairs:
            return np.array([row, self._top])
        if self._shape:
            return np.array(np.unravel_index(row, self._shape))
        return row

    def _from_grammar(self) -> Any:
        """The next action of a random candidate of the problem's grammar."""
        if not self._building[1]:
            assert self.problem.mutate is not None
            candidate = self.problem.mutate(None, self.rng)
            steps = np.ndim(candidate) > len(self.problem.action_space.shape or ())
            self._building = candidate, list(candidate) if steps else [candidate]
        return self._building[1].pop(0)

    def tell(self, action: Any, reward: Any, info: Mapping[str, Any]) -> None:
        """Remembers the best action; with several objectives, the best sum of rewards."""
        if not info.get("finished", True):
            return
        score = float(np.sum(reward))
        if self._best is None or score > self._best[0]:
            self._best = (score, action if self.problem.mutate is None else self._building[0])

    def recommend(self) -> Any:
        """Returns the best action told, or a random one before the first."""
        return self.ask() if self._best is None else self._best[1]
