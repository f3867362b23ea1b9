"""The study of the learned agent, on few tables."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hpo_envs.benchmarks.learned import reproduce
from hpo_envs.benchmarks.papers.common import Reproduction


@pytest.mark.parametrize("part", ["training", "agents"])
def test_study_runs(
    part: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reproduce, "every_id", lambda: ["NMTHPO-zhen-v0", "NMTHPO-ruen-v0"])
    monkeypatch.setattr(reproduce, "METHODS", {m: reproduce.METHODS[m] for m in ("zero-shot", "untrained", "learned")})
    r = Reproduction(tmp_path, trials=2)
    reproduce.training(r) if part == "training" else reproduce.agents(r, [*reproduce.METHODS])
    models = 4 if part == "training" else 3
    assert (tmp_path / f"{part}.csv").read_text().count("\n") == 1 + 2 * models
    pair = "seed 2,untrained" if part == "training" else "learned,zero-shot"
    assert (tmp_path / f"{part}_differences.csv").read_text().count(pair) == 4  # two scores; both groups
    assert "2 replicates, 20 evaluations" in capsys.readouterr().out


def test_differences_are_over_tables_and_over_clusters_of_them() -> None:
    japanese, others = ["NMTHPO-jaen-v0", "NMTHPO-enja-v0"], ["NMTHPO-zhen-v0", "NMTHPO-ruen-v0"]
    rng = np.random.default_rng(0)
    found = {}
    for i in (*japanese, *others):
        found[i, "untrained"] = np.full((2, 6), 0.5) + 0.01 * rng.normal(size=(2, 6))
        found[i, "learned"] = found[i, "untrained"] + (0.3 if i in japanese else -0.1)
    records = reproduce.overall(found)
    assert {r["tables"] for r in records} == {"all", "NMTHPO"}
    first = records[0]
    assert (first["method"], first["minus"], first["better on"]) == ("learned", "untrained", "2/4")
    assert float(first["difference"]) == pytest.approx(0.1)
    assert float(first["over clusters"]) == pytest.approx(0.1 / 3, abs=1e-3)
