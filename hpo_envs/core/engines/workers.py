"""Simulated parallel workers (`workers=`): a clock, and the order in which evaluations are submitted and complete.

While a worker is idle, a step only submits; once all are busy, or nothing more may be submitted, each step returns the
evaluation that finishes next. Evaluations that finish together are returned in the order of their submission.
"""

import heapq
from typing import Any

import numpy as np
import numpy.typing as npt

from hpo_envs.core.params import Floats, Ints


class Workers:
    """Simulated workers of one episode.

    Args:
        count: Number of workers.

    Attributes:
        clock: Simulated time at which the last returned evaluation finished.
        submitted: Number of evaluations submitted so far.
    """

    def __init__(self, count: int) -> None:
        self.count, self.clock, self.submitted = count, 0.0, 0
        self._jobs: list[tuple[float, int, tuple[Any, ...]]] = []

    def __len__(self) -> int:
        return len(self._jobs)

    @property
    def idle(self) -> bool:
        """Whether a worker is idle."""
        return len(self._jobs) < self.count

    def free(self, row: int) -> float:
        """Return the earliest time at which a row can be trained further: now, or after its pending trainings."""
        return max([self.clock, *(finish for finish, _, job in self._jobs if job[0] == row)])

    def submit(self, job: tuple[Any, ...], start: float, duration: float) -> None:
        """Give a job to an idle worker; its first entry is its row, and it finishes at `start + duration`."""
        heapq.heappush(self._jobs, (start + duration, self.submitted, job))
        self.submitted += 1

    def next(self) -> tuple[Any, ...]:
        """Remove and return the job that finishes next, and advance the clock to its end."""
        self.clock, _, job = heapq.heappop(self._jobs)
        return job


class VectorWorkers:
    """Vectorized `Workers` of n episodes.

    Args:
        n: Number of episodes.
        count: Number of workers per episode.
        width: Number of entries of a job, the row first.

    Attributes:
        clock: (n,) simulated time at which the last returned evaluation finished.
        submitted: (n,) number of evaluations submitted so far.
    """

    def __init__(self, n: int, count: int, width: int) -> None:
        self.clock, self.submitted = np.zeros(n), np.zeros(n, np.int64)
        self._finish, self._order = np.full((n, count), np.inf), np.zeros((n, count), np.int64)
        self._jobs, self._durations = np.zeros((n, count, width), np.int64), np.zeros((n, count))

    def reset(self, index: npt.NDArray[np.intp]) -> None:
        """Reset the clocks, counters and jobs of the episodes at `index`."""
        self.clock[index], self.submitted[index], self._finish[index] = 0.0, 0, np.inf

    @property
    def busy(self) -> npt.NDArray[np.bool_]:
        """(n,) whether any evaluation is pending."""
        return np.asarray(np.isfinite(self._finish).any(axis=1))

    def free(self, i: npt.NDArray[np.intp], rows: Ints) -> Floats:
        """Return the (k,) earliest times at which (k,) rows can be trained further in the k episodes at `i`."""
        finish = self._finish[i]
        same = np.isfinite(finish) & (self._jobs[i, :, 0] == rows[:, None])
        return np.asarray(np.maximum(self.clock[i], np.where(same, finish, 0.0).max(axis=1)))

    def submit(self, i: npt.NDArray[np.intp], jobs: Ints, start: Floats, duration: Floats) -> None:
        """Give (k, width) jobs, one to the first idle worker of each of the k episodes at `i`."""
        slot = np.isinf(self._finish[i]).argmax(axis=1)
        self._finish[i, slot], self._order[i, slot] = start + duration, self.submitted[i]
        self._jobs[i, slot], self._durations[i, slot] = jobs, duration
        self.submitted[i] += 1

    def next(self, closed: npt.NDArray[np.bool_]) -> tuple[npt.NDArray[np.intp], Ints, Floats]:
        """Remove and return the next job to finish in each episode without idle workers, or closed with pending jobs.

        Args:
            closed: (n,) whether nothing more may be submitted.

        Returns:
            (m,) indices of these episodes, their (m, width) jobs and (m,) durations; their clocks advance.
        """
        busy = np.isfinite(self._finish)
        i = np.flatnonzero(busy.any(axis=1) & (closed | busy.all(axis=1)))
        first = self._finish[i].min(axis=1)
        order = np.where(self._finish[i] == first[:, None], self._order[i], np.iinfo(np.int64).max)
        slot = order.argmin(axis=1)
        self.clock[i], self._finish[i, slot] = first, np.inf
        return i, self._jobs[i, slot], self._durations[i, slot]
