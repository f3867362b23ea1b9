"""Batch Thompson sampling."""

from __future__ import annotations

from typing import Any

from hpo_envs.agents.bandits.base import ConfidentAgent
from hpo_envs.agents.base import whole
from hpo_envs.agents.problem import Problem


class BTS(ConfidentAgent):
    """Batch Thompson sampling (Moss et al. 2019, section 4.3; Kandasamy et al. 2018).

    The arms of a batch are independent draws from the same pi; pi and the stopping rule are evaluated when the whole
    batch is complete. A batch consists of `batch_size` actions, each of which may be a batch itself (`batch_size=` of
    the environment). With `batch_size=1`, single arms and simulated workers, sampling is asynchronous: every free
    worker gets a draw from the current pi. With one worker that is plain Thompson sampling.

    Formula:
        I_1, ..., I_B ~ pi independently, pi_m = probability that arm m's mean is the largest
        stop when max_m pi_m > confidence at the end of a batch

    Paper: Henry B. Moss, Andrew Moore, David S. Leslie and Paul Rayson. FIESTA: Fast IdEntification of State-of-The-Art
    models using adaptive bandit algorithms. ACL 2019, section 4.3. Kirthevasan Kandasamy, Akshay Krishnamurthy, Jeff
    Schneider and Barnabas Poczos. Parallelised Bayesian Optimisation via Thompson Sampling. AISTATS 2018.

    Complexity: one arm's quadrature an evaluation, O(arms x nodes); O(arms) a draw.

    Example:
        from hpo_envs import run
        runs = run("bts", "FIESTA-tdsa8-v0", seeds=range(3), env_kwargs={"batch_size": 5})
        [len(r.rewards) for r in runs]  # evaluations until confident

    Args:
        batch_size: Number of actions whose arms are drawn from the same pi.
        **options: See `hpo_envs.agents.bandits.base.ConfidentAgent`.

    Raises:
        ValueError: `batch_size` is not an int >= 1, or another argument is out of its range.
    """

    def __init__(self, problem: Problem, seed: int, *, batch_size: int = 1, **options: Any) -> None:
        super().__init__(problem, seed, **options)
        self.batch_size = whole("batch_size", batch_size, 1)
        self._out = 0

    def sample(self) -> int:
        """Return a draw from pi, and queue the other arms of the batch, drawn from the same pi."""
        drawn = self.batch_size * self.batch
        self._out += drawn  # several workers may begin a batch before the results of the last one
        self._queue.extend(self.draw(self.pi) for _ in range(drawn - 1))
        return self.draw(self.pi)

    def update(self) -> None:
        """Count the results of the batch, and set `done` by the stopping rule once the batch is complete."""
        self._out = max(self._out - self.batch, 0)
        super().update()

    def at_checkpoint(self) -> bool:
        """Return whether the batch is complete."""
        return self._out == 0
