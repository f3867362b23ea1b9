"""The comparison that the committed results were computed by."""

from __future__ import annotations

import numpy as np

from hpo_envs.benchmarks.learned import pairs


def test_what_is_better_by_test_and_interval() -> None:
    rng = np.random.default_rng(0)
    base = rng.random((3, 20))
    final = {"random": base, "learned": base - 0.1 + 0.01 * rng.random((3, 20)), "same": base + 0.0}
    found = pairs.against(final, "learned")
    assert list(found) == ["random", "same"]
    assert found["random"].verdict == "better"
    assert found["random"].low < found["random"].mean < found["random"].high < 0
    assert pairs.against(final, "random")["same"].verdict == "tie"
    assert pairs.against(final, "random")["learned"].verdict == "worse"
