"""Sentences of a track, and the pictures and tables next to them."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hpo_envs.benchmarks import leaderboard
from hpo_envs.benchmarks import plots as style
from hpo_envs.benchmarks.analysis import forest_importance as fi
from hpo_envs.benchmarks.analysis import significance
from hpo_envs.benchmarks.comparison import summary
from hpo_envs.benchmarks.plots.configurations import draw_importance
from hpo_envs.benchmarks.report import numbers, sentences, terminal


def made(scores: dict[str, Any], groups: Any = None) -> dict[str, Any]:
    """A track of agents whose (environments, seeds) scores are their mean plus the same small noise."""
    matrices = {a: np.asarray(v, dtype=float) for a, v in scores.items()}
    count = len(next(iter(matrices.values())))
    envs = [f"e{i}" for i in range(count)]
    judged = significance.judged(matrices, envs if groups is None else groups)
    ranking = [
        {**s, "n": [m.shape[1]] * count, "constant": bool(np.ptp(m) == 0.0), "random": 0}
        for s in judged["standings"]
        for m in (matrices[s["agent"]],)
    ]
    track = {"name": "t", "score": "anytime", "environments": envs, "ranking": ranking, **judged}
    plain: dict[str, Any] = summary.rounded(track)
    return plain


def spread(means: list[float], seeds: int = 20, seed: int = 0) -> Any:
    luck = np.random.default_rng(seed).standard_normal((len(means), seeds))
    return np.array(means)[:, None] + 0.01 * (luck - luck.mean(axis=1, keepdims=True))


def test_sentences_on_one_environment() -> None:
    said = sentences.verdict(made({"a": spread([0.1]), "b": spread([0.2], seed=1), "random": spread([0.4], seed=2)}))
    assert said[0].startswith("a is significantly better than every other agent on e0 (20 seeds; lead over b 0.1 [0.")
    assert said[2:] == ["Results on one environment do not generalise.", said[-1]]
    assert said[-1] == "Its regret is 75% lower than that of random search."
    tied = sentences.verdict(made({"a": spread([0.1]), "random": spread([0.101], seed=1), "c": spread([0.3], seed=2)}))
    assert tied[0] == "On e0, a and random are not significantly different (Holm, alpha = 0.05)."
    assert re.fullmatch(r"Mean .* \(lower is better\): 0.1 \[.*\]; random search 0.101 \[.*\]\.", tied[1])
    assert tied[-1] == "No agent is significantly better than random search."
    noisy = spread([0.13], seed=1) + np.random.default_rng(1).normal(0, 0.2, 20)
    last = sentences.verdict(made({"a": spread([0.1]), "b": spread([0.11], seed=2), "c": noisy - noisy.mean() + 0.13}))
    assert last[0] == "On e0, a and c (rank 3) are not significantly different (Holm, alpha = 0.05)."
    few = sentences.verdict(made({"a": spread([0.1], 3), "b": spread([0.2], 3)}))
    assert few[0] == "On e0, a has the lowest mean; 3 seeds are too few for a test."
    assert "[" not in " ".join(few)
    level = sentences.verdict(made({a: np.full((1, 1), 0.1) for a in ("a", "b")} | {"c": np.full((1, 1), 0.2)}))
    assert level[0] == "On e0, a and b have the lowest mean; 1 seed is too few for a test."
    assert sentences.verdict(made({"a": spread([0.1])}))[0] == "Only a ran."
    equal = sentences.verdict(made({"a": np.full((1, 20), 0.1), "b": np.full((1, 20), 0.1), "c": spread([0.5])}))
    assert equal[0] == "On e0, a and b are not significantly different (Holm, alpha = 0.05)."
    level = (
        "Mean normalised regret over the budget (lower is better): 0.1 in all runs (rule of three: others in at most"
    )
    assert equal[1] == f"{level} 16.8%)."


def test_sentences_on_few_environments_and_on_clusters() -> None:
    four = sentences.verdict(made({"a": spread([0.1] * 4), "b": spread([0.2] * 3 + [0.05], seed=1)}))
    assert four[0].startswith("a is significantly better than b on these 4 tasks (20 seeds; lead over b 0.06")
    assert four[2:] == ["4 tasks are too few to generalise."]
    six = made({"a": spread([0.1] * 6), "b": spread([0.2] * 6, seed=1)}, "aabbcd")
    assert (six["groups"], sentences.verdict(six)[2]) == (4, "4 groups of related tasks are too few to generalise.")
    assert sentences.runs(six) == "6 environments in 4 task groups, 20 seeds each"
    one = sentences.verdict(made({"a": spread([0.1] * 2), "b": spread([0.2] * 2, seed=1)}, "xx"))
    assert one[2] == "1 group of related tasks is too few to generalise."


def test_sentences_on_many_environments() -> None:
    both = sentences.verdict(made({"a": spread([0.1] * 6), "b": spread([0.2] * 6, seed=1)}))
    assert re.match(
        r"a is significantly better than b on these 6 tasks and across tasks \(lead over b 0.1[ )]", both[0]
    )
    rivals = {"a": spread([0.6] * 6), "b": spread([0.8, 0.8, 0.8, 0.8, 0.8, -0.2], seed=1)}
    said = sentences.verdict(made(rivals))
    assert said[0].startswith("a is significantly better than b on these 6 tasks (20 seeds; lead over b 0.03")
    assert said[1].startswith("Across tasks the comparison is inconclusive (lead 0.03")
    assert said[1].endswith("ahead on 5 of 6; tied for best: b).")


def test_agents_that_cannot_differ_from_random_search_are_named() -> None:
    track = made({a: spread([0.1 * i] * 3, seed=i) for i, a in enumerate(("a", "random", "b", "c"), 1)})
    assert "random search" not in sentences.verdict(track)[-1].replace("that of random search", "")
    for r in track["ranking"]:
        r["random"] = {"random": 3, "b": 3, "c": 2}.get(r["agent"], 0)
    both, some = sentences.verdict(track)[-2:]
    assert both.startswith("Within this budget b is random search: all evaluations are of the random")
    assert some.startswith("Within this budget c is random search on 2 of 3 tasks: ")


def test_track_with_sources_is_reported() -> None:
    track = {
        **made({a: spread([0.1 * i] * 3, seed=i) for i, a in enumerate("ab", 1)}),
        "environments": ["A (transfer=B)"],
    }
    sources = "Source tasks of all agents: B tables of other languages, listed in the headers."
    assert sentences.verdict(track)[-1] == sources


def test_agents_that_have_seen_languages_are_named() -> None:
    track = made({a: spread([0.1 * i] * 3, seed=i) for i, a in enumerate(("a (seen)", "b"), 1)})
    assert sentences.verdict(track)[-1] == "Train/test overlap: a (seen) was trained on these languages."
    track = made({a: spread([0.1 * i] * 3, seed=i) for i, a in enumerate(("a", "b"), 1)})
    assert not any("overlap" in s for s in sentences.verdict(track))


def test_agents_whose_means_are_rounded_alike_are_not_equal() -> None:
    track = made({"a": spread([0.123456]), "b": spread([0.123458], seed=1), "c": spread([0.1235], seed=2)})
    assert track["ranking"][0]["mean"][0] == track["ranking"][1]["mean"][0]
    assert sentences.verdict(track)[0] == "On e0, a, b and c are not significantly different (Holm, alpha = 0.05)."


def test_agent_may_beat_random_search_though_leader_is_not_shown_to() -> None:
    wild = 0.2 + 3.0 * (spread([0.1]) - 0.1) / 0.01 * 0.2
    track = made({"wild": wild, "sure": spread([0.25], seed=1), "random": spread([0.3], seed=2)})
    assert [r["agent"] for r in track["ranking"]] == ["wild", "sure", "random"]
    assert {r["here"] for r in track["ranking"]} == {"tied for best"}
    assert "No agent is significantly better than random search." not in sentences.verdict(track)
    track = made({"wild": wild, "random": spread([0.3], seed=2)})
    assert sentences.verdict(track)[-1] == "No agent is significantly better than random search."


def test_one_run_environment_names_no_one_here() -> None:
    track = made({"a": [[0.1]] * 7, "b": [[0.2]] * 7})
    said = "On these 7 tasks, a and b are not significantly different (Holm, alpha = 0.05)."
    assert sentences.verdict(track)[0] == said
    assert "[" not in " ".join(sentences.verdict(track))
    assert track["best"] == {"here": None, "there": None}


def test_nothing_is_said_of_others_where_leader_is_not_best_here() -> None:
    track = made({"a": spread([0.1] * 6), "b": spread([0.1005] * 6, seed=1)})
    said = " ".join(sentences.verdict(track))
    assert said.startswith("On these 6 tasks, a and b are not significantly different (Holm, alpha = 0.05).")
    assert "across tasks" not in said


def test_pairs_can_be_read_either_way() -> None:
    track = made({"a": spread([0.1] * 6), "b": spread([0.2] * 6, seed=1)})
    one, turned = sentences.against(track, "a", "b"), sentences.against(track, "b", "a")
    assert one is not None
    assert turned is not None
    assert (one["here"]["verdict"], turned["here"]["verdict"]) == ("better", "worse")
    low, high = one["here"]["difference"][1:]
    assert (turned["here"]["difference"][1:], one["ahead"], turned["ahead"]) == ([-high, -low], 6, 0)
    assert sentences.against(track, "a", "a") is None
    assert [numbers.number(v) for v in (None, -0.0, 0.12345)] == ["never", "0", "0.123"]
    assert sentences.listed(list("abcdefghij"), 4) == "a, b and 8 more"
    assert sentences.listed([]) == ""


def test_regret_has_logarithmic_axis_where_curves_crowd() -> None:
    crowded = {"a": [[1.0, 0.01]], "b": [[1.0, 0.02]], "c": [[1.0, 0.5]]}
    assert style.crowded(crowded)
    assert not style.crowded({"a": [[1.0, 0.3]], "b": [[1.0, 0.02]], "c": [[1.0, 0.5]]})
    assert not style.crowded({name: [[1.0, 0.0]] for name in "ab"})
    assert style.most(["a", "b", "c", "d", "e", "f", "random"]) == ["a", "b", "c", "d", "e", "random"]


def test_picture_of_ranges_choices_and_logarithms(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    choice, log = fi.Dimension("a", (0.0, 1.0), labels=("no", "yes")), fi.Dimension("b", (), -7.0, 0.0, log=True)
    axes = (choice, log, fi.Dimension("c"))
    x = np.column_stack([rng.integers(2, size=50), rng.uniform(-7, 0, 50), rng.uniform(size=50)])
    found = fi.importance(x, x[:, 0] - x[:, 1], axes, trees=3)
    files = draw_importance(found, "loss", axes, -1.0, tmp_path / "i")
    assert [f.name for f in files] == ["i.png", "i.svg"]
    text = (tmp_path / "i.svg").read_text()
    assert all(f"<!-- {word} -->" in text for word in ("main effects", "interactions", "yes", "mean loss"))


def test_rows_by_agent_and_budget() -> None:
    def record(agent: str, budget: float, wrong: list[float], sure: float, evaluations: float) -> dict[str, object]:
        values = {"wrong": wrong, "sure": sure, "evaluations": evaluations, "n": 20}
        return {"agent": agent, "budget": budget, **values}

    records = [record("slow", 204.0, [0.05, 0.001, 0.25], 0.0, 204)]
    records += [record("quick", 204.0, [0.05, 0.001, 0.25], 0.85, 120.4)]
    records += [record("quick", 102.0, [0.5, 0.27, 0.73], 0.1, 99)]
    assert terminal.of_selections(records) == [
        ["agent", "wrong with 102", "wrong with 204", "until sure"],
        ["quick", "50 % [27, 73]", "5 % [0.1, 25]", "120 (85%)"],
        ["slow", "-", "5 % [0.1, 25]", "-"],
    ]


def test_adaptation_gains_are_over_the_best_fixed_order_of_the_same_runs() -> None:
    (t,) = (t for t in summary.read(leaderboard.SUMMARY)["tracks"] if t["name"] == "NMTHPO, with tables of NMTHPO")
    mean = {r["agent"]: r["mean"][0] for r in t["ranking"]}
    fixed = min((name for name in sentences.FIXED_ORDERS if name in mean), key=lambda name: mean[name])
    assert sentences.fixed_order(t) == fixed
    for agent, regret in mean.items():
        gain = sentences.gain(t, agent)
        assert (gain is None) == (agent in sentences.FIXED_ORDERS)
        if gain:
            assert gain[0] == pytest.approx(mean[fixed] - regret, abs=1e-3)
            assert gain[1] < gain[0] < gain[2]
