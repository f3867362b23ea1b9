"""Verdicts of the study of the learned agents."""

from __future__ import annotations

import numpy as np
import pytest

from hpo_envs.benchmarks.learned import analysis

# -- the study -----------------------------------------------------------------------------------------------------


def test_verdicts_on_invented_regrets() -> None:
    rng = np.random.default_rng(0)
    regrets = {}
    for t in ("a", "b"):
        base = rng.random((40, 4)) + 1.0
        regrets[t, "random"] = base
        regrets[t, "learned"] = base - (0.5 if t == "a" else 0.0)
        regrets[t, "bo"] = base + 0.3
    found = {(r.table, r.method): r for r in analysis.rows(regrets)}
    assert found["a", "learned"].verdict == "better"
    assert found["b", "learned"].verdict == "tie"
    assert found["a", "bo"].verdict == found["b", "bo"].verdict == "worse"
    over = {r["method"]: r for r in analysis.overall(regrets, {"a": 1.0, "b": 2.0})}
    assert float(over["bo"]["difference"]) == pytest.approx(-(0.8 + 0.3 / 2) / 2, abs=1e-3)
    assert over["bo"]["learned_is"] == "better"
    assert "better" not in over["learned"]
    text = analysis.format_rows(list(found.values()), "BLEU")
    assert text.count("*") == 1
    assert text.count(" x") == 2
