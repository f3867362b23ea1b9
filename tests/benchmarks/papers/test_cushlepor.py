"""What the reproduction of cushLEPOR writes."""

from pathlib import Path

import numpy as np
import pytest

from hpo_envs.benchmarks.papers import common
from hpo_envs.benchmarks.papers.cushlepor import reproduce
from hpo_envs.tables import store


def test_published_numbers_are_those_that_are_committed(tmp_path, capsys):
    assert reproduce.main(tmp_path, only="published") == 0
    assert "published: of 11 published numbers 3 agrees, 1 differs, 7 reported" in capsys.readouterr().out
    if store.missing(reproduce.PSQM):
        committed = Path(reproduce.__file__).parent / "results" / "compared.csv"
        assert (tmp_path / "compared.csv").read_text() == committed.read_text()


def test_rmses_to_psqm_need_labels_alone() -> None:
    table = store.load(reproduce.TABLE)
    found = reproduce.rmses(table)
    default = reproduce.scores(table, {"x": "default"})["x"]
    assert found["RMSE to pSQM of hLEPOR"] == pytest.approx(np.sqrt(np.mean((default - table.values[:, 0, 0, 0]) ** 2)))
    assert set(found) < {k for (k,) in common.expected("cushlepor")}
    if store.missing(reproduce.PSQM):
        assert reproduce.to_psqm() == {}
