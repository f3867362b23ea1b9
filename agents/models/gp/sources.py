"""Gaussian processes of source tasks, cached, as are their predictions for candidates; normal scores of rewards."""

import functools

import numpy as np

from hpo_envs.agents.models import Floats
from hpo_envs.agents.models.gp.kernels import KernelFit, KernelPrior

FITTED, USED = 120, 400
"""Largest numbers of observations from which length-scales are estimated, and on which predictions are based."""


class SourceGP:
    """Gaussian process of the normal scores of one table's rewards, with a length-scale for each feature.

    Args:
        features: (t, d) features.
        rewards: (t,) rewards in any unit; higher is better.

    Attributes:
        lengths: (d,) most probable length-scales.
    """

    def __init__(self, features: Floats, rewards: Floats) -> None:
        order, z = np.random.default_rng(0).permutation(len(rewards)), normal_scores(rewards)
        few, self._rows = order[:FITTED], features[order[:USED]]
        fit = KernelFit.estimate("matern52", features[few], z[few], KernelPrior(), None)
        covariance = fit.covariance(self._rows, self._rows) + fit.noise * np.eye(len(self._rows))
        self._fit, self._alpha, self.lengths = fit, np.linalg.solve(covariance, z[order[:USED]]), fit.lengths
        self._known: dict[bytes, Floats] = {}

    def predict(self, features: Floats) -> Floats:
        """Return the (n,) expected normal scores of (n, d) candidates; the four newest results are cached."""
        key = features.tobytes()
        if key not in self._known:
            self._known = dict([*self._known.items()][-3:])
            self._known[key] = self._fit.covariance(features, self._rows) @ self._alpha
        return self._known[key]


def source_gp(features: Floats, rewards: Floats) -> SourceGP:
    """Return the model of a table's (t, d) features and (t,) rewards, which is cached and shared by agents."""
    return _source_gp(features.tobytes(), rewards.tobytes(), features.shape[1])


@functools.lru_cache(maxsize=256)
def _source_gp(features: bytes, rewards: bytes, width: int) -> SourceGP:
    return SourceGP(np.frombuffer(features).reshape(-1, width), np.frombuffer(rewards))


def normal_scores(rewards: Floats) -> Floats:
    """Return the (t,) normal scores of rewards: normal quantiles of their ranks, comparable between metrics."""
    from scipy.special import ndtri
    from scipy.stats import rankdata

    return np.asarray(ndtri((rankdata(rewards) - 0.5) / len(rewards)))
