"""Pure functions of the reproduction of Moss et al. 2019."""

from __future__ import annotations

import numpy as np
import pytest

from hpo_envs.benchmarks.papers.fiesta import analysis


@pytest.mark.parametrize(("wrong", "verdict"), [(20, "holds"), (50, "open"), (80, "fails")])
def test_promise(wrong: int, verdict: str) -> None:
    assert analysis.promise(wrong, 1000, 0.05) == verdict


def test_complexity_is_the_sum_of_appendix_a() -> None:
    # Section 4.2's arms: gaps .06, .02, .02, .01.
    wanted = 1 / 0.06**2 + 2 / 0.02**2 + 1 / 0.01**2
    assert analysis.complexity([0.65, 0.69, 0.69, 0.70, 0.71]) == pytest.approx(wanted)
    assert analysis.complexity([0.5, 0.5]) == np.inf
    with pytest.raises(ValueError, match="at least two finite numbers"):
        analysis.complexity([0.5])


def test_verdicts() -> None:
    assert analysis.verdict("mean", 150.0, 3.0, 130.0, 500, 500) == "differs"
    assert analysis.verdict("mean", 135.0, 3.0, 130.0, 500, 500) == "agrees"
    assert analysis.verdict("correct", 97.0, 0.17, 99.0, 10_000, 10_000) == "differs"
    assert analysis.verdict("correct", 100.0, 0.0, 99.0, 500, 500) == "agrees"
    assert analysis.verdict("max", 1.0, np.nan, 1000.0, 500, 500) == "reported"
