"""The surrogate of the curves on WikiText-2."""

from __future__ import annotations

from pathlib import Path

from hpo_envs.tables import catalogue
from hpo_envs.tables.cells.recipe import Cell
from hpo_envs.tables.cells.size import VOCABULARY, parameters
from hpo_envs.tables.datasets.nasbenchnlp import model
from hpo_envs.tables.datasets.nasbenchnlp.assemble import arrays, curves_table
from hpo_envs.tables.datasets.nasbenchnlp.features import row_features
from hpo_envs.tables.datasets.nasbenchnlp.names import LOGS, WIKITEXT2, WIKITEXT2_REPEATS
from hpo_envs.tables.files import atomic
from hpo_envs.tables.table import Table


def embedded() -> Table:
    """As many cells from the generator (RNN, LSTM and GRU first), trained by the surrogate of `model`."""
    data = atomic.read_npz(Path(__file__).parent / "data" / "cells_wikitext2.npz")
    keys, targets, probability = data["keys"].tolist(), data["targets"].astype(float), data["probability"]
    cells = [Cell.from_text(k) for k in keys]
    runs: list[list[model.Outcome]] = []
    for row, (name, p) in enumerate(zip(keys, probability.tolist(), strict=True)):
        diverged = model.uniform("diverges", name) < p
        count = 1 + sum(row >= first for first in WIKITEXT2_REPEATS)
        runs.append([model.outcome(targets[row, r], name, r, diverged, p) for r in range(count)])
    note = (
        "Cells drawn by the generator of section 3 and curves predicted by models that never saw the cell, with "
        "residual noise; held-out error in the fit's report (tables/datasets/nasbenchnlp/data/cells_report.json)."
    )
    sizes = [parameters(cell, VOCABULARY["wikitext2"]) for cell in cells]
    features = row_features(cells, [None] * len(cells))
    provenance = catalogue.provenance("nasbenchnlp", "surrogate", note, file=LOGS)
    return curves_table(WIKITEXT2, tuple(keys), features, *arrays(runs, 1 + len(WIKITEXT2_REPEATS), sizes), provenance)
