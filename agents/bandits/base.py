"""Base classes of bandit agents: initial evaluations of each arm, batches, delayed results, stopping rules, budget."""

import abc
from collections import deque
from collections.abc import Mapping
from typing import Any

import gymnasium as gym
import numpy as np

from hpo_envs.agents.bandits.best_arm import Belief
from hpo_envs.agents.bandits.glr import likelihood_ratio
from hpo_envs.agents.base import Agent, whole
from hpo_envs.agents.models import Floats
from hpo_envs.agents.problem import Problem
from hpo_envs.tables.checks import one_of


def logit(score: float, low: float, high: float) -> float:
    """Return the log odds of a score's position between the bounds of its metric (Moss et al. 2019, section 4.2).

    Raises:
        ValueError: The score is not strictly between the bounds.
    """
    if not low < score < high:
        raise ValueError(
            f"score must lie strictly between the metric's bounds {low:g} and {high:g} for the logit transform, "
            f"got {score!r}"
        )
    return float(np.log((score - low) / (high - score)))


class ArmsAgent(Agent):
    """Base class of agents that select the best of a few noisy arms.

    The action space is `Discrete(n)`, or `MultiDiscrete([n] * batch)`, where a step evaluates a batch and
    `info["scores"]` has one score per arm of the action. Results may be delayed: `info["finished"]` is False if a step
    returns no result, else `info["action"]`, if present, is the action that the result belongs to.

    Attributes:
        arms: Number of arms.
        batch: Number of evaluations of one action; 1 if the action is a single arm.
        belief: Sufficient statistics of the scores (of their logits, if there are `bounds`), and pi.

    Args:
        problem: A problem with arms.
        bounds: Lowest and highest value of the metric, to model the `logit` of the scores; None: model the scores.

    Raises:
        ValueError: The action space has another form or only one arm, or the bounds are not two finite numbers in
            ascending order.
    """

    parallel = True

    def __init__(self, problem: Problem, seed: int, *, bounds: tuple[float, float] | None = None) -> None:
        super().__init__(problem, seed)
        if bounds is not None and not -np.inf < bounds[0] < bounds[1] < np.inf:
            raise ValueError(f"bounds must be two finite numbers, the lower first, got {bounds!r}")
        self.bounds = bounds
        self.arms, self.batch = _shape(problem.action_space)
        self._vector = isinstance(problem.action_space, gym.spaces.MultiDiscrete)
        self.belief = Belief(self.arms)

    @abc.abstractmethod
    def choose(self) -> int:
        """Return the arm to evaluate next."""

    def update(self) -> None:
        """Update the agent after the results of an action were added to `belief`; by default, do nothing."""

    def ask(self) -> Any:
        """Return the next arm; if actions are batches, a (batch,) int64 vector of arms, which may repeat."""
        return np.array([self.choose() for _ in range(self.batch)], np.int64) if self._vector else self.choose()

    def tell(self, action: Any, reward: Any, info: Mapping[str, Any]) -> None:
        """Add the reward, or each of `info["scores"]` of a batch, to its arm, then `update`, if there is a result.

        Raises:
            ValueError: A score is NaN or beyond 1e150 in size, or not strictly between `bounds`.
        """
        if not info.get("finished", True):
            return
        action = info.get("action", action)
        if self._vector:
            for arm, score in zip(action, info["scores"], strict=True):
                self._add(int(arm), float(score))
        else:
            self._add(int(action), float(reward))
        self.update()

    def _add(self, arm: int, score: float) -> None:
        self.belief.add(arm, score if self.bounds is None else logit(score, *self.bounds))

    def recommend(self) -> Any:
        """Return the arm of `best_mean`; if actions are batches, a (batch,) int64 vector of this arm."""
        return self._action(self.best_mean())

    def best_mean(self) -> int:
        """Return the evaluated arm with the highest sample mean, the first one on ties; arm 0 before any evaluation."""
        return int(np.where(self.belief.counts > 0, self.belief.means, -np.inf).argmax())

    def draw(self, weights: Floats) -> int:
        """Draw an arm with probability proportional to (arms,) weights >= 0, of which one is positive."""
        total = weights.cumsum()
        return min(int(total.searchsorted(self.rng.random() * total[-1], side="right")), self.arms - 1)

    def _action(self, arm: int) -> Any:
        return np.full(self.batch, arm, np.int64) if self._vector else arm


class ConfidentAgent(ArmsAgent):
    """Base class of agents that stop once they are confident which arm is the best.

    Every arm is first evaluated `initial` times, then `sample` chooses. Known scores may be passed to `tell` before
    the first `ask`; they count as evaluations.

    Args:
        confidence: 1 - delta, the required probability of a correct selection; None: never stop.
        stopping: `pi`: the largest posterior probability exceeds `confidence` (Moss et al. 2019, Algorithm 2).
            `glr`: the generalised likelihood ratio for Gaussians with unknown variances exceeds
            log((1 + log t) / delta) after t evaluations (Jourdan, Degenne and Kaufmann 2023); a frequentist rule, more
            cautious.
        initial: Evaluations of each arm before the first decision, at least 3 (Moss et al. 2019, section 4.2).
        **options: Other arguments of `ArmsAgent`.

    Attributes:
        rules: Names of the stopping rules that the agent has.

    Raises:
        ValueError: An argument is out of its range.
    """

    rules: tuple[str, ...] = ("pi", "glr")

    def __init__(
        self, problem: Problem, seed: int, *, confidence: float | None = 0.95, stopping: str = "pi", initial: int = 3,
        **options: Any,
    ) -> None:  # fmt: skip
        super().__init__(problem, seed, **options)
        if confidence is not None and not 0.0 < confidence < 1.0:
            raise ValueError(f"confidence must be None or lie strictly between 0 and 1, got {confidence!r}")
        self.confidence, self.stopping = confidence, one_of("stopping", stopping, self.rules)
        self.initial = whole("initial", initial, 3)
        self._first = deque(np.repeat(np.arange(self.arms), self.initial).tolist())
        self._queue: deque[int] = deque()

    @property
    def pi(self) -> Floats:
        """(arms,) probability that each arm is the best; uniform until every arm has three evaluations."""
        return self.belief.pi if self.belief.ready else np.full(self.arms, 1.0 / self.arms)

    @abc.abstractmethod
    def sample(self) -> int:
        """Return the arm to evaluate next, after the initial evaluations."""

    def choose(self) -> int:
        """Return an arm of the initial evaluations, else the next arm in the queue, else the result of `sample`.

        While an arm has fewer than three results, a random arm replaces the result of `sample`.
        """
        while self._first:
            arm = self._first.popleft()
            if self.belief.counts[arm] < self.initial:  # else its scores were known
                return arm
        if self._queue:
            return self._queue.popleft()
        return self.sample() if self.belief.ready else int(self.rng.integers(self.arms))

    def update(self) -> None:
        """Set `done` by the stopping rule, if no arm is queued, every arm has `initial` results and `at_checkpoint`."""
        if not self._queue and self.belief.counts.min() >= self.initial and self.at_checkpoint():
            self.done = self.stops()

    def at_checkpoint(self) -> bool:
        """Return whether `update` may check the stopping rule; True, unless overridden by agents with rounds."""
        return True

    def stops(self) -> bool:
        """Return whether the stopping rule holds; always False if `confidence` is None."""
        if self.confidence is None:
            return False
        if self.stopping == "pi":
            return bool(self.pi.max() > self.confidence)
        t = float(self.belief.counts.sum())
        return bool(likelihood_ratio(self.belief) > np.log((1.0 + np.log(t)) / (1.0 - self.confidence)))

    def recommend(self) -> Any:
        """Return the arm with the largest pi, as an action.

        If `stopping` is not `pi`, or pi is not defined yet, return that of `best_mean`.
        """
        if self.stopping == "pi" and self.belief.ready:
            return self._action(int(self.pi.argmax()))
        return super().recommend()


def budget_of(problem: Problem, least: int) -> int:
    """Return the budget of a problem in evaluations, for agents that plan with it.

    Raises:
        ValueError: There is no budget, it is not in evaluations, or it is below `least`.
    """
    if problem.budget is None or problem.unit != "evaluations":
        raise ValueError(f"budget must be a number of evaluations for this agent, got {problem.budget} {problem.unit}")
    if problem.budget < least:
        raise ValueError(f"budget must be >= {least} evaluations for this agent and problem, got {problem.budget:g}")
    return int(problem.budget)


def _shape(space: gym.Space[Any]) -> tuple[int, int]:
    """Return the number of arms and the batch size of an action space; raise a ValueError if it has another form."""
    if isinstance(space, gym.spaces.Discrete) and int(space.start) == 0:
        arms, batch = int(space.n), 1
    elif isinstance(space, gym.spaces.MultiDiscrete) and space.nvec.ndim == 1 and len(set(space.nvec.tolist())) == 1:
        arms, batch = int(space.nvec[0]), len(space.nvec)
    else:
        raise ValueError(f"action_space must be Discrete(n) or MultiDiscrete([n] * batch) for this agent, got {space}")
    if arms < 2:
        raise ValueError(f"action_space must have at least 2 arms for this agent, got {space}")
    return arms, batch
