"""A trained policy as an agent: it scores the candidates and samples one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from hpo_envs.agents.models import Floats, candidate_net
from hpo_envs.agents.models.candidate_set import CandidateArrays, CandidateSet, joined
from hpo_envs.agents.models.gp.stacked import distance
from hpo_envs.agents.problem import Problem
from hpo_envs.agents.search.base import CandidateAgent
from hpo_envs.agents.transfer import policy_file
from hpo_envs.agents.transfer.learned import LARGEST, LONGEST, chosen, fit_sources, unseen
from hpo_envs.agents.transfer.policy_file import PolicyWeights


class Policy(CandidateAgent):
    """A policy trained by reinforcement learning, which draws each candidate from its probabilities.

    The policy's input is the observation of `tasks.CandidateObservation`, computed by the same code: features of each
    candidate, a mask of evaluated ones, and the state of the episode.

    Without a file the shipped weights are used (registered as `learned-policy`): those trained on most languages, but
    on none of the problem's (`problem.held_out`). Their scores are linear in the predictions of source tasks and in the
    mean, deviation and log expected improvement of the Gaussian process of `learned`. The source tasks are
    `problem.sources`; without these, shipped networks fitted to one table each, of the same hyperparameters and other
    languages; without either, none. They were trained by natural policy gradients on whole episodes over many tables
    (`python -m hpo_envs.benchmarks.learned.policy`), where the return is the mean of the best rewards so far plus half
    of the last one. Files may hold networks, trained by masked proximal policy optimisation. Evaluated candidates have
    probability 0.

    Formula:
        p(i) = softmax(mean over seeds of log p_seed)_i over the most probable candidates, as many as in training
        p_seed(i) ~ exp w' c_i                                                                   shipped weights
        p_seed(i) ~ exp f(c_i, two attention-pooled sums over all candidates, one over the evaluated ones)     networks

    Paper: none. Training: Sham Kakade. A Natural Policy Gradient. NeurIPS 2001. John Schulman, Filip Wolski,
    Prafulla Dhariwal, Alec Radford and Oleg Klimov. Proximal Policy Optimization Algorithms. arXiv:1707.06347, 2017.
    The set of candidates as observation: Michael Volpp et al. Meta-Learning Acquisition Functions for Transfer Learning
    in Bayesian Optimization. ICLR 2020.

    Complexity: O(n (h^2 + 8 t)) a suggestion, t observations, n candidates, h units (0: linear).

    Example:
        from hpo_envs import run
        runs = run("learned-policy", "NMTHPO-swen-v0", seeds=range(2), budget=8, transfer="family")
        runs.best()

    Args:
        problem: A finite problem with features and one objective.
        seed: Seed of `self.rng`, which draws the candidates.
        file: File written by `hpo_envs.integrations.candidate_policy.save_policy`; None: the shipped weights.
        sha256: Required sha256 of the file; None: any.
        deterministic: Whether the most probable candidate is suggested instead of a sampled one.
        seen: Whether weights trained on the problem's languages are allowed; results are marked.
        weights: Name of the weights in the file; None: those trained on most languages, but on none of the problem's.
        member: One training seed of the weights alone; None: all of them.
        blind: Whether the history is hidden from the network, to measure its value.

    Raises:
        ValueError: More than one objective, an invalid file, hyperparameters other than in training, or no weights that
            may be used.
    """

    def __init__(
        self,
        problem: Problem,
        seed: int,
        *,
        file: str | None = None,
        sha256: str | None = None,
        deterministic: bool = False,
        seen: bool = False,
        weights: str | None = None,
        member: int | None = None,
        blind: bool = False,
    ) -> None:
        super().__init__(problem, seed, initial=1, design="random")
        if problem.objectives != 1:
            raise ValueError(f"problem must have one objective for this agent, got {problem.objectives}")
        used = chosen(known(file, sha256), () if seen else problem.held_out, weights)
        if unfit(problem, used):
            raise ValueError(f"policy must be used {unfit(problem, used)}")
        self.trained_on, self.random_first = used.languages, 0
        self._used, self._members = used, used.members if member is None else (used.members[member],)
        self._deterministic, self._blind = deterministic, blind
        n, self._spent = len(self.features), 0.0
        self._pool = np.arange(n) if n <= LARGEST else np.sort(self.rng.choice(n, LARGEST, replace=False))
        self._at = {int(k): i for i, k in enumerate(self._pool)}
        self._space = self._space_of(seen)
        self._set = self._fresh()

    def _space_of(self, seen: bool) -> CandidateArrays:
        """The candidates, with predictions of source tasks or a shipped prior."""
        x, sources = self.features[self._pool], [s for s in self.problem.sources if not s.feature_names]
        if not {"prior", "stacked"} & set(self._used.features):
            return CandidateArrays.of(x)
        if sources:
            models, fitted = fit_sources([(s.features, s.rewards[:, 0]) for s in sources])
            distances = np.array([distance(s.features, x) for s in sources])
            return CandidateArrays.of(x, None, np.array([m.predict(x) for m in models]), distances, fitted)
        for prior in policy_file.shipped().priors:
            if prior.names == self.problem.feature_names:
                prior = prior if seen else prior.without(self.problem.held_out)
                self.trained_on |= {code for table in prior.languages for code in table}
                fitted = np.exp(np.log(prior.spaces[:, 2]).mean(axis=0)) if prior.languages else None
                return CandidateArrays.of(x, None, prior.predict(x), prior.distances(x), fitted)
        return CandidateArrays.of(x)

    def _fresh(self) -> CandidateSet:
        return CandidateSet(self._space, self._used.features, self._used.numbers)

    def tell(self, action: Any, reward: Any, info: Mapping[str, Any]) -> None:
        """Observe the outcome and the cost of one candidate."""
        self._spent += float(info.get("cost", 1.0))
        super().tell(action, reward, info)

    def _first(self) -> int:
        return self._suggest()

    def _observe(self, row: int, rewards: Floats) -> None:
        if row in self._at and self._set.rows.shape[1] < LONGEST:
            self._set.observe(np.array([self._at[row]]), rewards[:1])

    def _suggest(self) -> int:
        free = self.free[self._pool]
        if not free.any():
            return self.candidates.draw(self.rng)
        probability = np.exp(self.log_probabilities(free))
        if self._deterministic:
            return self.best_free(probability, self._pool)
        edge = min(self._used.candidates, int(free.sum()))
        probability[probability < np.partition(probability, -edge)[-edge]] = 0.0
        return int(self._pool[self.rng.choice(len(probability), p=probability / probability.sum())])

    def log_probabilities(self, free: npt.NDArray[np.bool_]) -> Floats:
        """(n,) log probabilities of the candidates, -inf for those that are not `free` (n,)."""
        budget = self.problem.budget
        left = 1.0 - (self._spent / budget if budget else len(self.rows) / len(self.features))
        known = self._fresh() if self._blind else self._set
        seen = {k: v[0] for k, v in known.observation(np.array([min(max(left, 0.0), 1.0)])).items()}
        total = np.zeros(len(free))
        for member in self._members:
            scores = candidate_net.scores(member, joined(seen), seen["mask"] > 0.5, seen["context"])
            scores = np.where(free, scores.astype(np.float64), -np.inf)
            total += scores - scores.max()
        total /= len(self._members)
        return np.asarray(total - np.log(np.exp(total).sum()))


def known(file: str | None, sha256: str | None = None) -> tuple[PolicyWeights, ...]:
    """The weights in a file, or the shipped ones."""
    return (policy_file.shipped() if file is None else policy_file.read(file, sha256)).trained


def unfit(problem: Problem, used: PolicyWeights) -> str | None:
    """The reason why weights cannot be used on a problem; None if they can."""
    names = used.feature_names
    if "hyperparameters" in used.features and names and names != problem.feature_names:
        return (
            f"on the hyperparameters that it was trained on, {', '.join(names)}, got {', '.join(problem.feature_names)}"
        )
    return None


def has_unseen(problem: Problem, seen: bool = False, file: str | None = None, **hyperparameters: Any) -> bool:
    """Return whether there are weights that may be used on a problem."""
    return bool(unseen(known(file), () if seen else problem.held_out))


def fits(problem: Problem, *, seen: bool = False, **hyperparameters: Any) -> bool:
    """Return whether the policy of a file can run on a problem."""
    finite = problem.features is not None and problem.objectives == 1
    if not finite or not has_unseen(problem, seen, hyperparameters.get("file")):
        return False
    weights = known(hyperparameters.get("file"), hyperparameters.get("sha256"))
    excluded = () if seen else problem.held_out
    return unfit(problem, chosen(weights, excluded, hyperparameters.get("weights"))) is None
