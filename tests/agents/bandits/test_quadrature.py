"""The probability of being best against adaptive integration and recorded numbers."""

import math

import numpy as np
import pytest
from scipy import stats

from hpo_envs.agents.bandits import best_arm as beliefs
from hpo_envs.agents.bandits.quadrature import RULES, Posterior, Quadrature
from tests.agents.helpers import known

PI = {
    "exact": [0.1380143960238309, 0.5522252061601841, 0.13319892400431574, 0.17656147381166917],
    "fast": [0.13801440592883502, 0.5522252459698087, 0.13319886110748788, 0.17656148699386837],
}


def test_pi_against_integral_by_adaptive_steps() -> None:
    from scipy import integrate
    from scipy.special import beta, stdtr

    p = known()

    def density(i: int, x: float) -> float:
        z = (x - p.mean[i]) / p.scale[i]
        height = 1.0 / (math.sqrt(p.df[i]) * beta(0.5, p.df[i] / 2))
        return height * (1 + z * z / p.df[i]) ** (-(p.df[i] + 1) / 2) / p.scale[i]

    def best(x: float, i: int) -> float:
        return density(i, x) * math.prod(stdtr(p.df[j], (x - p.mean[j]) / p.scale[j]) for j in range(4) if j != i)

    ends = [-5.0, 0.3, 0.45, 0.5, 0.515, 0.55, 0.7, 60.0]
    for i in range(4):
        parts = [integrate.quad(best, *ends[k : k + 2], args=(i,), epsabs=1e-11)[0] for k in range(7)]
        value = sum(parts) + 1.0 - stdtr(p.df[i], (60.0 - p.mean[i]) / p.scale[i])
        assert beliefs.best_probability(p)[i] == pytest.approx(value, abs=1e-8)
        assert beliefs.best_probability(p, "fast")[i] == pytest.approx(value, abs=1e-5)


def test_pi_is_these_numbers() -> None:
    """Saved runs depend on them: an agent draws by them."""
    for rule, numbers in PI.items():
        assert beliefs.best_probability(known(), rule) == pytest.approx(numbers, abs=1e-13)


def test_error_is_what_nodes_miss() -> None:
    p = known()
    q = Quadrature(p, RULES["fast"])
    assert q.rule is RULES["fast"]
    assert q.error < 1e-5
    assert q.density.shape == q.cumulative.shape == (4, len(q.x))
    assert (q.w[0], q.w[-1]) == (0.0, 0.0)
    assert (np.diff(q.x) > 0).all()
    for i in range(4):
        law = stats.t(p.df[i], p.mean[i], p.scale[i])
        assert q.cumulative[i] == pytest.approx(law.cdf(q.x), abs=1e-12)
        assert q.density[i] == pytest.approx(law.pdf(q.x), rel=1e-9)
    # The widest arm's tail probability lies beyond either end, nobody else's more.
    assert max(stats.t(p.df, p.mean, p.scale).sf(q.x[-1])) < 1.001e-6
    everyone = q.cumulative.prod(axis=0)
    above = 1.0 - q.cumulative[:, -1]
    raw = (q.density * everyone / q.cumulative) @ q.w + above
    error = max(abs(raw.sum() - 1.0), everyone[0], above.sum() ** 2)
    assert q.error == pytest.approx(error, rel=1e-6)
    assert q.pi == pytest.approx(raw / raw.sum(), abs=1e-12)
    # Nodes are good for ten times the probability that they were laid to leave out.
    low, high = 0.0, 1.0
    for _ in range(60):
        shift = (low + high) / 2
        moved = Posterior(p.mean + np.array([0, 0, 0, shift]), p.scale, p.df)
        good = q.update(moved, [3])
        assert good == (q.error <= 1e-5)
        low, high = (shift, high) if q.error < 1.05e-5 else (low, shift)
    assert q.error == pytest.approx(1.05e-5, rel=1e-3)
    q.update(p, [3])
    # An arm that leaves at the top, or all that leave at the bottom, are noticed.
    up = Posterior(p.mean + np.array([0, 0, 0, 1e3]), p.scale, p.df)
    assert not Quadrature(p, RULES["fast"]).update(up, [3])
    down = Posterior(p.mean - 1e3, p.scale, p.df)
    assert not q.update(down, [0, 1, 2, 3])
    assert q.update(p, [0, 1, 2, 3])
