"""Random search: without replacement on finite spaces, uniform on boxes, or from a grammar."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import gymnasium as gym
import numpy as np

from hpo_envs.agents.base import Agent, Incumbent
from hpo_envs.agents.candidates import Candidates
from hpo_envs.agents.problem import Problem


class RandomSearch(Agent):
    """Uniform random search (Bergstra and Bengio 2012), without replacement if candidates can be counted.

    On `Discrete` and `MultiDiscrete` spaces the candidates are tried in a random order, and in a new one once all were
    tried; other spaces are sampled uniformly. If actions are (row, level) pairs, each row is trained to the last level.
    If the problem has a grammar, candidates are drawn from it, and the recommendation is all actions of the best one.

    Zhang and Duh 2020, section 6.1.1 (RS): "configurations are sampled without replacement".

    Formula:
        a ~ U(A without the candidates tried)

    Paper: James Bergstra and Yoshua Bengio. Random Search for Hyper-Parameter Optimization. JMLR 13:281-305, 2012.
    Xuan Zhang and Kevin Duh. Reproducible and Efficient Benchmarks for Hyperparameter Optimization of Neural
    Machine Translation Systems. Transactions of the ACL 8:393-408, 2020, section 6.1.1.

    Complexity: O(1) a suggestion after O(n) at the start.

    Example:
        from hpo_envs import run
        runs = run("random", "NMTHPO-swen-v0", seeds=range(5))
        runs.best()  # the best evaluation of all seeds
    """

    parallel = True
    random_first = float("inf")

    def __init__(self, problem: Problem, seed: int) -> None:
        super().__init__(problem, seed)
        space = problem.action_space
        self._incumbent = Incumbent(problem.objectives)
        self._building: tuple[Any, list[Any]] = (None, [])
        if problem.mutate is not None:
            self.parallel = False
        elif isinstance(space, (gym.spaces.Discrete, gym.spaces.MultiDiscrete)):
            self._incumbent = Candidates(problem)
        else:
            # A copy, as agents that share a problem must not share its space's generator.
            self._space = copy.deepcopy(space)
            self._space.seed(int(self.rng.integers(2**31)))

    def ask(self) -> Any:
        """Return the next candidate in random order, a uniform sample, or the next action of a grammar's candidate."""
        if self.problem.mutate is None:
            if isinstance(self._incumbent, Candidates):
                return self._incumbent.submit(self._incumbent.draw(self.rng))
            return self._space.sample()
        if not self._building[1]:
            candidate = self.problem.mutate(None, self.rng)
            steps = np.ndim(candidate) > len(self.problem.action_space.shape or ())
            self._building = candidate, list(candidate) if steps else [candidate]
        return self._building[1].pop(0)

    def tell(self, action: Any, reward: Any, info: Mapping[str, Any]) -> None:
        """Record the outcome; keep the best action (with a grammar, all actions of the candidate), see `Incumbent`."""
        self._incumbent.note(action if self.problem.mutate is None else self._building[0], reward, info)

    def recommend(self) -> Any:
        """Return the best evaluated action; before any evaluation, the action that `ask` would return next.

        With a grammar, return all actions of the candidate.
        """
        if self._incumbent.best is not None:
            return self._incumbent.best[1]
        twin = copy.deepcopy(self, {id(self.problem): self.problem})
        action = twin.ask()
        return action if self.problem.mutate is None else twin._building[0]
