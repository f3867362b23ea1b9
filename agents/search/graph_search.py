"""Graph-based sequential model-based optimisation (Zhang and Duh 2020, section 5.2): by posterior or by influence."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from hpo_envs.agents.base import positive, whole
from hpo_envs.agents.models import Floats, Indices
from hpo_envs.agents.models.gp.conditioning import FiniteGP, root
from hpo_envs.agents.models.gp.kernels import KERNELS
from hpo_envs.agents.models.similarity_graph import LARGEST, Harmonic, SimilarityGraph
from hpo_envs.agents.problem import Problem
from hpo_envs.agents.search.base import CandidateAgent
from hpo_envs.agents.search.posterior_search import PosteriorSearch
from hpo_envs.tables.checks import one_of

VARIANTS = ("fitted", "literal", "released")


class OnGraph(CandidateAgent):
    """Base class of optimizers on the similarity graph of their candidates.

    Problems with a common base share the graph of the base, in which rows that are not candidates stay unlabelled. If
    `tie_order` is given or the base is too large, the graph is that of the candidates alone.

    Args:
        problem: Rows or (row, checkpoint) pairs with features, or a grid.
        kernel: Kernel of the edge weights, `matern52` or `rbf` (equation 4).
        length_scale: Sigma of equation 4, the same for all features.
        neighbours: Number of nearest neighbours joined with a node; `auto`: 1/7 of the nodes (footnote 12); None: all.
        tie_order: All candidates in the order in which equally near ones become neighbours; None: the order of the
            rows. On a grid this matters: published graphs depend on the shuffled order of upstream's rows.
        **common: See `CandidateAgent`.

    Attributes:
        graph: The similarity graph.
        nodes: (candidates,) node of each candidate in the graph.

    Raises:
        ValueError: A setting is not valid, there are more than `LARGEST` candidates, or see `CandidateAgent`.
    """

    def __init__(
        self, problem: Problem, seed: int, *, kernel: str = "matern52", length_scale: float = 1.0,
        neighbours: int | str | None = "auto", tie_order: Sequence[int] | None = None, **common: Any,
    ) -> None:  # fmt: skip
        super().__init__(problem, seed, **common)
        one_of("kernel", kernel, KERNELS)
        positive("length_scale", length_scale)
        base, index = self.problem.base, self.problem.index
        if base is None or index is None or len(base) > LARGEST or tie_order is not None:
            base, index = self.features, np.arange(len(self.features))
        if neighbours == "auto":
            neighbours = max(1, round(len(base) / 7))
        neighbours = None if neighbours is None else whole("neighbours", neighbours, 1)
        ties = None if tie_order is None else tuple(int(i) for i in tie_order)
        self.graph = SimilarityGraph.of_features(base, kernel, length_scale, neighbours, ties)
        self.nodes = index


class GraphSearch(OnGraph, PosteriorSearch):
    """Graph-based search with a normal posterior: the finite-set Gaussian process of section 5.3.

    The prior covariance of all candidates is K = (2 beta (Laplacian + I / sigma^2))^-1; the posterior of the
    unlabelled nodes is then the harmonic solution, smoothed by 1/sigma^2, with a variance, and EI or EHVI apply. The
    paper gives no values; the defaults, `precision` 0.05 and `sigma2` 50 for one objective, 0.5 and 3 for two, were
    fitted to its Tables 3 and 4; on tables of other data they are no better than 1 and 1 (`reproduce nmthpo`).

    Formula:
        w_ij = k(x_i, x_j) if i is among the nearest neighbours of j, or j among those of i; else 0
        L = D - W, D_ii = sum_j w_ij
        K = (2 beta (L + I / sigma^2))^-1
        EI, UCB, Thompson or EHVI of the posterior of a Gaussian process on the n candidates with covariance K

    Paper: Xuan Zhang and Kevin Duh. Reproducible and Efficient Benchmarks for Hyperparameter Optimization of Neural
    Machine Translation Systems. Transactions of the ACL 8:393-408, 2020, sections 5.2.1, 5.3 and 5.4.

    Complexity: O(t n) a suggestion after one O(n^3) inversion that all agents on the same candidates share.

    Example:
        from hpo_envs import run
        runs = run("graph-ei-rbf", "NMTHPO-zhen-v0", seeds=range(2), budget=10)
        runs.best()  # the best configuration of both seeds

    Args:
        problem: Rows or (row, checkpoint) pairs with features, or a grid; with one or two objectives.
        precision: beta of section 5.3 (`beta` is the weight of the variance in `ucb`); None: by objectives, see above.
        sigma2: sigma^2 of section 5.3; None: by objectives, see above.
        noise: Observation variance.
        **common: See `OnGraph` and `PosteriorSearch`.

    Raises:
        ValueError: A setting is not valid, or the problem is not supported.
    """

    def __init__(
        self, problem: Problem, seed: int, *, precision: float | None = None, sigma2: float | None = None,
        noise: float = 1e-4, **common: Any,
    ) -> None:  # fmt: skip
        super().__init__(problem, seed, **common)
        beta, variance = (0.05, 50.0) if problem.objectives == 1 else (0.5, 3.0)
        precision = positive("precision", beta if precision is None else precision)
        self._scales = precision, positive("sigma2", variance if sigma2 is None else sigma2)
        covariance, nodes, noise = _covariance(self.graph, *self._scales), self.nodes, positive("noise", noise)
        variances = np.diag(covariance)[nodes]
        self._gp = FiniteGP(lambda k: covariance[nodes[k], nodes], variances, noise, problem.objectives)

    @property
    def _models(self) -> tuple[FiniteGP]:
        return (self._gp,)

    def _observe(self, row: int, rewards: Floats) -> None:
        self._gp.observe(row, rewards)

    def _posterior(self) -> tuple[Floats, Floats, Floats]:
        deviation = np.sqrt(self._gp.variances)
        return self._gp.means[1:], np.tile(deviation, (self.problem.objectives, 1)), np.array(self.rewards)

    def _draw(self) -> Floats:
        prior = _root(self.graph, *self._scales) @ self.rng.standard_normal(len(self.graph.weights))
        return self._gp.sample(prior[self.nodes], self.rows, np.array(self.rewards)[:, 0], self.rng)


@functools.lru_cache(maxsize=4)
def _covariance(graph: SimilarityGraph, precision: float, sigma2: float) -> Floats:
    """Return the (n, n) read-only covariance of the finite-set Gaussian process; I / sigma2 makes it non-singular."""
    n = len(graph.weights)
    k = np.linalg.inv(2.0 * precision * (graph.laplacian + np.eye(n) / sigma2))
    k = 0.5 * (k + k.T)
    k.setflags(write=False)
    return k


@functools.lru_cache(maxsize=4)
def _root(graph: SimilarityGraph, precision: float, sigma2: float) -> Floats:
    return root(_covariance(graph, precision, sigma2))


class GraphInfluence(OnGraph):
    """Graph-based search by expected influence (EIF, equation 8).

    Labels 0 and 1 are propagated over the graph (equation 7); each candidate k is scored by
    (1 - p_k) sum_i (1 - f+(k,0)(i)) + p_k sum_i f+(k,1)(i), where f+(k,x) are the predictions after labelling k with x.
    Labelling k moves all predictions by (x - f_k) g / G_kk, so all candidates are scored in O(n) once the column
    sums of G are known, and those follow by one rank-one step per observation (see `Harmonic`).

    Formula:
        w_ij as in GraphSearch; L = D - W
        f_U = -L_UU^-1 L_UO y_O                                             (equation 7)
        influence(k) = (1 - p_k) sum_i (1 - f+(k,0)_i) + p_k sum_i f+(k,1)_i     (equation 8)
        f+(k,x) = f + (x - f_k) G_:k / G_kk, G = L_UU^-1

    Paper: Xuan Zhang and Kevin Duh. Reproducible and Efficient Benchmarks for Hyperparameter Optimization of Neural
    Machine Translation Systems. Transactions of the ACL 8:393-408, 2020, section 5.2, equations 4, 7 and 8.

    Complexity: O(t n) a suggestion after one O(n^3) inversion that all agents on the same candidates share.

    Example:
        from hpo_envs import run
        runs = run("graph-eif-rbf", "NMTHPO-zhen-v0", seeds=range(2), budget=10)
        runs.best()  # the best configuration of both seeds

    Args:
        problem: Rows or (row, checkpoint) pairs with features, or a grid; with one objective.
        variant: Interpretation of labels, p_k and the sums.
            `fitted`: label 1 for observations at or above their mean; p_k half of the prediction of the rewards,
            scaled to [0, 1] between the lowest one and the best observation; sums over all nodes. The default: of about
            1,700 interpretations the closest one to the paper's Table 3. On other tables it is not better than the two
            others (part `unseen` of `reproduce nmthpo`).
            `literal`: section 5.2.2 as printed. The best observation is labelled 1; so is another one if a random walk
            from the best one is more than half as likely to step to it as to its most likely next node; p_k is the
            propagated label; sums over all nodes.
            `released`: the authors' code. Label 1 for the best observation alone; p_k half of
            (best - f_k) / (best - lowest f), f the prediction of the rewards; sums over the unlabelled nodes but k.
        **common: See `OnGraph`.

    Raises:
        ValueError: A setting is not valid, or the problem has several objectives; or see `OnGraph`.
    """

    def __init__(self, problem: Problem, seed: int, *, variant: str = "fitted", **common: Any) -> None:
        super().__init__(problem, seed, **common)
        if problem.objectives != 1:
            raise ValueError(f"objectives must be 1 for expected influence, got {problem.objectives}")
        self.variant = one_of("variant", variant, VARIANTS)
        self._harmonic = Harmonic(self.graph)

    @property
    def _models(self) -> tuple[Harmonic]:
        return (self._harmonic,)

    def _expected(self, rows: Indices) -> Floats:
        return self.predict()[:, rows].T

    def _observe(self, row: int, rewards: Floats) -> None:
        self._harmonic.label(int(self.nodes[row]))

    def _suggest(self) -> int:
        observed = self._observed()
        labels = self._labels(observed)
        f = self._harmonic.predict(labels)
        scores = self.influence(f, self._probability(f, observed))
        return self.best_free(scores[self.nodes])

    def predict(self) -> Floats:
        """Return the (1, n) harmonic predictions of candidates' rewards (equation 7), or zeros without observations."""
        if not self.rows:
            return np.zeros((1, len(self.features)))
        return self._harmonic.predict(self._observed())[None, self.nodes]

    def influence(self, f: Floats, p: Floats) -> Floats:
        """Return the (n,) expected influence of every node (equation 8), summed over the nodes of the agent's variant.

        `f` are the (n,) propagated 0/1 labels, and `p` the (n,) probabilities that a node's label is 1.
        """
        leverage = self._harmonic.leverage()
        if self.variant != "released":
            count, if_bad, if_good = len(f), f.sum() - f * leverage, f.sum() + (1.0 - f) * leverage
        else:
            unlabelled = np.ones(len(f), dtype=bool)
            unlabelled[self._harmonic.nodes] = False
            count, total = int(unlabelled.sum()) - 1, f[unlabelled].sum()
            if_bad, if_good = total - f * leverage, total + (1.0 - f) * leverage - 1.0
        return np.asarray((1.0 - p) * (count - if_bad) + p * if_good)

    def _observed(self) -> Floats:
        """Return the (labelled,) mean rewards of the labelled nodes, in the order of labelling."""
        n, nodes = len(self.graph.component), self.nodes[self.rows]
        totals = np.bincount(nodes, [r[0] for r in self.rewards], n)
        return (totals / np.maximum(np.bincount(nodes, minlength=n), 1))[self._harmonic.nodes]

    def _labels(self, observed: Floats) -> Floats:
        """Return the (labelled,) 0/1 labels of the labelled nodes under the agent's variant."""
        best = int(np.argmax(observed))
        labels = np.zeros(len(observed))
        if self.variant == "fitted":
            labels[:] = observed >= observed.mean()
        if self.variant == "literal":
            steps = self.graph.weights[self._harmonic.nodes[best]]
            chance = steps / max(float(steps.max()), 1e-300)
            labels[:] = chance[self._harmonic.nodes] > 0.5
        labels[best] = 1.0
        return labels

    def _probability(self, propagated: Floats, observed: Floats) -> Floats:
        """Return the (n,) probabilities p_k of equation 8, one for each node."""
        if self.variant == "literal":
            return np.clip(propagated, 0.0, 1.0)
        f = self._harmonic.predict(observed)
        unlabelled = np.ones(len(f), dtype=bool)
        unlabelled[self._harmonic.nodes] = False
        best, lowest = float(observed.max()), float(f[unlabelled].min(initial=observed.max()))
        if best - lowest <= 1e-12 * max(abs(best), 1e-300):
            return np.full(len(f), 0.5)
        # No prediction exceeds the best observation (maximum principle): the released code never takes its branch
        # for those, and gives the highest probability to the lowest prediction.
        above = f - lowest if self.variant == "fitted" else best - f
        return np.clip(0.5 * above / (best - lowest), 0.0, 0.5)
