"""Klyuchnikov et al. 2020 on WikiText-2: 345 trainings of 291 cells.

One row per distinct recipe (291, where the paper says 289), runs of the same recipe as repeats in the order of recipe
id, start and experiment id, 50 epochs. Keys are canonical keys of `hpo_envs.tables.cells.canonical`: the 291 recipes
are 265 computations, and the second, third, ... recipe of one computation has `#2`, `#3`, ... after its key. Four runs
stopped because the loss became NaN: their last epoch costs its seconds and has no losses.

Quirks of the files: recipe id 1002429 was run twice; the recipe is a JSON string inside the JSON log; losses may be
NaN. Those of the features are in `features`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from hpo_envs.tables import catalogue
from hpo_envs.tables.cells.canonical import key
from hpo_envs.tables.cells.recipe import Cell
from hpo_envs.tables.cells.size import VOCABULARY, parameters
from hpo_envs.tables.datasets.nasbenchnlp import model
from hpo_envs.tables.datasets.nasbenchnlp.assemble import arrays, curves_table
from hpo_envs.tables.datasets.nasbenchnlp.features import group, read_released, row_features
from hpo_envs.tables.datasets.nasbenchnlp.logs import Log, read_archive
from hpo_envs.tables.datasets.nasbenchnlp.names import LOGS, RELEASED_FEATURES, WIKITEXT2, WIKITEXT2_REPEATS
from hpo_envs.tables.files import atomic
from hpo_envs.tables.table import Table

FILES = (LOGS, RELEASED_FEATURES)


def build(read: Callable[[str], bytes]) -> Table:
    """Builds the measured table; see `nasbenchnlp.build`."""
    by_recipe: dict[str, list[Log]] = {}
    for log in read_archive(read(LOGS), LOGS):
        by_recipe.setdefault(log.recipe, []).append(log)
    runs = list(by_recipe.values())
    released = read_released(read(RELEASED_FEATURES), RELEASED_FEATURES)
    cells = [r[0].cell for r in runs]
    known = [next((released[g] for log in r if (g := group(log.architecture)) in released), None) for r in runs]
    note = (
        f"{len(runs)} recipes, {len({key(c) for c in cells})} computations, {sum(map(len, runs))} runs; released "
        f"features for {sum(k is not None for k in known)} recipes."
    )
    provenance = catalogue.provenance("nasbenchnlp", "measured", note, file=LOGS)
    repeats = max(map(len, runs))
    return curves_table(WIKITEXT2, unique_keys(cells), row_features(cells, known), *arrays(runs, repeats), provenance)


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


def unique_keys(cells: Sequence[Cell]) -> tuple[str, ...]:
    """Canonical keys; the second cell of one computation gets `#2`, the third `#3`, ..."""
    seen: dict[str, int] = {}
    keys = []
    for cell in cells:
        k = key(cell)
        seen[k] = seen.get(k, 0) + 1
        keys.append(k if seen[k] == 1 else f"{k}#{seen[k]}")
    return tuple(keys)
