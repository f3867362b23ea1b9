"""Model selection by a user's scores, and errors for invalid ones."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hpo_envs.agents.bandits.base import logit
from hpo_envs.agents.bandits.best_arm import best_probability, posterior
from hpo_envs.agents.bandits.select import advise, main, read_scores
from tests.agents.bandits.helpers import moments
from tests.helpers import rejects

WIDE = "bert,lstm,svm\n.812,.790,.744\n.805,.797,.751\n.809,.801,\n,.795,.748\n"
SCORES = {"bert": [0.812, 0.805, 0.809], "lstm": [0.790, 0.797, 0.801, 0.795], "svm": [0.744, 0.751, 0.748]}
LONG = "run,Model,score\n" + "".join(f"1,{name},{s}\n" for name, values in SCORES.items() for s in values)


@pytest.mark.parametrize("text", [WIDE, LONG, "\ufeff" + WIDE, WIDE.replace("\n", "\r\n") + "\n\n"])
def test_both_layouts_of_score_files_are_read(tmp_path: Path, text: str) -> None:
    path = tmp_path / "scores.csv"
    path.write_text(text, encoding="utf-8")
    assert read_scores(path) == SCORES


def test_advice_is_the_belief_about_the_arms(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "scores.csv"
    path.write_text(WIDE)
    main([str(path), "--confidence", "0.9", "--json"])
    result = json.loads(capsys.readouterr().out)
    pi = best_probability(posterior(*moments(list(SCORES.values()))))
    assert [m["probability"] for m in result["models"].values()] == pytest.approx(pi, abs=1e-9)
    assert result["best"] == "bert"
    assert result["decided"] is bool(pi.max() > 0.9)
    assert result["models"]["lstm"]["deviation"] == pytest.approx(np.std(SCORES["lstm"], ddof=1))


def test_undecided_advice_proposes_models_to_evaluate(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "scores.csv"
    path.write_text("a,b,c\n.5,.5,.1\n.6,.62,.11\n.55,.54,.12\n")
    main([str(path), "--batch", "5"])
    text = capsys.readouterr().out
    assert "undecided: b leads with confidence 0." in text
    proposed = text.rpartition("evaluate next: ")[2].strip().split(", ")
    assert len(proposed) == 5
    assert set(proposed) <= {"a", "b", "c"}
    main([str(path), "--batch", "5"])
    assert capsys.readouterr().out == text


def test_decided_advice_proposes_nothing() -> None:
    result = advise({"a": [0.5, 0.51, 0.49, 0.5], "b": [0.8, 0.81, 0.8, 0.79]}, confidence=0.9)
    assert (result["best"], result["decided"], result["next"]) == ("b", True, [])


def test_advice_takes_log_odds_of_bounded_scores() -> None:
    assert (logit(0.8, 0, 1), logit(12.0, 10, 20)) == (pytest.approx(np.log(4.0)), pytest.approx(np.log(2 / 8)))
    for score in (10.0, 20.0, 25, float("nan")):
        rejects(f"between the metric's bounds 10 and 20 for the logit transform, got {score!r}", logit, score, 10, 20)


def test_lower_is_better_works_with_log_odds() -> None:
    up = {"a": [0.70, 0.72, 0.74], "b": [0.71, 0.75, 0.73]}
    down = {name: [1.0 - s for s in values] for name, values in up.items()}
    first, mirrored = advise(up), advise(down, lower_is_better=True)
    assert first["best"] == mirrored["best"] == "b"
    assert first["confidence"] == pytest.approx(mirrored["confidence"], abs=1e-9)
    logit = advise(up, transform="logit")
    percent = advise({k: [100 * s for s in v] for k, v in up.items()}, transform="logit", bounds=(0, 100))
    losses = advise(down, transform="logit", lower_is_better=True)
    assert logit["confidence"] == pytest.approx(percent["confidence"], abs=1e-9)
    assert logit["confidence"] == pytest.approx(losses["confidence"], abs=1e-9)
    assert logit["confidence"] != pytest.approx(first["confidence"], abs=1e-6)


def test_ties_are_reported() -> None:
    result = advise({"a": [0.5, 0.6, 0.55], "b": [0.6, 0.5, 0.55], "c": [0.1, 0.1, 0.1]})
    assert {result["best"], *result["tied"]} == {"a", "b"}  # rounding decides which is which
    assert result["confidence"] == pytest.approx(0.5, abs=1e-3)
    same = advise({"a": [0.5] * 3, "b": [0.5] * 3})
    assert (same["confidence"], same["tied"]) == (pytest.approx(0.5), ["b"])


@pytest.mark.parametrize(
    ("text", "arguments", "message"),
    [
        ("a,b\n.1,.2\n.1,.2\n", [], "at least 3 evaluations, got too few: a has 2, b has 2"),
        ("a\n.1\n.2\n.3\n", [], "at least two models, got 1"),
        ("a,b\n.1,inf\n.2,.3\n.3,.4\n", [], "score must be in [-1e150, 1e150], got inf"),
        ("a,b\n.1,x\n", [], "scores of b in "),
        ("a,b\n.1,.2\nnan,.3\n.3,.4\n", [], "score must be in [-1e150, 1e150], got nan"),
        ("a,b\n.1,NA\n", [], "scores of b in "),
        ("a,b\n.1,.2,9\n", [], "Expected 2 fields in line 2, saw 3"),
        ("a,a\n.1,.2\n", [], "must have different names, got a, a"),
        ("split,a,b\n0,1,2\n1,2,3\n2,1.5,2.5\n", [], "must be scores of models, got split, which numbers lines"),
        ("", [], "No columns to parse"),
        (WIDE, ["--confidence", "1"], "confidence must be None or lie strictly between 0 and 1"),
        (WIDE, ["--batch", "0"], "batch must be an int >= 1, got 0"),
        (WIDE, ["--transform", "log"], "transform must be one of none, logit"),
        (WIDE, ["--transform", "logit", "--bounds", "0", ".8"], "score must lie strictly between the metric's bounds"),
        (WIDE, ["--transform", "logit", "--bounds", "1", "0"], "bounds must be two finite numbers"),
        (None, [], "scores.csv"),
    ],
)
def test_bad_input_is_named(tmp_path: Path, capsys: Any, text: str | None, arguments: list[str], message: str) -> None:
    path = tmp_path / "scores.csv"
    if text is not None:
        path.write_text(text)
    rejects("2", main, [str(path), *arguments], error=SystemExit)
    assert message in capsys.readouterr().err
