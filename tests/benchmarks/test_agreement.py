"""Rankings on embedded tables beside those on measured ones."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hpo_envs.benchmarks import agreement
from hpo_envs.benchmarks.comparison import scored
from hpo_envs.tables.catalogue import agreement as committed


def test_rankings_of_halves() -> None:
    rng = np.random.default_rng(1)
    clear = [rng.normal(i, 0.01, 20) for i in range(5)]
    assert agreement.halves(clear, clear) == pytest.approx((1.0, 1.0))
    assert agreement.halves(clear, clear[::-1]) == pytest.approx((-1.0, 1.0))
    level = [rng.normal(size=20) for _ in range(5)]
    across, ceiling = agreement.halves(clear, level)
    assert abs(across) < 0.7
    assert ceiling == pytest.approx(1.0)
    # Halves of the same noise are each other's complement: what one has more, the other has less.
    assert agreement.halves(level, clear)[1] < 0.1
    assert agreement.halves([np.ones(4)] * 3, clear[:3]) == (0.0, 0.0)


@pytest.mark.measured
def test_an_id_is_compared_on_both_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(agreement, "CHEAP", ("random", "sh", "sr"))
    monkeypatch.setattr(agreement, "SEEDS", 4)
    before = committed.DATA.read_bytes()
    assert agreement.main(["--runs", str(tmp_path), "--only", "FIESTA-ner", "NMTHPO-zhen-v0"]) == 0
    assert committed.DATA.read_bytes() == before
    printed = capsys.readouterr().out
    assert "FIESTA-ner-v0  fiesta/ner  3  " in printed
    assert "NMTHPO-zhen" not in printed, "one agent is no ranking"
    assert "Rankings of agents on embedded and measured tables of FIESTA-ner-v0 agree" in printed
    runs = {kind: agreement.store.read(tmp_path / kind) for kind in ("measured", "surrogate")}
    assert {r.header["kind"] for r in runs["surrogate"]} == {"surrogate"}
    (record,) = agreement.compare({kind: scored.score(found) for kind, found in runs.items()})
    assert record["agents"] == 3
    assert -1 <= float(record["tau"]) <= 1
