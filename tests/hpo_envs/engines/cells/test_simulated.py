"""Cells of NAS-Bench-NLP: looked up where they are known, else simulated."""

from __future__ import annotations

import numpy as np

from hpo_envs.engines.cells.simulated import Simulated
from hpo_envs.tables import cells, store
from hpo_envs.tables.datasets.nasbenchnlp import model


def test_a_known_cell_is_looked_up_and_another_simulated() -> None:
    table = store.load("nasbenchnlp/wikitext2")
    scorer = Simulated(table)
    name = next(iter(scorer.runs))
    row, repeat = scorer.runs[name][0]
    known = scorer.score(cells.Cell.from_text(name), name, 0)
    assert known.metrics["seconds"] == np.nanmax(table.cost[row, repeat])
    cell = cells.EXAMPLES["LSTM"]
    scorer.runs.pop(cells.key(cell), None)
    bits = [(s << 61) + 1 for s in range(8)]
    scores = [scorer.score(cell, cells.key(cell), b) for b in bits]
    assert {s.source for s in scores} == {"surrogate"}
    assert len({s.metrics["validation_loss"] for s in scores}) == model.SEEDS
    assert scorer.score(cell, cells.key(cell), bits[3]).metrics == scores[3].metrics
    assert set(known.metrics) == {m.name for m in scorer.metrics} | {"seconds"}
