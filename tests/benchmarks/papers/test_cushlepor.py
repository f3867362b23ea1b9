"""What the reproduction of cushLEPOR writes."""

import json
from pathlib import Path

import numpy as np
import pytest

from hpo_envs.benchmarks.papers import common
from hpo_envs.benchmarks.papers.cushlepor import analysis, reproduce, settings
from hpo_envs.tables import hlepor, store

TABLE = "cushlepor/ted-ende"


def test_committed_results_are_of_this_table():
    summary = json.loads((Path(analysis.__file__).parent / "results" / "summary.json").read_text(encoding="utf-8"))
    assert summary["table"]["sha256"] == store.load(TABLE).provenance.sha256


def test_published_numbers_are_written(tmp_path, capsys):
    assert reproduce.main(tmp_path, only="published") == 0
    summary = json.loads((tmp_path / "published.json").read_text(encoding="utf-8"))
    assert summary["table"]["sha256"] == store.load(TABLE).provenance.sha256
    assert summary["published"]
    assert "package example cities" in capsys.readouterr().out


def test_rmses_to_psqm_need_labels_alone() -> None:
    corpus = analysis.Corpus.of(store.load(TABLE))
    found = reproduce.rmses(corpus)
    default = corpus.basis.scores(hlepor.preset("default").vector())
    assert found["RMSE to pSQM of hLEPOR"] == pytest.approx(np.sqrt(np.mean((default - corpus.human) ** 2)))
    assert set(found) < {k for (k,) in common.expected("cushlepor")}
    if store.missing(settings.PSQM):
        assert reproduce.to_psqm() == {}
