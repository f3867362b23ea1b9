"""What the report says in words."""

from __future__ import annotations

from typing import Any

from hpo_envs.benchmarks.report import sentences


def made(verdicts: dict[str, str], means: list[float]) -> dict[str, Any]:
    names = ["a", *verdicts]
    ranking = [
        {"agent": n, "mean": [m, m - 0.01, m + 0.01], "n": [20], "constant": False}
        for n, m in zip(names, means, strict=True)
    ]
    pairs = [
        {"a": "a", "b": n, "difference": means[0] - m, "low": means[0] - m - 0.01, "high": means[0] - m + 0.01,
         "p_holm": 0.0001, "improvement": 0.9, "verdict": v}
        for (n, v), m in zip(verdicts.items(), means[1:], strict=True)
    ]  # fmt: skip
    return {"name": "t", "score": "anytime", "environments": ["e"], "ranking": ranking, "pairs": pairs}


def test_sentences_say_who_won_by_how_much_and_how_sure() -> None:
    clear = made({"b": "better", "random": "better"}, [0.1, 0.2, 0.4])
    assert sentences.verdict(clear) == [
        "a wins.",
        "Regret averaged over the budget: 0.1 [0.09, 0.11], the lowest.",
        "It is better than all others, than b by 0.1 [0.09, 0.11], p < 0.001.",
        "Its regret is 75% below that of random search.",
    ]
    tied = made({"random": "tie", "c": "better"}, [0.1, 0.12, 0.3])
    assert sentences.verdict(tied)[0] == "No single winner, a leads."
    assert "These runs do not tell it apart from random." in sentences.verdict(tied)
    assert sentences.verdict(tied)[-1] == "No agent here is shown to beat random search."
    equal = made({"b": "tie", "c": "better"}, [0.1, 0.1, 0.3])
    assert sentences.verdict(equal)[0] == "No single winner, a and b share the lead."
    assert not any("apart" in s for s in sentences.verdict(equal))
    assert sentences.verdict(made({}, [0.1]))[0] == "Only a ran."
    clear["ranking"][0]["constant"] = True
    assert any("scores the same on every seed" in s for s in sentences.verdict(clear))
    turned = sentences.against(clear, "b", "a")
    assert turned is not None
    assert (turned["verdict"], round(turned["difference"], 3), round(turned["low"], 3)) == ("worse", 0.1, 0.09)
    assert sentences.against(clear, "a", "a") is None
    assert [sentences.number(v) for v in (None, -0.0, 0.12345)] == ["never", "0", "0.123"]
