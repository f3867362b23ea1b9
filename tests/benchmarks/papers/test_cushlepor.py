"""Files written by the reproduction of cushLEPOR."""

from pathlib import Path

import numpy as np
import pytest

from hpo_envs.benchmarks.papers import common
from hpo_envs.benchmarks.papers.cushlepor import reproduce
from hpo_envs.tables import hlepor, store
from hpo_envs.tables.datasets.cushlepor import build


def test_published_numbers_are_those_that_are_committed(tmp_path, capsys):
    assert common.reproduce("cushlepor", reproduce.PARTS, tmp_path, only="published") == 0
    assert "of 11 published numbers 3 agrees, 1 differs, 6 not at hand, 1 never published" in capsys.readouterr().out
    if store.missing(reproduce.PSQM):
        committed = Path(reproduce.__file__).parent / "results" / "compared.csv"
        assert (tmp_path / "compared.csv").read_text() == committed.read_text()


def test_rmses_to_psqm_need_labels_alone() -> None:
    table = store.load(reproduce.TABLE)
    known = {k for (k,) in common.expected("cushlepor")}
    for target in reproduce.SETTINGS:
        found = reproduce.rmses(table, target)
        assert set(found) < known
    suggested = hlepor.Basis(build.statistics(table)).scores(np.array([9.0, 1, 2, 3, 7, 1]))
    human = table.values[:, 0, 0, 0]
    assert found["RMSE to LaBSE of hLEPOR"] == pytest.approx(np.sqrt(np.mean((suggested - human) ** 2)))
    if store.missing(reproduce.PSQM):
        assert reproduce.to_psqm() == {}


def test_systems_are_compared_where_news_is_at_hand(monkeypatch) -> None:
    """On talks in place of news: the correlation of all systems' means, held-out documents included."""
    monkeypatch.setattr(reproduce, "NEWS", reproduce.TABLE)
    table = store.load(reproduce.TABLE)
    ours = reproduce.scores(table, {"x": "cushlepor-lm-en-de"})["x"]
    system = table.configs[:, 0]
    means = [[x[system == s].mean() for s in np.unique(system)] for x in (ours, table.values[:, 0, 0, 0])]
    assert [*reproduce.of_systems().values()] == pytest.approx([np.corrcoef(*means)[0, 1]])
