"""Rankings as text."""

from __future__ import annotations

import numpy as np

from hpo_envs.benchmarks.report import sentences, terminal
from tests.benchmarks.report.test_sentences import made, spread


def test_no_interval_is_a_point_at_zero() -> None:
    track = made({"a": np.zeros((1, 20)), "b": spread([0.2])})
    assert track["ranking"][0]["mean"] == [0.0, None, None]
    text = terminal.of_track({**track, "ranking": [{**r, "final": r["mean"], "solved": 0.0} for r in track["ranking"]]})
    assert "[0, 0]" not in text
    assert "0 in all runs (others in 16.8% at most)" in text
    few = made({"a": np.where(np.arange(8) > 5, 0.1, 0.0)[None], "b": spread([0.2], 8)})
    assert sentences.score(few["ranking"][0]).endswith("(unreliable)")
