"""A learned optimiser: an acquisition function trained across tables, on top of a mixture of Gaussian processes."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hpo_envs.agents.models.mixture import Family, Hypotheses, MixturePosterior
from hpo_envs.agents.problem import Problem
from hpo_envs.agents.search.base import CandidateAgent
from hpo_envs.agents.transfer import acquisition_net

Floats = npt.NDArray[np.float64]

DATA = Path(__file__).parent / "data"

GENERIC = "generic"
"""Weights for problems whose hyperparameters no trained family has."""

LARGEST = 5000
"""Candidates that are modelled at most; of more, a random subset."""

LONGEST = 300
"""Evaluations that the model learns from at most: its cost grows with their number."""


class LearnedAcquisition(CandidateAgent):
    """Asks for the candidate that a small trained network scores highest.

    The network (13 inputs, 4 hidden units, a skip connection) sees of each candidate what a mixture of Gaussian
    processes predicts for it, how it ranks, what other tables with the same hyperparameters let expect of it, and how
    much budget is left; see `acquisition_net.inputs`. It was trained by evolution strategies on whole runs over
    several tables (`python -m hpo_envs.benchmarks.learned.train`), so what it maximises is what is found by the end.

    Where `problem.feature_names` are those of a trained family (`nmthpo`, `charhpo`), the family's expectation and
    length-scales are used; otherwise generic weights, trained without any. Of a family's weights those are used that
    have not seen a table of the problem's languages (`problem.excluded`); where all have, the agent refuses, unless
    `seen=True` asks for weights trained on all tables. Results of these are marked.

    Formula:
        p(h | y) ~ p(h) p(y | h)                 h: Gaussian-process hypotheses
        x_k = 13 inputs of candidate k          from the mixture's mean and deviation, ranks, expectation, budget left
        next = argmax_k w2 . max(W1 x_k + b, 0) + w3 . x_k
        W1, b, w2, w3 = argmax E[result of whole runs on the training tables], by evolution strategies

    Paper: of our own; nearest to Michael Volpp et al. Meta-Learning Acquisition Functions for Transfer Learning in
    Bayesian Optimization. ICLR 2020. Training: Tim Salimans, Jonathan Ho, Xi Chen, Szymon Sidor and Ilya Sutskever.
    Evolution Strategies as a Scalable Alternative to Reinforcement Learning. arXiv:1703.03864, 2017.

    Complexity: O(G t n) a suggestion, G <= 11 processes, t observations, n candidates.

    Args:
        problem: A finite problem with features and one objective.
        seed: Seed of `self.rng`, which draws the first candidate and breaks ties.
        family: `auto`, `generic` or the name of a family.
        without: Name of the weights, by what they leave out, such as `zhen` (nmthpo), `ja` (both of its directions) or
            `hun` (charhpo); None = those that have not seen the problem, of several those that have seen most.
        seen: Whether weights may have seen the problem's languages; without `without`, those trained on all tables.
        initial: Candidates drawn at random first.
        weights: (SIZE,) weights of the network instead of shipped ones; `family` and `without` then say nothing, and
            `seen` says whether they have seen the problem's languages.
        knowledge: With `weights`, what other tables taught; None = nothing.

    Raises:
        ValueError: More than one objective, no such family or weights, or weights that have seen the problem although
            `seen` is False.
    """

    def __init__(
        self,
        problem: Problem,
        seed: int,
        *,
        family: str = "auto",
        without: str | None = None,
        seen: bool = False,
        initial: int = 1,
        weights: Floats | None = None,
        knowledge: Family | None = None,
    ) -> None:
        super().__init__(problem, seed, initial=initial)
        if problem.objectives != 1:
            raise ValueError(f"problem must have one objective for this agent, got {problem.objectives}")
        self.trained_on = frozenset(problem.excluded if seen else ())
        if weights is None:
            family = family_of(problem.feature_names) if family == "auto" else family
            if without is None and not seen:
                without = unseen(family, problem.excluded)
            self.trained_on = languages(family, without)
            if not seen and (both := sorted(self.trained_on & set(problem.excluded))):
                which = f"{family} weights{f' without {without}' if without else ''}"
                raise ValueError(
                    f"seen must be True for {which}, which have seen tables of this problem's languages "
                    f"({', '.join(both)}), got False"
                )
            weights, knowledge = load(family, without)
        self.weights = np.asarray(weights, dtype=np.float64)
        if self.weights.shape != (acquisition_net.SIZE,):
            raise ValueError(f"weights must have shape ({acquisition_net.SIZE},), got {self.weights.shape}")
        n, d = self.features.shape
        if knowledge is not None and len(knowledge.lengths) != d:
            raise ValueError(f"family must have the problem's {d} features, got {len(knowledge.lengths)}")
        self.pool = np.arange(n) if n <= LARGEST else np.sort(self.rng.choice(n, LARGEST, replace=False))
        self._at = {int(k): i for i, k in enumerate(self.pool)}
        self._posterior = MixturePosterior(Hypotheses(self.features[self.pool], knowledge))
        self._spent, self._evaluations = 0.0, 0

    def tell(self, action: Any, reward: Any, info: Mapping[str, Any]) -> None:
        """Learns the outcome of one candidate, and what it cost."""
        self._spent += float(info.get("cost", 1.0))
        if info.get("finished", True):
            self._evaluations += 1
            super().tell(action, reward, info)

    @property
    def _models(self) -> tuple[MixturePosterior]:
        return (self._posterior,)

    @property
    def _told(self) -> list[float]:
        """The rewards that the model learned from."""
        known = [float(r[0]) for row, r in zip(self.rows, self.rewards, strict=True) if row in self._at]
        return known[: self._posterior.count]

    def _expected(self, rows: npt.NDArray[np.intp]) -> Floats:
        told = np.array(self._told)
        if not len(told):
            return np.full((len(rows), 1), float(np.mean(self.rewards)))
        scale = float(told.std()) or 1.0
        means, _, weights = self._posterior.predict(((told - told.mean()) / scale)[None])
        expected = told.mean() + scale * np.einsum("grn,gr->n", means, weights)
        return np.array([[expected[self._at[row]] if row in self._at else told.mean()] for row in rows.tolist()])

    def _observe(self, row: int, rewards: Floats) -> None:
        if row in self._at and self._posterior.count < LONGEST:
            self._posterior.observe(np.array([self._at[row]]))

    def _suggest(self) -> int:
        free = self.free[self.pool]
        if not (self._posterior.count and free.any()):
            return self.candidates.draw(self.rng)
        budget = self.problem.budget
        left = 1.0 - (self._spent / budget if budget else self._evaluations / len(self.features))
        left = min(max(left, 0.0), 1.0)
        evaluations = self._evaluations / (1.0 - left) if left < 1.0 else float(len(self.features))
        x = acquisition_net.inputs(self._posterior, np.array([self._told]), free[None], np.array([left]), evaluations)
        scores = np.full(len(self.features), -np.inf)
        scores[self.pool] = np.where(free, acquisition_net.score(x, self.weights[None])[0], -np.inf)
        return self.best_free(scores)


def family_of(feature_names: tuple[str, ...]) -> str:
    """The trained family with these features, or `generic`."""
    for name in families():
        # Variants, such as weights trained on embedded tables only, are taken by name.
        if "-" not in name and _file(name)[1] == tuple(feature_names):
            return name
    return GENERIC


def families() -> list[str]:
    """Names of the trained families and their variants, sorted."""
    return sorted(p.stem.removeprefix("learned_") for p in DATA.glob("learned_*.npz") if GENERIC not in p.stem)


def has_unseen(problem: Problem, family: str = "auto", **hyperparameters: Any) -> bool:
    """Whether there are weights that have not seen a problem's languages, or hyperparameters say which to take."""
    if family != "auto" or hyperparameters.get("seen") or hyperparameters.keys() & {"without", "weights"}:
        return True
    family = family_of(problem.feature_names)
    return not languages(family, unseen(family, problem.excluded)) & set(problem.excluded)


def unseen(family: str, excluded: Iterable[str]) -> str | None:
    """What the weights of a family leave out that have seen most, but no table of these languages; None if all have.

    Raises:
        ValueError: No such family.
    """
    folds = [fold or None for fold in _known(family)["folds"].tolist()]
    free = [fold for fold in folds if not languages(family, fold) & set(excluded)]
    return max(free, key=lambda fold: len(languages(family, fold)), default=None)


def languages(family: str, without: str | None = None) -> frozenset[str]:
    """Languages of all tables that shipped weights and what comes with them were fitted to.

    Raises:
        ValueError: See `load`.
    """
    return frozenset(str(_known(family)["languages"][_fold(family, without)]).split())


def load(family: str, without: str | None = None) -> tuple[Floats, Family | None]:
    """Shipped weights (SIZE,) for a family and what its tables taught; None for `generic`.

    Raises:
        ValueError: No such family, or no weights that leave this language out.
    """
    arrays, k = _known(family), _fold(family, without)
    known_of = Family(arrays["lengths"][k], arrays["prior"][k]) if family != GENERIC else None
    return np.asarray(arrays["weights"][k], dtype=np.float64), known_of


def _known(family: str) -> dict[str, npt.NDArray[Any]]:
    names = [*families(), GENERIC]
    if family not in names:
        raise ValueError(f"family must be auto or one of {', '.join(names)}, got {family!r}")
    return _file(family)[0]


def _fold(family: str, without: str | None) -> int:
    folds: list[str] = _known(family)["folds"].tolist()
    if (without or "") not in folds:
        raise ValueError(f"without must be None or one of {', '.join(folds[1:])} for {family}, got {without!r}")
    return folds.index(without or "")


@functools.cache
def _file(family: str) -> tuple[dict[str, npt.NDArray[Any]], tuple[str, ...]]:
    with np.load(DATA / f"learned_{family}.npz", allow_pickle=False) as data:
        arrays = {k: data[k] for k in data.files}
    for a in arrays.values():
        a.setflags(write=False)
    return arrays, tuple(arrays["feature_names"].tolist())
