"""Every printed number has an entry, and a verdict that can go either way."""

from __future__ import annotations

import numpy as np
import pytest

from hpo_envs.benchmarks.papers import common
from hpo_envs.benchmarks.papers.nasbenchnlp import numbers
from hpo_envs.tables import store


def test_a_number_without_ours_says_what_it_needs() -> None:
    printed = common.expected("nasbenchnlp")
    assert len(printed) == 134
    ours = numbers.of_tables(store.load(numbers.FINAL), store.load(numbers.WIKITEXT2))
    checks = {("section 4", name) for name in ("auc_diverged", "r2_loss", "r2_loss<=6")}
    assert set(ours) <= set(printed)
    for key, p in printed.items():
        flawed = key[1] == "share of flawed architectures"
        assert (key in ours or key in checks) == (p.details["needs"] == "") or flawed, key


def test_verdicts_follow_the_printed_digits() -> None:
    p = common.Published("9.2M", {"needs": ""})
    assert numbers.entry(("", ""), p, 9.17e6)["verdict"] == "agrees"
    assert numbers.entry(("", ""), p, 9.26e6)["verdict"] == "differs"
    share = common.Published("0.24", {"needs": ""})
    assert numbers.entry(("", ""), share, (0.22, 0.17, 0.26))["verdict"] == "agrees"
    assert numbers.entry(("", ""), share, (0.1, 0.07, 0.13))["verdict"] == "differs"
    missing = numbers.entry(("", ""), common.Published("4.36", {"needs": "the PTB logs"}), None)
    assert (missing["verdict"], missing["needs"]) == ("reported", "the PTB logs")


def test_logs_give_the_lowest_loss() -> None:
    """Of curves of the same form: those on WikiText-2, since the logs of PTB have to be fetched."""
    ours = numbers.of_logs(store.load(numbers.WIKITEXT2))
    assert ours["section 3", "architectures on PTB"] == 291
    assert ours["section 5", "lowest test log perplexity"] == pytest.approx(4.516, abs=2e-3)
    assert ours["Table 2", "LSTM perplexity"] == pytest.approx(np.exp(4.516), rel=2e-3)


def test_what_the_released_tables_give() -> None:
    ours = numbers.of_tables(store.load(numbers.FINAL), store.load(numbers.WIKITEXT2))
    printed = common.expected("nasbenchnlp")
    found = {key: numbers.entry(key, printed[key], value)["verdict"] for key, value in ours.items()}
    assert sorted(k[1] for k, v in found.items() if v == "differs") == [
        "Top-2 perplexity",
        "Top-4 perplexity",
        "architectures on WikiText-2",
        "share of flawed architectures",
    ]
