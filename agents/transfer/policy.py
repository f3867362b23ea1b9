"""The agents `learned-policy` and `in-context`, which follow trained policies; choice of weights for a problem."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from hpo_envs.agents.models import Floats, candidate_net
from hpo_envs.agents.models.candidate_set import CandidateArrays, joined
from hpo_envs.agents.models.gp.stacked import distance
from hpo_envs.agents.problem import Problem
from hpo_envs.agents.transfer import policy_file
from hpo_envs.agents.transfer.learned import LARGEST, chosen, fit_sources, unseen
from hpo_envs.agents.transfer.observing import ObservingAgent
from hpo_envs.agents.transfer.policy_file import IN_CONTEXT, PolicyWeights


class Policy(ObservingAgent):
    """A policy trained by reinforcement learning, which draws each candidate from its probabilities.

    The policy's input is that of `wrappers.CandidateObservation`, computed by the same code: features of each
    candidate, a mask of candidates that were not evaluated, and the state of the episode.

    Without a file (as the agent `learned-policy`) the shipped weights are used: those trained on most languages, but on
    none of the problem's (`problem.held_out`). Their scores are linear in the predictions of source tasks and in the
    mean, deviation and log expected improvement of the Gaussian process of `learned`. The source tasks are
    `problem.sources`; without these, shipped networks fitted to one table each, of the same hyperparameters and other
    languages; without either, none. The weights were trained by natural policy gradients on whole episodes over many
    tables (`python -m hpo_envs.benchmarks.learned.policy`), where the return is the mean over the episode of the best
    reward so far, plus half of the final one. Files may have networks, trained by masked proximal policy optimisation.
    Evaluated candidates have probability 0; once all observed ones were evaluated, the others are drawn at random.

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
        seed: Seed of `self.rng`, which draws the candidates, and a subset of 5,000 to observe if there are more.
        file: File written by `hpo_envs.integrations.candidate_policy.save_policy`; None: the shipped weights.
        sha256: Required sha256 of the file; None: any.
        deterministic: Whether the most probable candidate is suggested instead of a sampled one.
        seen: Whether weights trained on the problem's languages are allowed; results with such weights are marked.
        weights: Name of the weights in the file; None: those trained on most languages, of the allowed ones.
        blind: Whether earlier evaluations are hidden from the policy, to measure their value.

    Raises:
        ValueError: More than one objective, an invalid file, hyperparameters other than in training, or no weights that
            may be used.
    """

    def __init__(
        self, problem: Problem, seed: int, *, file: str | None = None, sha256: str | None = None,
        deterministic: bool = False, seen: bool = False, weights: str | None = None, blind: bool = False,
    ) -> None:  # fmt: skip
        used = chosen(known(file, sha256), () if seen else problem.held_out, weights)
        super().__init__(problem, seed, used.features, LARGEST, used.numbers)
        if unfit(problem, used):
            raise ValueError(f"policy must be used {unfit(problem, used)}")
        self.trained_on, self._deterministic, self._blind = used.languages, deterministic, blind
        self._used, self._members = used, used.members
        self.observe_space(self._space_of(seen))

    def _space_of(self, seen: bool) -> CandidateArrays:
        """Return the observed candidates, with predictions of source tasks or, without any, of a shipped prior.

        There are no predictions if no feature needs them, or without a prior of these features. The languages of the
        prior are added to `trained_on`.
        """
        x, sources = self.features[self.pool], [s for s in self.problem.sources if not s.feature_names]
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

    def _suggest(self) -> int:
        free = self.free[self.pool]
        if not free.any():
            return self.candidates.draw(self.rng)
        probability = np.exp(self.log_probabilities(free))
        if self._deterministic:
            return self.best_free(probability, self.pool)
        edge = min(self._used.candidates, int(free.sum()))
        probability[probability < np.partition(probability, -edge)[-edge]] = 0.0
        return int(self.pool[self.rng.choice(len(probability), p=probability / probability.sum())])

    def log_probabilities(self, free: npt.NDArray[np.bool_]) -> Floats:
        """Return the (n,) log probabilities of the n candidates in `pool`; -inf outside of the (n,) mask `free`."""
        seen = {k: v[0] for k, v in self.observation(self._blind).items()}
        total = np.zeros(len(free))
        for member in self._members:
            scores = candidate_net.scores(member, joined(seen), seen["mask"] > 0.5, seen["context"])
            scores = np.where(free, scores.astype(np.float64), -np.inf)
            total += scores - scores.max()
        total /= len(self._members)
        return np.asarray(total - np.log(np.exp(total).sum()))


class InContext(Policy):
    """A network that learned, on tasks of other families, to search from the history of a run.

    The network scores every candidate from the predictions of Gaussian processes with length-scales of three kinds,
    from how typical the candidate is, and from the evaluated ones; hyperparameters have no names, so that all knowledge
    of a problem comes from the run. States of searches on tables and on random functions were recorded, and the network
    was trained to draw candidates with a large gain over the best evaluation so far
    (`python -m hpo_envs.benchmarks.learned.in_context`). The weights are those trained on most languages and task
    groups, but on none of the problem's. The first candidate is random.

    Formula:
        next = argmax_i mean over seeds of log p_seed(i)
        p ~ exp f(c_i, two attention-pooled sums over all candidates, one over the evaluated ones)
        f = argmax E[sum_i p(i) max(y_i - incumbent, 0)] over recorded states

    Paper: none. Yutian Chen et al. Learning to Learn without Gradient Descent by Gradient Descent. ICML 2017
    trains on expected improvement; Samuel Muller et al. PFNs4BO: In-Context Learning for Bayesian Optimization. ICML
    2023, on draws of a prior.

    Complexity: O(n (h^2 + 28 t)) a suggestion, t observations, n candidates, h units.

    Example:
        from hpo_envs import run
        runs = run("in-context", "NMTHPO-swen-v0", seeds=range(2), budget=8)
        runs.best()

    Args:
        problem: A finite problem with features and one objective.
        seed: Seed of `self.rng`, which draws the first candidate and what `Policy` draws.
        file: File of other weights, see `Policy`; None: the shipped weights of this agent.
        deterministic: Whether the most probable candidate is suggested instead of a sampled one.
        **more: Other arguments of `Policy`.

    Raises:
        ValueError: See `Policy`.
    """

    def __init__(
        self, problem: Problem, seed: int, *, file: str | None = None, deterministic: bool = True, **more: Any
    ) -> None:
        super().__init__(problem, seed, file=file or str(IN_CONTEXT), deterministic=deterministic, **more)
        self.random_first = 1

    def _first(self) -> int:
        return self.candidates.draw(self.rng)


def known(file: str | None, sha256: str | None = None) -> tuple[PolicyWeights, ...]:
    """Return the weights in a file, see `policy_file.read`, or those shipped for `learned-policy` if `file` is None."""
    return (policy_file.shipped() if file is None else policy_file.read(file, sha256)).trained


def unfit(problem: Problem, used: PolicyWeights) -> str | None:
    """Return why weights do not suit a problem, as the end of "policy must be used ..."; None if they do."""
    names, given = used.feature_names, problem.feature_names
    if "hyperparameters" in used.features and names and names != given:
        return f"on the hyperparameters that it was trained on, {', '.join(names)}, got {', '.join(given)}"
    return None


def has_unseen(problem: Problem, /, seen: bool = False, file: str | None = None, **hyperparameters: Any) -> bool:
    """Return whether there are weights that may be used on a problem: trained on other languages, or any if `seen`.

    Raises:
        ValueError: The file is invalid, or the hyperparameter `weights` is unknown.
    """
    trained = known(file, hyperparameters.get("sha256"))
    return bool(unseen(trained, () if seen else problem.held_out, hyperparameters.get("weights")))


def fits(problem: Problem, /, *, seen: bool = False, **hyperparameters: Any) -> bool:
    """Return whether the policy of a file, or the shipped one, can run on a problem; errors as in `has_unseen`."""
    given, excluded = hyperparameters.get, () if seen else problem.held_out
    free = unseen(known(given("file"), given("sha256")), excluded, given("weights"))
    suits = bool(free) and unfit(problem, chosen(free, ())) is None
    return suits and problem.features is not None and problem.objectives == 1


def has_unseen_context(problem: Problem, /, file: str | None = None, **hyperparameters: Any) -> bool:
    """Return whether there are weights of `InContext` that may be used on a problem; see `has_unseen`."""
    return has_unseen(problem, file=file or str(IN_CONTEXT), **hyperparameters)
