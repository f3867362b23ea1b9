"""`CandidateObservation`: candidates as a set of fixed size that a policy scores; their order and their mask."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium.spaces import Box, Dict, Discrete

from hpo_envs.agents.models import Floats, candidate_set
from hpo_envs.agents.models.candidate_set import CandidateArrays, CandidateSet
from hpo_envs.agents.models.gp.stacked import START
from hpo_envs.core.params import check_int, check_ints, kind_of
from hpo_envs.core.subsample import View
from hpo_envs.tables.checks import one_of
from hpo_envs.wrappers.forms import Change, EpisodeIndices, Rule, ScalarForm

_STREAM = np.uint64(0x5E7)
"""Stream of the draws of candidates, distinct from the environment's own draws."""


class ObservedCandidates(Rule):
    """Rule of `CandidateObservation`, on n episodes that begin and end together."""

    def __init__(
        self, env: Any, n: int, candidates: int = 64, features: tuple[str, ...] = candidate_set.DEFAULT,
        predictions: npt.NDArray[Any] | None = None, distances: npt.NDArray[Any] | None = None,
        numbers: Mapping[str, float] | None = None,
    ) -> None:  # fmt: skip
        self._base, self.features, self.numbers = env.unwrapped, tuple(features), dict(numbers or {})
        for name in self.numbers:
            one_of("numbers", name, START)
        self.size, self._each = check_int("candidates", candidates), np.arange(n)
        self._sampled = hasattr(self._base, "candidates")
        self._reward_at = -3 if self._sampled else -4
        if not self._sampled:
            p = getattr(self._base, "params", None)
            fits = kind_of(env) == "rows" and p is not None and not p.vector and p.table.feature_names
            if not fits or len(p.tables) > 1 or p.budget_unit != "evaluations":  # type: ignore[union-attr]
                raise ValueError(
                    "env must have one table with features, a row per action, one objective and a budget of "
                    f"evaluations for this wrapper, got {self._base}"
                )
            self._given = _checked(predictions, distances, len(p.table))  # type: ignore[union-attr]
        shapes = {
            "candidates": (candidate_set.BOUND, (self.size, candidate_set.width(self.features))),
            "mask": (1.0, (self.size,)),
            "context": (candidate_set.BOUND, (candidate_set.CONTEXT,)),
        }
        most, lows = candidate_set.GROUPS, {"mask": 0.0}
        if "hyperparameters" in self.features:
            shapes["hyperparameters"] = (1.0, (self.size, most["hyperparameters"]))
        self._budget = 0
        if "history" in self.features:
            self._budget = int(getattr(self._base, "budget", 0) or self._base.params.budget)
            shapes["history"] = (candidate_set.BOUND, (self._budget, most["history"]))
        ends = {name: (lows.get(name, -1.0) * high, high, shape) for name, (high, shape) in shapes.items()}
        self.observation_space = Dict({name: Box(*end, np.float32) for name, end in ends.items()})
        self.action_space = Discrete(self.size)

    def observe(
        self, observation: npt.NDArray[Any], index: EpisodeIndices, fresh: bool
    ) -> dict[str, npt.NDArray[np.float32]]:
        """See `Rule`; rewards in the result are the environment's own, before reward wrappers.

        ValueError if only some of the episodes begin or end, or sampled tasks have another number of candidates.
        """
        if not isinstance(index, slice):
            raise ValueError(
                f"episodes must begin and end together for this wrapper, got {len(index)} of {len(self._each)}"
            )
        if fresh:
            space = self._base.candidates() if self._sampled else self._drawn()
            if space.x.shape[1] != self.size:
                raise ValueError(f"candidates must be those of the sampled tasks, {space.x.shape[1]}, got {self.size}")
            self._set = CandidateSet(space, self.features, self.numbers, self._budget)
        else:
            self._set.observe(self._chosen, observation[:, self._reward_at].astype(float))
        shown = self._set.observation(observation[:, -1].astype(float))
        if not hasattr(self._base, "num_envs") and "hyperparameters" in shown:
            shown["hyperparameters"] = shown["hyperparameters"].copy()  # Gymnasium's contract for scalar environments
        return shown

    def actions(self, given: Any) -> tuple[npt.NDArray[np.int64], dict[str, npt.NDArray[Any]]]:
        """Return (n,) actions of the environment for indices of candidates (padding wraps around) and an empty dict."""
        self._chosen = check_ints(given, (len(self._each),), self.size) % self._set.valid.sum(axis=1)
        return self._chosen if self._sampled else self._picked[self._each, self._chosen], {}

    def masking(self) -> Change:
        """Return a function that replaces a mask by that of unevaluated candidates, (n, candidates), of equal dtype."""
        free = self._set.free.copy() if hasattr(self, "_set") else np.ones((len(self._each), self.size), bool)
        return lambda mask: free.astype(mask.dtype)

    def _drawn(self) -> CandidateArrays:
        table, rows = self._base.params.table, np.atleast_2d(self._base.rows)
        k = rows.shape[1]
        keys = self._base.episodes[0] if hasattr(self._base, "num_envs") else np.array([self._base._key], np.uint64)
        count = min(self.size, k)
        self._picked = View(True, count / k).rows_many(keys ^ _STREAM, k)[:, :count]
        predictions, distances = self._given
        found = []
        for at in np.take_along_axis(rows, self._picked, axis=1):
            p = None if predictions is None else predictions[:, at]
            found.append(CandidateArrays.of(table.features[at], self.size, p, distances))
        return CandidateArrays.stack(found)


def _checked(predictions: Any, distances: Any, rows: int) -> tuple[Floats | None, Floats | None]:
    """Return predictions and distances of J source tasks as arrays; ValueError if one is not finite or misshapen."""
    given = [None if v is None else np.asarray(v, np.float64) for v in (predictions, distances)]
    count = () if given[0] is None else given[0].shape[:1]
    rules = ("predictions", (*count, rows), f"(J, {rows})"), ("distances", count, "(J,)")
    for value, (name, shape, text) in zip(given, rules, strict=True):
        if value is not None and not (value.shape == shape and np.isfinite(value).all()):
            got = f"{value.shape}, {int((~np.isfinite(value)).sum())} of them not finite"
            raise ValueError(f"{name} must be finite numbers of shape {text}, got {got}")
    return given[0], given[1]


class CandidateObservation(ScalarForm):
    """Wrapper that shows the configurations as a set of n candidates; an action is the index of a candidate.

    The observation is a `Dict` of `candidates` (n, columns), `mask` (n,), 1 for unevaluated candidates, and `context`
    (`candidate_set.CONTEXT`,), all float32; with the feature groups of these names also `hyperparameters` (n, 64), the
    same array until the next reset of a vectorized environment, and `history` (budget, 68). A larger table is
    subsampled at each reset; a smaller one is padded with zeros: their mask is 0, and their indices stand for the
    candidates from the first one on. Maskable learners read `action_masks()`. In the vectorized form all episodes begin
    and end together.

    Args:
        env: An environment with one table with features, a row per action, one objective and a budget of evaluations;
            or, vectorized, an environment made by `hpo_envs.benchmarks.tasks.make_vec`.
        candidates: Number of candidates, n.
        features: Names of groups of columns, see `hpo_envs.agents.models.candidate_set.GROUPS`.
        predictions: (J, rows) predictions of source tasks for the rows of the table, in any unit, for the groups
            `prior` and `stacked`; None: no source tasks.
        distances: (J,) distances of the source tasks' spaces, see `hpo_envs.agents.models.gp.stacked.distance`; None:
            zeros.
        numbers: Hyperparameters of the stacked Gaussian process, see `hpo_envs.agents.models.gp.stacked.START`, whose
            values replace missing ones.

    Raises:
        ValueError: The environment has another form, `candidates` is not an int >= 1, a name in `features` or `numbers`
            is unknown, `predictions` or `distances` are not finite or of another shape, an action is outside the space,
            or only some episodes begin or end.
    """

    rule_class = ObservedCandidates
