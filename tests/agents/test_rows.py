"""Search over rows with checkpoints: what one evaluation trains."""

from __future__ import annotations

from tests.agents.multifidelity.helpers import make, play


def test_resource_is_the_checkpoint_of_a_full_training() -> None:
    for name in ("random", "regularized-evolution", "smac-like"):
        trail = play(name, make(), 0, 5, resource=10)[1]
        assert {level for (_, level), _, _ in trail} == {9}
