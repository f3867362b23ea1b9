"""Choice of candidates by an acquisition function of a posterior: EI, UCB, Thompson, EHVI, EI per cost."""

import abc
from collections.abc import Mapping
from typing import Any

import numpy as np

from hpo_envs.agents.base import positive
from hpo_envs.agents.models import Floats, Indices
from hpo_envs.agents.models.acquisition import expected_hypervolume_improvement, expected_improvement
from hpo_envs.agents.models.gp.conditioning import CostModel
from hpo_envs.agents.problem import Problem
from hpo_envs.agents.search.base import CandidateAgent
from hpo_envs.tables.checks import one_of


class PosteriorSearch(CandidateAgent):
    """Base class of optimizers whose model predicts means and deviations of candidates.

    Args:
        problem: Rows or (row, checkpoint) pairs with features, or a grid; with one or two objectives.
        acquisition: `ei` (equation 3 of Zhang and Duh 2020), `ucb`, `thompson` (one draw of the joint posterior), for
            two objectives `ehvi` (section 5.4); `auto` is `ei` for one objective and `ehvi` for two.
        beta: Weight of the variance in `ucb`, mean + sqrt(beta) deviation (GP-UCB, Srinivas et al. 2010).
        margin: Distance of the reference point of `ehvi` from the worst observation of each objective, in the unit of
            the rewards, or in standard deviations if the model standardises them.
        per_cost: Divide `ei` by the expected cost of each candidate (Snoek et al. 2012), see `CostModel`.
        **common: See `CandidateAgent`.

    Raises:
        ValueError: A setting is not valid, or does not match the number of objectives; or see `CandidateAgent`.
    """

    def __init__(
        self, problem: Problem, seed: int, *, acquisition: str = "auto", beta: float = 4.0, margin: float = 1.0,
        per_cost: bool = False, **common: Any,
    ) -> None:  # fmt: skip
        super().__init__(problem, seed, **common)
        if one_of("acquisition", acquisition, ("auto", "ei", "ucb", "thompson", "ehvi")) == "auto":
            acquisition = "ei" if problem.objectives == 1 else "ehvi"
        needed = 2 if acquisition == "ehvi" else 1
        if problem.objectives != needed:
            raise ValueError(f"objectives must be {needed} for acquisition {acquisition}, got {problem.objectives}")
        self.acquisition = acquisition
        self.beta = positive("beta", beta)
        self.margin = positive("margin", margin)
        if per_cost and acquisition != "ei":
            raise ValueError(f"per_cost must be False for acquisition {acquisition}, got True")
        self._costs = CostModel(self.features) if per_cost else None

    @abc.abstractmethod
    def _posterior(self) -> tuple[Floats, Floats, Floats]:
        """Return predictions for the `scored` candidates, and all observations, in the model's units (see `_units`).

        Returns:
            (objectives, n) means, (objectives, n) standard deviations, (t, objectives) observations; higher is better.
        """

    @abc.abstractmethod
    def _draw(self) -> Floats:
        """Return an (n,) draw from the posterior of the only objective at the `scored` candidates, -inf if left out."""

    def _suggest(self) -> int:
        if self.acquisition == "thompson":
            return self.best_free(self._draw(), self.scored)
        means, deviations, observed = self._posterior()
        if self.acquisition == "ehvi":
            reference = -observed.min(axis=0) + self.margin
            scores = np.zeros(means.shape[1])
            f = self.free if self.scored is None else self.free[self.scored]
            scores[f] = expected_hypervolume_improvement(-means[:, f], deviations[:, f], -observed, reference)
            return self.best_free(scores, self.scored)
        if self.acquisition == "ucb":
            scores = means[0] + np.sqrt(self.beta) * deviations[0]
        else:
            scores = expected_improvement(means[0], deviations[0], float(observed.max()))
        if self._costs is not None:
            scores /= self._costs.expected(self.scored)
        return self.best_free(scores, self.scored)

    def tell(self, action: Any, reward: Any, info: Mapping[str, Any]) -> None:
        """Observe the outcome, see `CandidateAgent.tell`; with `per_cost` also the cost, even that of a failed run."""
        super().tell(action, reward, info)
        if self._costs is not None and info.get("finished", True):
            self._costs.observe(self.candidates.row(action), float(info["cost"]))

    def _expected(self, rows: Indices) -> Floats:
        means = self._posterior()[0]
        shift, scale = self._units()
        return means[:, self._places(rows)].T * scale + shift

    def _places(self, rows: Indices) -> Indices:
        """Return the (k,) positions of candidates in `scored`."""
        return rows if self.scored is None else np.searchsorted(self.scored, rows)

    def predict(self) -> Floats:
        """Return the (objectives, n) posterior means at the `scored` candidates, in the rewards' units.

        Before the first observation, return zeros for all candidates.
        """
        if not self.rows:
            return np.zeros((self.problem.objectives, len(self.features)))
        shift, scale = self._units()
        return self._posterior()[0] * scale[:, None] + shift[:, None]

    def _units(self) -> tuple[Floats, Floats]:
        """Return the (objectives,) shifts and scales of the model's units: reward = shift + scale * model value.

        By default these are zeros and ones.
        """
        return np.zeros(self.problem.objectives), np.ones(self.problem.objectives)
