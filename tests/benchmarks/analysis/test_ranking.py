"""Average ranks, Friedman, Nemenyi: against SciPy and against Demsar's worked example."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from hpo_envs.benchmarks.analysis import ranking
from hpo_envs.benchmarks.report import plots

# Demsar (2006), table 6: AUC of C4.5 and three variants on 14 data sets.
DEMSAR = {
    "C4.5": [0.763, 0.599, 0.954, 0.628, 0.882, 0.936, 0.661, 0.583, 0.775, 1.000, 0.940, 0.619, 0.972, 0.957],
    "m": [0.768, 0.591, 0.971, 0.661, 0.888, 0.931, 0.668, 0.583, 0.838, 1.000, 0.962, 0.666, 0.981, 0.978],
    "cf": [0.771, 0.590, 0.968, 0.654, 0.886, 0.916, 0.609, 0.563, 0.866, 1.000, 0.965, 0.614, 0.9751, 0.946],
    "m+cf": [0.798, 0.569, 0.967, 0.657, 0.898, 0.931, 0.685, 0.625, 0.875, 1.000, 0.962, 0.669, 0.975, 0.970],
}


def test_demsar_example() -> None:
    r = ranking.rank(DEMSAR)
    by_name = dict(zip(r.methods, r.ranks, strict=True))
    assert by_name["C4.5"] == pytest.approx(3.143, abs=5e-4)
    assert by_name["m"] == pytest.approx(2.000, abs=5e-4)
    assert by_name["cf"] == pytest.approx(2.893, abs=5e-4)
    assert by_name["m+cf"] == pytest.approx(1.964, abs=5e-4)
    # The paper's 9.28 leaves ties uncorrected; its critical difference is 1.25 at 0.05 and 1.12 at 0.10.
    assert r.statistic == pytest.approx(stats.friedmanchisquare(*DEMSAR.values()).statistic)
    assert r.difference == pytest.approx(1.25, abs=0.005)
    # The paper uses q = 2.291 of its table 5, which gives 1.12.
    assert ranking.critical_difference(4, 14, 0.10) == pytest.approx(1.12, abs=0.005)
    assert r.cliques == (("m+cf", "m", "cf", "C4.5"),)


@given(st.integers(2, 12), st.integers(3, 6), st.randoms(use_true_random=False))
def test_ranks_and_friedman_equal_scipy(n: int, k: int, random: object) -> None:
    rng = np.random.default_rng(random.getrandbits(32))  # type: ignore[attr-defined]
    scores = rng.integers(0, 6, (n, k)).astype(float)
    assert np.array_equal(ranking.average_ranks(scores), stats.rankdata(-scores, axis=1))
    statistic, p = ranking.friedman(scores)
    if (np.ptp(scores, axis=1) == 0).all():
        assert (statistic, p) == (0.0, 1.0)
    else:
        expected = stats.friedmanchisquare(*scores.T)
        assert statistic == pytest.approx(expected.statistic, abs=1e-9)
        assert p == pytest.approx(expected.pvalue, abs=1e-9)


def test_clear_differences_are_found_and_groups_are_maximal() -> None:
    base = np.linspace(0, 1, 30)
    r = ranking.rank({"a": base + 3, "b": base + 2, "c": base + 1, "d": base})  # type: ignore[dict-item]
    assert r.methods == ("a", "b", "c", "d")
    assert r.ranks == (1, 2, 3, 4)
    assert r.p < 1e-9
    assert r.cliques == ()
    overlapping = ranking.Ranking(("a", "b"), (1.4, 1.6), 5, 0.2, 0.6, 0.9, 0.05, (("a", "b"),))
    assert overlapping.record()["not significantly different"] == [["a", "b"]]


def test_plot_writes_both_files(tmp_path: Path) -> None:
    files = plots.critical_difference(ranking.rank(DEMSAR), tmp_path / "cd", "AUC")
    assert [f.suffix for f in files] == [".png", ".svg"]
    assert all(f.stat().st_size > 1000 for f in files)


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        ({"a": [1.0, 2.0]}, "shape"),
        ({"a": [1.0], "b": [2.0]}, "shape"),
        ({"a": [1.0, 2.0], "b": [2.0, 1.0]}, "3 methods or more"),
        ({"a": [1.0, 2.0], "b": [1.0]}, "lengths"),
        ({"a": [1.0, float("nan")], "b": [1.0, 2.0]}, "finite"),
    ],
)
def test_errors(scores: dict[str, list[float]], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ranking.rank(scores)
    with pytest.raises(ValueError, match="alpha"):
        ranking.critical_difference(3, 10, 1.5)
