"""The paper's claims, answered from its sweeps."""

from __future__ import annotations

import pytest

from hpo_envs.benchmarks.papers.charhpo import claims, settings


@pytest.mark.measured
def test_the_claims_are_answered_as_in_the_paper(sweeps: tuple[settings.Sweep, ...]) -> None:
    words = [v.partition(":")[0] for v in claims.verdicts(claims.answer(sweeps, "published")).values()]
    assert words == ["holds", "holds", "fails", "fails"]


def test_a_claim_needs_a_difference() -> None:
    same = claims.compare([1.0, 2.0, 3.0], [1.0, 2.0, 3.0], 1)
    assert (same["more"], same["less"], same["p"]) == (0, 0, 1.0)
    apart = claims.compare(list(range(12)), list(range(5, 17)), -1)
    assert apart["more"] == 12
    assert apart["p"] < 0.01
