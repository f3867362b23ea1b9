"""Metrics of sensitivity compared with naive implementations of their definitions, and their errors."""

import itertools
import tracemalloc
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import rankdata, spearmanr

from hpo_envs.benchmarks.analysis import sensitivity as sens
from hpo_envs.tables import store

# Quarters collide often and subtract exactly; arbitrary floats do neither.
SCORES = st.one_of(
    st.lists(st.integers(1, 400).map(lambda i: i / 4), min_size=4, max_size=30),
    st.lists(st.floats(0.125, 100), min_size=4, max_size=30),
)
VARIANT = st.sampled_from(sens.VARIANTS)


def naive_ranks(configs: list[list[float]]) -> list[int]:
    total = [0] * len(configs)
    for j in range(len(configs[0])):
        ordered = sorted({row[j] for row in configs}, reverse=True)
        for i, row in enumerate(configs):
            total[i] += ordered.index(row[j]) + 1
    return total


def naive_along(ranks: list[Any], scores: list[float]) -> list[float]:
    return [a for _, a in sorted(zip(ranks, scores, strict=True), key=lambda p: (p[0], -p[1]))]


@given(SCORES, VARIANT, st.data())
def test_performance_metrics_equal_their_definitions(scores: list[float], variant: Any, data: st.DataObject) -> None:
    n, a = len(scores), sorted(scores, reverse=True)
    k = data.draw(st.integers(2, n - 1))
    rope = data.draw(st.sampled_from([0.0, 0.25, 1.0, 3.3]))
    paper = variant == "paper"
    rel = a[k - 1] / a[0] if paper else a[k] / a[0]
    mean = sum(a[1:k]) / ((k - 1) * a[0]) if paper else sum(a[:k]) / (k * a[0])
    near = sum(a[0] - x <= rope for x in a)
    pairs = sum(abs(x - y) <= rope for i, x in enumerate(a) for j, y in enumerate(a) if paper or i != j)
    others = n if paper else n - 1
    assert sens.relative_at(scores, k, variant) == pytest.approx(100 * rel)
    assert sens.mean_at(scores, k, variant) == pytest.approx(100 * mean)
    assert sens.best_equivalent(scores, rope, variant) == pytest.approx(100 * near / others, abs=1e-12)
    assert sens.expected_equivalent(scores, rope, variant) == pytest.approx(100 * pairs / (n * others), abs=1e-12)


@given(SCORES, VARIANT, st.data())
def test_similarity_metrics_equal_their_definitions(scores: list[float], variant: Any, data: st.DataObject) -> None:
    n = len(scores)
    row = st.tuples(st.integers(0, 3).map(float), st.floats(-1, 1), st.integers(0, 9).map(float)).map(list)
    configs = data.draw(st.lists(row, min_size=n, max_size=n))
    configs[0], configs[1] = [0.0, 0.0, 0.0], [1.0, 1.0, 1.0]
    ranks = naive_ranks(configs)
    assert sens.rank_similarity(np.array(configs)) == pytest.approx([r / 3 for r in ranks])
    a = naive_along(ranks, scores)
    assert sens.maxima(ranks, scores) == sum(x < y > z for x, y, z in zip(a, a[1:], a[2:], strict=False))
    change = sum(abs(y - x) for x, y in itertools.pairwise(a)) / (n if variant == "paper" else n - 1)
    assert sens.average_change(ranks, scores, variant) == pytest.approx(change)


@given(SCORES, VARIANT, st.data())
def test_correlation_equals_scipy(scores: list[float], variant: Any, data: st.DataObject) -> None:
    n = len(scores)
    ranks = data.draw(st.lists(st.integers(0, 12), min_size=n, max_size=n))
    best = data.draw(st.sampled_from([i for i, a in enumerate(scores) if a == max(scores)]))
    others = [i for i in range(n) if variant == "published" or i != best]
    x = [abs(ranks[i] - ranks[best]) for i in others]
    y = [scores[best] - scores[i] for i in others]
    if len(set(x)) == 1 or len(set(y)) == 1:
        with pytest.raises(ValueError, match="undefined|equally far"):
            sens.performance_correlation(ranks, scores, best, variant)
    else:
        expected = spearmanr(rankdata(x), rankdata(y))[0]
        assert sens.performance_correlation(ranks, scores, best, variant) == pytest.approx(expected, abs=1e-9)


def test_cases_of_figure_1() -> None:
    ranks = np.arange(100)
    flat, linear = np.full(100, 90.0), 50.0 + 0.4 * ranks
    assert (sens.relative_at(flat, 100), sens.expected_equivalent(flat)) == (100.0, 100.0)
    assert sens.average_change(ranks, flat) == 0.0
    assert (sens.performance_correlation(ranks, linear), sens.maxima(ranks, linear)) == (pytest.approx(1.0), 0)
    zigzag = linear + np.where(ranks % 2, 8.0, -8.0)
    assert sens.maxima(ranks, zigzag) == 49
    assert sens.average_change(ranks, zigzag) > 10 * sens.average_change(ranks, linear)


def test_many_runs_take_linear_memory() -> None:
    rng = np.random.default_rng(0)

    def peak(n: int) -> int:
        scores, configs = rng.uniform(0, 100, n), rng.integers(0, 200, (n, 3)).astype(float)
        tracemalloc.start()
        result = sens.analyse(configs, scores, rope=1.0)
        bytes_ = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert result["equivalent"] == pytest.approx(1.99, abs=0.2)
        return bytes_

    small, large = peak(10_000), peak(100_000)
    assert large < 12 * small


def test_frames_tables_and_arrays_agree() -> None:
    frame = pd.DataFrame({"lr": [0.1, 0.2, 0.3, 0.1], "kind": ["a", "c", "b", "a"], "score": [50.0, 70.0, 60.0, 80.0]})
    frame["kind"] = pd.Categorical(frame["kind"], ["a", "b", "c"], ordered=True)
    got = sens.analyse(frame, "score", ks=(2, 3))
    again = sens.analyse(np.array([[0.1, 0], [0.2, 2], [0.3, 1], [0.1, 0]]), frame["score"], ks=(2, 3))
    assert got == again
    table = store.load("charhpo/g2p-dut-transformer")
    assert sens.analyse(table) == sens.analyse(table.configs, table.final("accuracy"))
    assert set(got) == {"rel@2", "rel@3", "mean@2", "mean@3", "best", "equivalent", "rho", "maxima", "change"}


def test_undefined_metrics_are_none() -> None:
    losses = sens.analyse(np.arange(8.0)[:, None], -np.arange(1.0, 9.0), ks=(2,))
    assert losses["rel@2"] is None
    assert losses["mean@2"] is None
    assert losses["rho"] == pytest.approx(1.0)
    for k, least in ((9, 1), (1, 2)):  # checked, too
        with pytest.raises(ValueError, match=f"k must be an int from {least} to 8 for 8 runs, got {k}"):
            sens.analyse(np.arange(8.0)[:, None], -np.arange(1.0, 9.0), ks=(k,))
    assert sens.analyse(np.arange(8.0)[:, None], np.ones(8), ks=(2,))["rho"] is None


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: sens.relative_at([1.0, np.nan], 1), "scores must be finite, got 1"),
        (lambda: sens.relative_at([1.0, 2.0], 3), "k must be an int from 1 to 2 for 2 runs, got 3"),
        (lambda: sens.relative_at([1.0, 2.0], 2, "published"), "k must be an int from 1 to 1"),
        (lambda: sens.mean_at([1.0, 2.0], 1), "k must be an int from 2 to 2"),
        (lambda: sens.relative_at([0.0, -2.0], 1), "best score must be > 0"),
        (lambda: sens.relative_at([1.0], 1, "code"), "variant must be one of paper, published, got 'code'"),
        (lambda: sens.best_equivalent([1.0, 2.0], -1.0), "rope must be >= 0"),
        (lambda: sens.best_equivalent([], 1.0), "at least one run"),
        (lambda: sens.expected_equivalent([1.0], 1.0, "published"), "at least 2 runs"),
        (lambda: sens.rank_similarity(np.array([[1.0, 2.0], [1.0, 3.0]])), "one value in 0"),
        (lambda: sens.rank_similarity(np.array([[1.0], [np.nan]])), "configs must not contain NaN"),
        (lambda: sens.rank_similarity(pd.DataFrame({"a": ["x", "y"]})), "ordered categorical"),
        (lambda: sens.rank_similarity(pd.DataFrame({"a": pd.Categorical(["x", "y"])})), "ordered categorical"),
        (lambda: sens.rank_similarity(np.ones(3)), "shape"),
        (lambda: sens.maxima([1, 2], [1.0]), "same length, got 2 and 1"),
        (lambda: sens.average_change([1], [1.0]), "at least 2 runs"),
        (lambda: sens.performance_correlation([1, 2, 3], [1.0, 2.0, 3.0], best=0), "best must be the index"),
        (lambda: sens.performance_correlation([1, 1, 1], [1.0, 2.0, 3.0]), "ranks must not all be"),
    ],
)
def test_errors_name_the_broken_rule(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


def test_what_makes_no_difference_has_scale_of_scores() -> None:
    rng = np.random.default_rng(0)
    configs, scores = rng.random((40, 2)), 100.0 * rng.random(40)
    assert sens.rope_of(scores) == pytest.approx(0.1 * (scores.max() - np.median(scores)))
    for name in ("best", "equivalent"):
        many, few = (sens.analyse(configs, scores / by, ks=())[name] for by in (1.0, 100.0))
        assert many == pytest.approx(few)
