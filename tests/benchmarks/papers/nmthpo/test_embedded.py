"""Orders of methods and paired tests, from made-up scores and a few runs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hpo_envs.benchmarks.papers.common import Reproduction
from hpo_envs.benchmarks.papers.nmthpo import embedded, settings
from hpo_envs.tables.datasets.nmthpo.names import PAIRS

METHODS = list(settings.SINGLE)


def scores(turned: bool = False) -> dict[tuple[int, str, str, str], list[float]]:
    """Method k scores k more than the first, or k less."""
    sign = -1 if turned else 1
    base = np.random.default_rng(0).random(20)
    return {
        (3, pair, method, score): (base + sign * k).tolist()
        for pair in PAIRS
        for k, method in enumerate(METHODS)
        for score in ("ftb", "ftc", "fb")
    }


def test_orders_are_compared_by_kendalls_tau() -> None:
    assert {r["tau"] for r in embedded._orders(scores(), scores())} == {"1.00"}
    (turned, *_), worse = embedded._orders(scores(), scores(True)), METHODS
    assert turned["tau"] == "-1.00"
    assert turned["measured"] == " < ".join(worse)
    assert turned["embedded"] == " < ".join(reversed(worse))


def test_the_part_writes_its_tests(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(settings, "scores", lambda *given: scores(True))
    monkeypatch.setattr(settings, "BUDGET", 4)
    monkeypatch.setattr(embedded, "OWN", ("bo",))
    embedded.run(Reproduction(tmp_path, trials=2), "surrogate")
    rows = (tmp_path / "wilcoxon.csv").read_text().splitlines()
    assert len(rows) == 1 + len(PAIRS) * (len(METHODS) - 1 + 1)
    assert "surrogate: " in capsys.readouterr().out
    assert not (tmp_path / "embedded.csv").exists()
