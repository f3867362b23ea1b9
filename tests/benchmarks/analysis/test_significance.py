"""Verdicts: best, tied, worse, on these tasks and across tasks."""

import numpy as np
import pytest

from hpo_envs.benchmarks.analysis import intervals, significance
from tests.helpers import raises

NAN = float("nan")


def test_numbers_of_a_track_equal_those_of_inference() -> None:
    rng = np.random.default_rng(0)
    scores = {name: 0.3 + 0.05 * i + 0.1 * rng.random((6, 10)) for i, name in enumerate("abc")}
    found = significance.judged(scores, "uvwxyz")
    assert [s["agent"] for s in found["standings"]] == ["a", "b", "c"]
    here, there = intervals.fixed_tasks(scores["a"]), intervals.across_tasks(scores["a"])
    assert found["standings"][0]["mean"] == pytest.approx([float(x) for x in (here.mean, here.low, here.high)])
    assert found["standings"][0]["elsewhere"][2] == pytest.approx(float(there.high))
    apart = np.stack([scores[a] - scores[b] for a, b in ("ab", "ac", "bc")])
    p = significance.holm(intervals.fixed_tasks(apart).p)
    assert [q["here"]["p_holm"] for q in found["pairs"]] == pytest.approx(p.tolist())
    p = significance.holm(intervals.across_tasks(apart).p)
    assert [q["there"]["p_holm"] for q in found["pairs"]] == pytest.approx(p.tolist())
    assert [q["there"]["p"] for q in found["pairs"]] == pytest.approx(intervals.across_tasks(apart).p.tolist())
    assert found["best"] == {"here": "a", "there": "a"}


def test_fewer_than_six_clusters_do_not_generalise() -> None:
    rng = np.random.default_rng(1)
    scores = {"a": 0.1 + 0.01 * rng.random((6, 10)), "b": 0.5 + 0.01 * rng.random((6, 10))}
    for groups, winner in (("uvwxyz", "a"), ("uuwxyz", None)):
        found = significance.judged(scores, groups)
        assert (found["best"], found["groups"]) == ({"here": "a", "there": winner}, len(set(groups)))
    assert {s["there"] for s in found["standings"]} == {"inconclusive"}
    assert found["pairs"][0]["there"]["verdict"] == "inconclusive"


def test_three_seeds_on_one_environment_give_no_verdict() -> None:
    found = significance.judged({"a": np.array([[0.1, 0.2, 0.15]]), "b": np.array([[0.8, 0.9, 0.91]])}, "u")
    assert {s["here"] for s in found["standings"]} == {"inconclusive"}
    assert np.isnan(found["standings"][0]["mean"][1])
    assert np.isnan(found["pairs"][0]["here"]["p"])


def test_pairs_are_tested_on_enough_shared_seeds() -> None:
    rng = np.random.default_rng(0)
    a, b, c = (rng.normal(mean, 0.01, (1, 20)) for mean in (0.2, 0.3, 0.9))
    c[:, 3:] = np.nan
    for few in (c, 1.0 - c, np.where(np.isnan(c), np.nan, 0.25)):  # the worst, the best, between
        found = significance.judged({"a": a, "b": b, "few": few}, ["g"])
        verdicts = {frozenset((p["a"], p["b"])): p["here"] for p in found["pairs"]}
        sure = verdicts.pop(frozenset("ab"))
        assert sure["verdict"] != significance.INCONCLUSIVE
        assert sure["p_holm"] == sure["p"] < 0.01
        assert [(v["verdict"], np.isnan(v["p_holm"])) for v in verdicts.values()] == [
            (significance.INCONCLUSIVE, True)
        ] * 2
        assert {s["here"] for s in found["standings"]} == {significance.INCONCLUSIVE}
    a[:, 11:], b[:, :9] = np.nan, np.nan  # 11 seeds each, 2 of them shared
    assert {s["here"] for s in significance.judged({"a": a, "b": b}, ["g"])["standings"]} == {significance.INCONCLUSIVE}


def test_agents_that_share_no_seed_are_not_compared() -> None:
    with raises("agents must share a seed on every environment, got none for 'x' and 'y'"):
        significance.judged({"x": np.array([[1.0, NAN]]), "y": np.array([[NAN, 1.0]])}, "u")


def test_scores_of_unequal_length_are_padded() -> None:
    full = intervals.padded([np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[5.0, 6.0]])])
    assert (full.shape, full[0].tolist()[0], full[1, 1, 0]) == ((2, 2, 2), [1.0, 3.0], 6.0)
    assert np.isnan(full[:, 1, 1]).all()


def test_bands_do_not_depend_on_the_number_of_points(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    rows = [rng.random((9, 13)), rng.random((6, 13))]
    whole = intervals.interval(intervals.padded(rows))
    monkeypatch.setattr(intervals, "AT_ONCE", 50)
    np.testing.assert_allclose(intervals.bands(rows), whole, rtol=1e-12)


def test_a_single_agent_has_no_rival() -> None:
    found = significance.judged({"a": np.random.default_rng(0).random((6, 10))}, "uvwxyz")
    assert (found["pairs"], found["best"]) == ([], {"here": None, "there": None})


def test_an_agent_is_best_across_tasks_only_if_it_is_best_on_these() -> None:
    # b is a little ahead on each of 24 environments, but its runs vary so much that seeds may have made its lead.
    rng = np.random.default_rng(0)
    luck = 3.0 * rng.choice([-1.0, 1.0], (24, 2)) @ np.array([[1.0, -1.0], [0.5, -0.5]])
    scores = {"b": 0.5 + luck, "a": 0.6 + 0.02 * rng.random((24, 2))}
    found = significance.judged(scores, range(24))
    pair = found["pairs"][0]
    assert pair["there"]["p"] < intervals.ALPHA < pair["here"]["p"]
    assert found["best"] == {"here": None, "there": None}
    assert [s["there"] for s in found["standings"]] == ["tied for best", "worse"]
