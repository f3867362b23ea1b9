"""The parts of cushLEPOR's reproduction write what they say."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest

from hpo_envs.benchmarks.papers import common
from hpo_envs.benchmarks.papers.cushlepor import analysis, optimum, reproduce, settings
from hpo_envs.tables import hlepor, store
from hpo_envs.tables.datasets.cushlepor import agreement, text_metrics
from hpo_envs.tables.datasets.cushlepor.space import BOUNDS, ParameterBox

TABLE = "cushlepor/ted-ende"


def test_parts_write_what_they_say(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(settings, "PROBLEMS", settings.PROBLEMS[:1])
    monkeypatch.setattr(settings, "AGENTS", ("random",))
    monkeypatch.setattr(settings, "BOOTSTRAP", 20)
    # A rough search will do: what is tested is that parts run and say what they did.
    monkeypatch.setattr(optimum, "of_env", _rough)
    monkeypatch.setattr(agreement, "NAMES", ("pearson",))
    monkeypatch.setattr(reproduce, "BOUNDS", {"published": BOUNDS["published"]})
    for part in ("published", "validation", "agents"):
        assert reproduce.main(tmp_path, trials=2, only=part) == 0
        summary = json.loads((tmp_path / f"{part}.json").read_text(encoding="utf-8"))
        assert summary["table"]["sha256"] == store.load(TABLE).provenance.sha256
        assert summary[part]
    with open(tmp_path / "validation.csv", newline="", encoding="utf-8") as stream:
        assert {r["against"] for r in csv.DictReader(stream)} == {
            *settings.PRESETS,
            *text_metrics.NAMES,
        }
    assert "package example cities" in capsys.readouterr().out


def _rough(env_kwargs, table):
    held_out = env_kwargs.get("held_out")
    corpus = agreement.Agreement(table, held_out=held_out)
    vectors = ParameterBox("published").natural(np.random.default_rng(0).uniform(-1, 1, (30, 6)))
    rewards = corpus.evaluate(vectors)[0][env_kwargs["objective"]]
    return float(rewards.max()), vectors[int(rewards.argmax())]


def test_rmses_to_psqm_need_labels_alone() -> None:
    corpus = analysis.Corpus.of(store.load(TABLE))
    found = reproduce.rmses(corpus)
    default = corpus.basis.scores(hlepor.preset("default").vector())
    assert found["RMSE to pSQM of hLEPOR"] == pytest.approx(np.sqrt(np.mean((default - corpus.human) ** 2)))
    assert set(found) < {k for (k,) in common.expected("cushlepor")}
    if store.missing(reproduce.PSQM):
        assert reproduce.to_psqm() == {}
