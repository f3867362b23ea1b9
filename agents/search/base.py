"""What all optimisers that score every candidate share: initial design, book-keeping, choice."""

from __future__ import annotations

import abc
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from hpo_envs.agents.base import Agent, one_of, whole
from hpo_envs.agents.candidates import Candidates, lost
from hpo_envs.agents.models.kernels import gram
from hpo_envs.agents.problem import Problem

Floats = npt.NDArray[np.float64]

TIE = 1e-9
"""Scores closer than this, relative to the largest, are tied: less than round-off can tell apart."""

DESIGNS = ("random", "spread")

SPREAD_NOISE = 1e-2
"""Observation variance that `spread` assumes, relative to the prior's."""

SPREAD_OVER = 2000
"""Candidates that `spread` compares at most."""


class CandidateAgent(Agent):
    """An optimiser that scores every untried candidate and asks for the best one.

    Args:
        problem: A finite problem with features. Actions may be rows, values of a grid, or (row, level) pairs, of
            which the last level is asked for.
        initial: Candidates drawn at random before the model chooses (section 4.3 of Zhang and Duh 2020 has 3). They
            are the first ones of `random` with the same seed, so runs of several agents are paired.
        design: How the initial candidates are drawn: `random`, or `spread`, see `spread_row`.
        features: Prefix, or several, of the names of the features that the model sees; all by default.

    Attributes:
        candidates: What was asked for and told.
        features: (candidates, d) float64.
        rows: Candidates told whose runs succeeded, in order, repeats included.
        rewards: One (objectives,) float64 per entry of `rows`.
        pretended: How many of the last of them have not come back, and are what the model expects.

    Raises:
        ValueError: A setting breaks its rule.
    """

    parallel = True

    def __init__(
        self,
        problem: Problem,
        seed: int,
        *,
        initial: int = 3,
        design: str = "random",
        features: str | tuple[str, ...] = "",
    ) -> None:
        problem = problem.with_features(features)
        super().__init__(problem, seed)
        self.design = one_of("design", design, DESIGNS)
        self.initial = whole("initial", initial, 1)
        self.random_first = self.initial if design == "random" else 0
        self.candidates = Candidates(problem)
        self.features = self.candidates.features
        self.candidates.shuffle(self.rng)
        self._asked = 0
        self.fantasy = "believer"
        self.pretended = 0
        self.rows: list[int] = []
        self.rewards: list[Floats] = []

    @property
    def free(self) -> npt.NDArray[np.bool_]:
        """(candidates,) which may be asked for next, see `Candidates.free`."""
        return self.candidates.free

    def ask(self) -> Any:
        """Returns an untried candidate; after the last one, starts over with what it learned."""
        if max(self._asked, len(self.rows)) < self.initial or not self.rows:
            row = self.candidates.draw(self.rng) if self.design == "random" else self.spread_row()
        else:
            row = self._suggest_beside(list(dict.fromkeys(self.candidates.pending)))
        self._asked += 1
        return self.candidates.submit(row)

    def tell(self, action: Any, reward: Any, info: Mapping[str, Any]) -> None:
        """Learns the outcome of one candidate, asked for or not, unless its run failed.

        Raises:
            ValueError: `reward` is not finite, or has another number of objectives.
        """
        rewards = np.atleast_1d(np.asarray(reward, dtype=np.float64))
        finished = info.get("finished", True)
        if finished and (rewards.shape != (self.problem.objectives,) or not np.isfinite(rewards).all()):
            raise ValueError(f"reward must be {self.problem.objectives} finite number(s), got {reward!r}")
        if not self.candidates.note(action, reward, info):
            return
        if not lost(info):
            row = self.candidates.row(action)
            self.rows.append(row)
            self.rewards.append(rewards)
            self._observe(row, rewards)

    def recommend(self) -> Any:
        """Returns the best candidate told (the largest sum of rewards), or a random one before the first."""
        return self.candidates.recommend(self.rng)

    def _suggest_beside(self, pending: list[int]) -> int:
        """The next candidate, as if those under way had come back already (kriging believer, Ginsbourger et al. 2010).

        Each is given the reward that the model expects of it, or the worst so far (constant liar), see `fantasy`.
        """
        if not pending or self.fantasy == "none" or self._models is None:
            return int(self._suggest())
        told, expected = len(self.rows), self._expected(np.array(pending))  # which may make the models anew
        marks = [m.mark() for m in self._models]
        self.pretended = len(pending)
        if self.fantasy != "believer":
            liar: Any = {"worst": np.min, "mean": np.mean, "best": np.max}[self.fantasy]
            expected = np.tile(liar(self.rewards, axis=0), (len(pending), 1))
        for row, rewards in zip(pending, expected, strict=True):
            self.rows.append(row)
            self.rewards.append(rewards)
            self._observe(row, rewards)
        try:
            return int(self._suggest())
        finally:
            self.pretended = 0
            del self.rows[told:], self.rewards[told:]
            for model, mark in zip(self._models, marks, strict=True):
                model.undo(mark)

    @property
    def _models(self) -> Sequence[Any] | None:
        """What `_observe` changes: models that can `mark` and `undo`; None where what is under way is only left out."""
        return None

    def _expected(self, rows: npt.NDArray[np.intp]) -> Floats:
        """(k, objectives) rewards that the model expects of candidates (k,); by default the mean of those told."""
        return np.tile(np.mean(self.rewards, axis=0), (len(rows), 1))

    @abc.abstractmethod
    def _suggest(self) -> int:
        """The next candidate, among the free ones."""

    @abc.abstractmethod
    def _observe(self, row: int, rewards: Floats) -> None:
        """Updates the model."""

    def best_free(self, scores: Floats) -> int:
        """The free candidate with the highest score; ties, up to round-off, are broken at random.

        Args:
            scores: (candidates,) float64; only those of free candidates are looked at.
        """
        rows = np.flatnonzero(self.free)
        values = scores[rows]
        top = values.max()
        ties = rows[values >= top - TIE * abs(top)]
        return int(ties[0] if len(ties) == 1 else ties[self.rng.integers(len(ties))])

    def spread_row(self) -> int:
        """The free candidate that tells most of all others, before anything is known of the rewards.

        Under a Gaussian process with a Matern 5/2 kernel of length-scale 1, observing k lowers the summed variance of
        all candidates by sum_j C_jk^2 / (C_kk + noise), C the covariance given the rows asked for so far: the first
        choice is a candidate in the middle (Cohn's criterion, Seo et al. 2000). Ties, which a grid has many of, are
        broken at random. On larger sets than `SPREAD_OVER`, a random subset stands for all.
        """
        rows = np.arange(len(self.features))
        if len(rows) > SPREAD_OVER:
            rows = np.sort(self.rng.choice(rows, SPREAD_OVER, replace=False))
        asked = np.flatnonzero(~self.free)
        within = np.concatenate([asked, np.setdiff1d(rows, asked)])
        if len(rows) == len(self.features):
            covariance = self.candidates.gram("matern52", 1.0)[np.ix_(within, within)]
        else:
            covariance = gram("matern52", self.features[within], 1.0).copy()
        for k in range(len(asked)):
            covariance -= np.outer(covariance[:, k], covariance[k]) / (covariance[k, k] + SPREAD_NOISE)
        told = np.square(covariance).sum(axis=0) / (np.maximum(covariance.diagonal(), 0.0) + SPREAD_NOISE)
        scores = np.full(len(self.features), -np.inf)
        scores[within] = told
        return self.best_free(scores)
