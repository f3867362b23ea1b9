"""The agent `learned`: a stacked Gaussian process with trained hyperparameters; choice of weights for a problem."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from hpo_envs.agents.base import whole
from hpo_envs.agents.models import Floats
from hpo_envs.agents.models.candidate_set import CandidateArrays
from hpo_envs.agents.models.gp.sources import SourceGP, source_gp
from hpo_envs.agents.models.gp.stacked import START, StackedGP, correlations, distance
from hpo_envs.agents.problem import Problem
from hpo_envs.agents.search.base import CandidateAgent

WEIGHTS = Path(__file__).with_name("data") / "learned.json"

LARGEST = 5000
"""Largest number of candidates that `Learned` and `policy.Policy` observe; of more, a random subset of this size."""

LONGEST = 300
"""Largest number of evaluations that `Learned` and `ObservingAgent` use, because the cost grows with their number."""


W = TypeVar("W", bound=Any)
"""Type of trained weights, which have a `name` and the `languages` of their training."""


@dataclass(frozen=True)
class LearnedNumbers:
    """Trained hyperparameters of the stacked Gaussian process.

    Attributes:
        name: Name of the weights.
        languages: Languages of all tables that they were trained on.
        numbers: (seeds, len(START)) hyperparameters in the order of `START`, one model per training seed.
    """

    name: str
    languages: frozenset[str]
    numbers: Floats


class Learned(CandidateAgent):
    """Expected improvement of a stacked Gaussian process with trained hyperparameters.

    Other tables' observations (`problem.sources`; only those with the problem's features) enter the model's mean and
    covariance: each table's normal scores are modelled by a Gaussian process; m is the weighted and standardised mean
    of their predictions for the candidates, d_j the weighted deviations from the mean. The weight of each part and the
    exploration of the acquisition function are hyperparameters, named in `START`, which were trained by evolution
    strategies on whole runs over many tables (`python -m hpo_envs.benchmarks.learned.train`). The first candidate is
    the one with the largest m.

    Of the shipped weights that were trained on none of the problem's languages (`problem.held_out`), those with the
    most training languages are used. Without sources, m = 0, the first candidate is random, and the hyperparameters are
    those of `START`, because the weights were trained with sources.

    Formula:
        u(x) ~ GP(slope m(x), a M(x, x') + c + e m(x) m(x') + s sum_j d_j(x) d_j(x'))    M: Matern 5/2
        next = argmax_x mean over seeds of log E[max(u(x) - incumbent, 0)]
        numbers = argmin E[anytime + final / 2 regret of whole runs on the training tables], by evolution strategies

    Paper: none. The model is nearest to David Salinas, Huibin Shen and Valerio Perrone. A Quantile-based Approach
    for Hyperparameter Transfer Learning. ICML 2020. Training: Tim Salimans, Jonathan Ho, Xi Chen, Szymon Sidor and Ilya
    Sutskever. Evolution Strategies as a Scalable Alternative to Reinforcement Learning. arXiv:1703.03864, 2017.

    Complexity: O(12 t n) a suggestion, t observations, n candidates; O(J 400^3) once for J sources.

    Example:
        from hpo_envs import run
        runs = run("learned", "NMTHPO-swen-v0", seeds=range(2), budget=8, transfer="family")
        runs.best()

    Args:
        problem: A finite problem with features and one objective.
        seed: Seed of `self.rng`, which breaks ties, draws the first candidate without sources, and a subset if there
            are more than 5,000 candidates.
        trained: Whether to use trained hyperparameters instead of those of `START`, if there are sources.
        seen: Whether weights trained on the problem's languages are allowed; results with such weights are marked.
        weights: Name of the weights; None: those trained on most languages, of the allowed ones.
        member: Index of the only training seed whose hyperparameters are used; None: all seeds.

    Raises:
        ValueError: More than one objective; or, with sources and `trained`, an unknown name or member, or only weights
            trained on the problem's languages although `seen` is False.
    """

    def __init__(
        self, problem: Problem, seed: int, *, trained: bool = True, seen: bool = False, weights: str | None = None,
        member: int | None = None,
    ) -> None:  # fmt: skip
        sources = [s for s in problem.sources if not s.feature_names]
        super().__init__(problem, seed, initial=1, design="random")
        if problem.objectives != 1:
            raise ValueError(f"problem must have one objective for this agent, got {problem.objectives}")
        used = LearnedNumbers("untrained", frozenset(), np.array([[*START.values()]]))
        if trained and sources:
            used = chosen(shipped(), () if seen else problem.held_out, weights)
            if member is not None:
                if whole("member", member, 0) >= len(used.numbers):
                    raise ValueError(f"member must be an int in [0, {len(used.numbers)}), got {member!r}")
                used = replace(used, numbers=used.numbers[[int(member)]])
        self.trained_on = used.languages
        self._transfer, self.random_first = bool(sources), int(not sources)
        n = len(self.features)
        self.pool = np.arange(n) if n <= LARGEST else np.sort(self.rng.choice(n, LARGEST, replace=False))
        self._at = {int(k): i for i, k in enumerate(self.pool)}
        x, every = self.features[self.pool], self.features if problem.base is None else problem.base
        at = self.pool if problem.base is None or problem.index is None else problem.index[self.pool]
        models, fitted = fit_sources([(s.features, s.rewards[:, 0]) for s in sources])
        predictions = np.array([m.predict(every)[at] for m in models]).reshape(len(models), len(x))
        distances = np.array([distance(s.features, x) for s in sources])
        space = CandidateArrays.of(x, None, predictions, distances, fitted)

        def columns(rows: npt.NDArray[np.intp]) -> Floats:
            return correlations(x, int(rows[0, 0]), space.lengths[0])[None, None]

        self._model = StackedGP(used.numbers, space.tables, columns)
        self._spent, self._evaluations = 0.0, 0

    def tell(self, action: Any, reward: Any, info: Mapping[str, Any]) -> None:
        """Record the outcome and the cost of a candidate; the model observes at most `LONGEST` successful ones."""
        super().tell(action, reward, info)
        self._spent += float(info.get("cost", 1.0))
        self._evaluations += bool(info.get("finished", True))

    @property
    def _models(self) -> tuple[StackedGP]:
        return (self._model,)

    @property
    def _told(self) -> Floats:
        """(seeds, 1, t) rewards that the model observed, in order, repeated for each training seed."""
        known = [float(r[0]) for row, r in zip(self.rows, self.rewards, strict=True) if row in self._at]
        return np.tile(known[: self._model.count], (len(self._model.variance), 1, 1))

    def _first(self) -> int:
        if not self._transfer:
            return super()._first()
        return self.best_free(self._model.expected[:, 0].mean(axis=0), self.pool)

    def _expected(self, rows: npt.NDArray[np.intp]) -> Floats:
        if not self._model.count:
            return np.full((len(rows), 1), float(np.mean(self.rewards)))
        expected, middle = self._model.expected_rewards(self._told)[:, 0].mean(axis=0), float(np.mean(self.rewards))
        return np.array([[expected[self._at[row]] if row in self._at else middle] for row in rows.tolist()])

    def _observe(self, row: int, rewards: Floats) -> None:
        if row in self._at and self._model.count < LONGEST:
            self._model.observe(np.full((len(self._model.variance), 1), self._at[row]))

    def _suggest(self) -> int:
        if not self._model.count or not self.free[self.pool].any():
            return self.candidates.draw(self.rng)
        budget = self.problem.budget
        left = 1.0 - (self._spent / budget if budget else self._evaluations / len(self.features))
        gain = self._model.log_improvement(self._told, min(max(left, 0.0), 1.0))
        return self.best_free(gain[:, 0].mean(axis=0), self.pool)


def fit_sources(tables: Iterable[tuple[Floats, Floats]]) -> tuple[list[SourceGP], Floats | None]:
    """Return the models of tables, given as (t, d) features and (t,) rewards, and their mean length-scales.

    Length-scales are (d,) geometric means over the models; None without tables.
    """
    models = [source_gp(x, y) for x, y in tables]
    return models, np.exp(np.mean([np.log(m.lengths) for m in models], axis=0)) if models else None


def chosen(known: Sequence[W], excluded: Iterable[str], name: str | None = None) -> W:
    """Return the weights trained on most languages, but on none of the excluded ones.

    With a name, only weights of this name are considered.

    Raises:
        ValueError: All weights, or those of the name, were trained on an excluded language, or none has the name.
    """
    free = unseen(known, excluded, name)
    if not free:
        names = ", ".join(w.name for w in known if name in (None, w.name))
        raise ValueError(
            f"seen must be True on tables of {', '.join(excluded)}, as weights {names} were trained on one of these "
            "languages, got False"
        )
    return max(free, key=lambda w: len(w.languages))


def unseen(known: Sequence[W], excluded: Iterable[str], name: str | None = None) -> list[W]:
    """Return the weights trained on none of the excluded languages; with a name, only those of this name.

    Raises:
        ValueError: No weights have the name.
    """
    named = [w for w in known if name in (None, w.name)]
    if not named:
        raise ValueError(f"weights must be one of {', '.join(w.name for w in known)}, got {name!r}")
    return [w for w in named if not w.languages & {*excluded}]


def has_unseen(problem: Problem, /, **hyperparameters: Any) -> bool:
    """Return whether `Learned` needs no weights, or may use some: any if `seen`, else those of other languages.

    Raises:
        ValueError: Weights of other languages are needed, and the hyperparameter `weights` is unknown.
    """
    given = hyperparameters.get
    if given("seen") or not given("trained", True) or all(s.feature_names for s in problem.sources):
        return True
    return bool(unseen(shipped(), problem.held_out, given("weights")))


@functools.cache
def shipped() -> tuple[LearnedNumbers, ...]:
    """Return all shipped weights, read from `WEIGHTS` by the first call."""
    return tuple(
        LearnedNumbers(w["name"], frozenset(w["languages"]), np.array([s["numbers"] for s in w["seeds"]]))
        for w in json.loads(WEIGHTS.read_text())["weights"]
    )
