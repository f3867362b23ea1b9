"""Top-two sampling rules, which evaluate either a leader or a challenger."""

from __future__ import annotations

from typing import Any

import numpy as np

from hpo_envs.agents.bandits.base import ConfidentAgent
from hpo_envs.agents.bandits.glr import transport
from hpo_envs.agents.models.acquisition import log_expected_improvement
from hpo_envs.agents.problem import Problem


class TopTwo(ConfidentAgent):
    """Base class of the top-two agents (Russo 2016).

    Args:
        beta: Probability of evaluating the leader rather than the challenger (1/2 in Moss et al. 2019, Algorithm 2).
        **options: See `hpo_envs.agents.bandits.base.ConfidentAgent`.

    Raises:
        ValueError: beta is not strictly between 0 and 1, or an option is out of its range.
    """

    def __init__(self, problem: Problem, seed: int, *, beta: float = 0.5, **options: Any) -> None:
        super().__init__(problem, seed, **options)
        if not 0.0 < beta < 1.0:
            raise ValueError(f"beta must lie strictly between 0 and 1, got {beta!r}")
        self.beta = beta

    def leader(self) -> int:
        """Return the leader, by default a draw from pi."""
        return self.draw(self.pi)

    def challenger(self, leader: int) -> int:
        """Return the challenger, an arm that may be better than the leader; implemented by subclasses."""
        raise NotImplementedError

    def sample(self) -> int:
        """Return the leader with probability beta, else the challenger."""
        leader = self.leader()
        return leader if self.rng.random() < self.beta else self.challenger(leader)


class TTTS(TopTwo):
    """Top-two Thompson sampling (Moss et al. 2019, Algorithm 2; Russo 2016).

    Two distinct arms are drawn according to pi; the first is evaluated with probability beta, else the second.

    Formula:
        pi_m = integral f_m(x) prod_{j != m} F_j(x) dx, f_m the Student-t posterior of arm m's mean
        I ~ pi; J ~ pi given J != I; evaluate I with probability beta, else J
        stop when max_m pi_m > confidence

    Paper: Henry B. Moss, Andrew Moore, David S. Leslie and Paul Rayson. FIESTA: Fast IdEntification of
    State-of-The-Art models using adaptive bandit algorithms. ACL 2019, Algorithm 2. Daniel Russo. Simple Bayesian
    Algorithms for Best Arm Identification. COLT 2016.

    Complexity: one arm's quadrature an evaluation, O(arms x nodes).

    Example:
        from hpo_envs import run
        runs = run("ttts", "FIESTA-tdsa8-v0", seeds=range(3), confidence=0.9)
        [len(r.rewards) for r in runs]  # evaluations until confident
    """

    def challenger(self, leader: int) -> int:
        """Return a draw from pi given that it is not the leader; a uniform draw if pi of all others is 0."""
        others = (np.arange(self.arms) != leader).astype(np.float64)
        rest = others * self.pi
        return self.draw(rest if rest.any() else others)


class T3C(TopTwo):
    """Top-two transportation cost (Shang, de Heide, Kaufmann, Menard and Valko 2020).

    The leader is a draw from pi; the challenger is the arm that is cheapest to confuse with the leader: that with the
    smallest transportation cost, here for Gaussians with unknown variances.

    Formula:
        I ~ pi; J = argmin_j min_u sum_{k in {I, j}} T_k / 2 log(1 + (mean_k - u)^2 / var_k)
        evaluate I with probability beta, else J

    Paper: Xuedong Shang, Rianne de Heide, Emilie Kaufmann, Pierre Menard and Michal Valko. Fixed-Confidence
    Guarantees for Bayesian Best-Arm Identification. AISTATS 2020. Unknown variances: Marc Jourdan, Remy Degenne and
    Emilie Kaufmann. Dealing with Unknown Variances in Best-Arm Identification. ALT 2023.

    Complexity: one arm's quadrature an evaluation, O(arms x nodes), and O(arms) for the challenger's costs on a
    fixed grid.

    Example:
        from hpo_envs import run
        runs = run("t3c", "FIESTA-tdsa8-v0", seeds=range(3), confidence=0.9)
        [len(r.rewards) for r in runs]  # evaluations until confident
    """

    def challenger(self, leader: int) -> int:
        """Return the arm with the smallest transportation cost; ties are broken at random."""
        cost = transport(self.belief, leader)
        return int(self.rng.choice(np.flatnonzero(cost == cost.min())))


class TTEI(TopTwo):
    """Top-two expected improvement (Qin, Klabjan and Russo 2017).

    The leader has the largest expected improvement over the best mean, the challenger the largest expected
    improvement over the leader's mean; the posterior's scales replace the known deviations of the original.

    Formula:
        v(g, s) = E[max(N(g, s^2), 0)] = s (u Phi(u) + phi(u)), u = g / s
        I = argmax_i v(mean_i - max mean, scale_i)
        J = argmax_{j != I} v(mean_j - mean_I, sqrt(scale_j^2 + scale_I^2))
        evaluate I with probability beta, else J

    Paper: Chao Qin, Diego Klabjan and Daniel Russo. Improving the Expected Improvement Algorithm. NeurIPS 2017.

    Complexity: O(arms) a suggestion; the stopping rule costs one arm's quadrature an evaluation, O(arms x nodes).

    Example:
        from hpo_envs import run
        runs = run("ttei", "FIESTA-tdsa8-v0", seeds=range(3), confidence=0.9)
        [len(r.rewards) for r in runs]  # evaluations until confident
    """

    def leader(self) -> int:
        """Return the arm with the largest expected improvement over the best mean."""
        p = self.belief.posterior()
        return int(log_expected_improvement(p.mean - p.mean.max(), p.scale).argmax())

    def challenger(self, leader: int) -> int:
        """Return the arm, other than the leader, with the largest expected improvement over the leader's mean."""
        p = self.belief.posterior()
        value = log_expected_improvement(p.mean - p.mean[leader], np.hypot(p.scale, p.scale[leader]))
        value[leader] = -np.inf
        return int(value.argmax())
