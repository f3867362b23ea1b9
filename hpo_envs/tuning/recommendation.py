"""Ranking of configurations by predicted mean, with intervals; choice of the evaluations to repeat."""

import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hpo_envs.agents.models.gp.box import PRIOR, BoxGP
from hpo_envs.agents.models.gp.kernels import KernelFit, KernelPrior, Posteriors
from hpo_envs.agents.problem import Axis
from hpo_envs.agents.search.bo_box import BoxSpace
from hpo_envs.tables.user.space import Points, axes_of
from hpo_envs.tuning.record import Evaluation, plain, points_of

FINALISTS = 3
"""Number of configurations whose evaluations are repeated; also the fewest for which a model is fitted."""

MODELLED = 300
"""Largest number of evaluations in the model. Beyond it, the best ones are two thirds, a random sample is the rest."""

NOISY = KernelPrior(length=PRIOR.length, spread=PRIOR.spread, noise=0.1, noise_spread=1.5)
"""Prior of the kernel. It expects more noise than the agent's prior: a search works better with little noise."""

KERNELS, FLATTEST = 16, 0.3
"""Number of kernels whose posteriors are averaged, because a single one is overconfident; smallest curvature of their
log density that is used."""

WIDTH = 1.96
"""Standard deviations on each side of a 95 % interval."""


@dataclass(frozen=True)
class Recommendation:
    """A configuration with its predicted mean score, in native units.

    Attributes:
        evaluation: The first evaluation of the configuration.
        mean: Posterior mean of a Gaussian process, or the mean of the scores if there are fewer than three
            configurations or all modelled scores are equal; NaN for several objectives.
        low: Lower end of the 95 % interval of the mean; NaN without a Gaussian process.
        high: Upper end of the interval; NaN like `low`.
        count: Number of evaluations of the configuration.
    """

    evaluation: Evaluation
    mean: float
    low: float
    high: float
    count: int

    @property
    def config(self) -> dict[str, Any]:
        """Natural values of the active hyperparameters."""
        return dict(self.evaluation.config)


def ranked(header: Mapping[str, Any], evaluations: Sequence[Evaluation]) -> list[Recommendation]:
    """Return the feasible configurations of a search with one objective, best mean first; empty if there are none.

    A configuration is feasible if all its evaluations with a score are. Trainings that were stopped early or paused are
    left out, unless none was complete; then, of paused ones, those with the fewest epochs left are used.
    """
    good = [e for e in evaluations if e.rewards is not None]
    most = max((e.rank[0] for e in good), default=None)
    good = [e for e in good if e.rank[0] == most]
    if not any(e.feasible for e in good):
        return []
    points = points_of(header)
    rows = np.array([points.row(plain(e.config)) for e in good])
    y = np.array([e.reward for e in good])
    _, first, which = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    which = which.reshape(-1)
    mean = np.array([y[which == i].mean() for i in range(len(first))])
    deviation = np.full(len(first), np.nan)
    if len(first) >= FINALISTS and (modelled := _posterior(points, rows, y, first)) is not None:
        mean, deviation = modelled
    sign = 1.0 if header["goals"][0] == "max" else -1.0
    found = []
    for i in np.argsort(-mean, kind="stable").tolist():
        low, high = sorted(float(sign * mean[i] + side * WIDTH * deviation[i]) for side in (-1.0, 1.0))
        if all(good[j].feasible for j in np.flatnonzero(which == i)):
            count = int((which == i).sum())
            found.append(Recommendation(good[first[i]], float(sign * mean[i]), low, high, count))
    return found


def _posterior(points: Points, rows: Any, y: Any, at: Any) -> tuple[Any, Any] | None:
    """Return posterior means and standard deviations of rewards at rows `at`; None if all modelled ones are equal."""
    space = BoxSpace([Axis(**axis) for axis in axes_of(points.space)])
    x = space.snap(points.unit(rows))
    kept = np.argsort(-y, kind="stable")
    if len(kept) > MODELLED:
        best, rest = np.split(kept, [2 * MODELLED // 3])
        kept = np.concatenate([best, np.random.default_rng(0).choice(rest, MODELLED - len(best), replace=False)])
    # Far below the median, scores say nothing about the best; a linear scale keeps the noise what it is.
    middle, top = np.median(y), y.max()
    known = np.maximum(y[kept], 3.0 * middle - 2.0 * top if middle < top else -np.inf)
    if np.ptp(known) == 0.0:
        return None
    centre, scale = known.mean(), known.std()
    z = (known - centre) / scale
    weights, kernels = _kernels(space.inputs(x[kept]), z, space.groups)
    means, deviations = np.stack([BoxGP(space, x[kept], z, kernel).predict(x[at]) for kernel in kernels], axis=1)
    mean = weights @ means
    return centre + scale * mean, scale * np.sqrt(weights @ (deviations**2 + (means - mean) ** 2))


def _kernels(x: Any, z: Any, groups: Any) -> tuple[Any, list[KernelFit]]:
    """Return (KERNELS,) weights, and the kernels: the most probable one, and draws from its Laplace approximation."""
    posteriors, step = Posteriors("matern52", x[None], z[None], NOISY, groups), 1e-3
    fit = KernelFit.estimate("matern52", x, z, NOISY, None, groups)
    centre = np.log(np.append(fit.lengths, fit.noise / fit.amplitude))

    def slope(point: Any) -> Any:
        return posteriors.at(point[None], [0])[1][0]

    hessian = np.array([slope(centre + e) - slope(centre - e) for e in step * np.eye(len(centre))]) / (2.0 * step)
    curvatures, axes = np.linalg.eigh(0.5 * (hessian + hessian.T))
    draws = np.random.default_rng(0).standard_normal((KERNELS, len(centre)))
    draws[0] = 0.0
    kernels, log = [], np.empty(KERNELS)
    for k, draw in enumerate(draws):
        point = centre + axes @ (draw / np.sqrt(np.maximum(curvatures, FLATTEST)))
        log[k] = 0.5 * draw @ draw - posteriors.at(point[None], [0])[0][0]
        amplitude = float(posteriors.amplitudes[0])
        noise = amplitude * float(np.exp(point[-1]))
        kernels.append(KernelFit("matern52", np.exp(point[:-1]), amplitude, noise, groups))
    weights = np.exp(log - log.max())
    return weights / weights.sum(), kernels


def repeated(evaluations: Sequence[Evaluation]) -> list[Evaluation]:
    """Return the repeats since the last new configuration began."""
    return [*itertools.takewhile(lambda e: e.repeats >= 0, reversed(evaluations))][::-1]


def to_confirm(header: Mapping[str, Any], evaluations: Sequence[Evaluation]) -> int | None:
    """Return the number of the evaluation to repeat next; None without finalists, or once each has enough repeats.

    The finalists are those at the end of the search, which a larger budget may have moved.
    """
    counts, last = Counter(e.repeats for e in evaluations if e.repeats >= 0), repeated(evaluations)
    chosen = [*dict.fromkeys(e.repeats for e in last)]
    if len(chosen) < FINALISTS:
        others = [r.evaluation.number for r in ranked(header, evaluations[: len(evaluations) - len(last)])]
        chosen += [number for number in others if number not in chosen][: FINALISTS - len(chosen)]
    return min((n for n in chosen if counts[n] < header["confirm"]), key=lambda n: counts[n], default=None)
