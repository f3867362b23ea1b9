"""Klyuchnikov et al. 2020: recurrent cells trained as language models.

`nasbenchnlp/wikitext2` has the 345 released trainings on WikiText-2: one row per distinct recipe (291, where the
paper says 289), runs of the same recipe as repeats in the order of recipe id, start and experiment id, 50 epochs.
Keys are canonical keys of `hpo_envs.tables.cells.canonical`: the 291 recipes are 265 computations, and the second,
third, ... recipe of one computation has `#2`, `#3`, ... after its key. Four runs stopped because the loss became NaN:
their last epoch costs its seconds and has no losses.

Features of a row: 50 of its graph (`wl_*`, see `hpo_envs.tables.cells.features`; the first 10 stand alone), the 10
released graph2vec features (`g2v_*`, scaled by the range over all 14,322 released ones) and `g2v_known`: 0 where none
was released for the architecture and a linear function of the other features stands in.

Quirks of the files: seeds of one architecture have different ids, and only one id of each group has features (see
`group`); recipe id 1002429 was run twice; the recipe is a JSON string inside the JSON log; losses may be NaN.
"""

from __future__ import annotations

import csv
import functools
import io
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from hpo_envs.tables import catalogue
from hpo_envs.tables.cells import features as graph
from hpo_envs.tables.cells.canonical import key
from hpo_envs.tables.cells.recipe import Cell
from hpo_envs.tables.cells.size import VOCABULARY, parameters
from hpo_envs.tables.datasets.nasbenchnlp import model
from hpo_envs.tables.datasets.nasbenchnlp.logs import Log, read_archive
from hpo_envs.tables.datasets.nasbenchnlp.names import (
    CAP,
    EPOCHS,
    LOGS,
    RELEASED,
    RELEASED_FEATURES,
    TABLES,
    WIKITEXT2,
    WIKITEXT2_REPEATS,
)
from hpo_envs.tables.table import STATUSES, Metric, Provenance, Table

Floats = npt.NDArray[np.float64]

NAMES = TABLES

VERSION = 1
"""Raised whenever the same files give another table, see `hpo_envs.tables.files.cache`."""

METRICS = (
    Metric("validation_loss", "nats", "min", 0.0, CAP, "Log perplexity on the validation set; upper bound = cap."),
    Metric("test_loss", "nats", "min", 0.0, CAP, "Log perplexity on the test set; upper bound = cap."),
    Metric("train_loss", "nats", "min", 0.0, CAP, "Log perplexity on the training set; upper bound = cap."),
    Metric("parameters", "", "min", 0.0, 1e9, "Trainable parameters."),
)
"""What the logs record (section 3, evaluation). A run that diverged has no losses in its last epoch."""

FEATURE_NAMES = (*graph.NAMES, *(f"g2v_{i}" for i in range(RELEASED)), "g2v_known")


def files(name: str) -> tuple[str, ...]:
    """Upstream files of a table."""
    return (LOGS, RELEASED_FEATURES) if name == WIKITEXT2 else _ptb().files(name)


def build(name: str, read: Callable[[str], bytes]) -> Table:
    """Builds a measured table.

    Args:
        name: One of `NAMES`.
        read: Returns the verified bytes of an upstream file.

    Raises:
        ValueError: The files do not have the promised form; the message names file, member and rule.
    """
    if name != WIKITEXT2:
        return _ptb().build(name, read)
    by_recipe: dict[str, list[Log]] = {}
    for log in read_archive(read(LOGS), LOGS):
        by_recipe.setdefault(log.recipe, []).append(log)
    runs = list(by_recipe.values())
    released = read_released(read(RELEASED_FEATURES), RELEASED_FEATURES)
    cells = [r[0].cell for r in runs]
    known = [next((released[g] for log in r if (g := group(log.architecture)) in released), None) for r in runs]
    notes = (
        f"{len(runs)} recipes, {len({key(c) for c in cells})} computations, {sum(map(len, runs))} runs; released "
        f"features for {sum(k is not None for k in known)} recipes.",
    )
    return curves_table(name, unique_keys(cells), cells, runs, row_features(cells, known), "measured", notes)


def embedded(name: str) -> Table:
    """As many cells from the generator (RNN, LSTM and GRU first), trained by the surrogate of `cells.model`."""
    if name != WIKITEXT2:
        return _ptb().embedded_final() if name.endswith("-final") else _ptb().embedded_curves()
    with np.load(Path(__file__).parent / "data" / "cells_wikitext2.npz", allow_pickle=False) as data:
        keys, targets, probability = data["keys"].tolist(), data["targets"].astype(float), data["probability"]
    cells = [Cell.from_text(k) for k in keys]
    runs: list[list[model.Outcome]] = []
    for row, name_of_cell in enumerate(keys):
        diverged = model.uniform("diverges", name_of_cell) < probability[row]
        count = 1 + (row >= WIKITEXT2_REPEATS[0]) + (row >= WIKITEXT2_REPEATS[1])
        runs.append(
            [
                model.outcome(targets[row, r], name_of_cell, r, bool(diverged), float(probability[row]))
                for r in range(count)
            ]
        )
    notes = (
        "Cells drawn by the generator of section 3 and curves predicted by models that never saw the cell, with "
        "residual noise; held-out error in the fit's report (tables/datasets/nasbenchnlp/data/cells_report.json).",
    )
    return curves_table(name, tuple(keys), cells, runs, row_features(cells, [None] * len(cells)), "surrogate", notes)


def _ptb() -> Any:
    from hpo_envs.tables.datasets.nasbenchnlp import build_ptb  # which needs this module

    return build_ptb


def group(architecture: int) -> int:
    """The first id of the ids that seeds of one architecture have.

    1000003 to 1006002 and 1006003 to 1012002 are three seeds each in steps of 2000, the ids from 1012003 on in steps
    of 735; other ids are on their own.
    """
    if 1_000_003 <= architecture <= 1_012_002:
        block, place = divmod(architecture - 1_000_003, 6000)
        return 1_000_003 + 6000 * block + place % 2000
    if 1_012_003 <= architecture < 2_000_000:
        return 1_012_003 + (architecture - 1_012_003) % 735
    return architecture


def read_released(content: bytes, file: str) -> dict[int, Floats]:
    """The released features by group, each scaled to [0, 1] by its range over all architectures.

    Raises:
        ValueError: Not `recepie_id` and RELEASED finite numbers per line, or two ids of one group.
    """
    try:
        lines = iter(list(csv.reader(io.StringIO(content.decode("utf-8")))))
    except csv.Error as error:
        raise ValueError(f"{file} must be comma-separated text, got {error}") from None
    header = next(lines, [])
    if header != ["recepie_id", *(f"v{i:02d}" for i in range(RELEASED))]:
        raise ValueError(f"{file}: the header must be recepie_id, v00, ..., v{RELEASED - 1:02d}, got {header}")
    groups: list[int] = []
    rows: list[list[float]] = []
    for number, line in enumerate(lines, start=2):
        try:
            groups.append(group(int(line[0])))
            rows.append([float(v) for v in line[1:]])
        except (ValueError, IndexError):
            raise ValueError(f"{file}, line {number}: must be an id and numbers, got {','.join(line)!r:.80}") from None
        if len(rows[-1]) != RELEASED or not np.isfinite(rows[-1]).all():
            raise ValueError(f"{file}, line {number}: must have {RELEASED} finite numbers, got {','.join(line)!r:.80}")
    if len(set(groups)) != len(groups):
        raise ValueError(f"{file}: must have one id per group of seeds")
    x = np.array(rows)
    low, high = x.min(axis=0), x.max(axis=0)
    scaled = np.round((x - low) / np.maximum(high - low, 1e-12), graph.DECIMALS)
    return dict(zip(groups, scaled, strict=True))


def row_features(cells: Sequence[Cell], known: Sequence[Floats | None]) -> Floats:
    """(rows, len(FEATURE_NAMES)) features; `known` are the released ones, None where there are none."""
    own = graph.embed(cells)
    guess = released_stand_in(own)
    released = np.stack([g if k is None else k for g, k in zip(guess, known, strict=True)])
    flags = np.array([[float(k is not None)] for k in known])
    return np.hstack([own, released, flags])


def released_stand_in(own: Floats) -> Floats:
    """(rows, RELEASED) linear predictions of the released features from our own."""
    weights = _released_from_own()
    guess = np.einsum("nd,df->nf", own, weights[1:]) + weights[0]
    return np.round(np.clip(guess, 0.0, 1.0), graph.DECIMALS) + 0.0


@functools.cache
def _released_from_own() -> Floats:
    """(1 + SIZE, RELEASED) intercept and weights of the linear stand-in for released features."""
    with np.load(Path(__file__).parent / "data" / "cells_released.npz", allow_pickle=False) as data:
        return np.asarray(data["weights"], dtype=np.float64)


def unique_keys(cells: Sequence[Cell]) -> tuple[str, ...]:
    """Canonical keys; the second cell of one computation gets `#2`, the third `#3`, ..."""
    seen: dict[str, int] = {}
    keys = []
    for cell in cells:
        k = key(cell)
        seen[k] = seen.get(k, 0) + 1
        keys.append(k if seen[k] == 1 else f"{k}#{seen[k]}")
    return tuple(keys)


def curves_table(
    name: str,
    keys: tuple[str, ...],
    cells: Sequence[Cell],
    runs: Sequence[Sequence[Log | model.Outcome]],
    features: Floats,
    kind: Literal["measured", "surrogate"],
    notes: tuple[str, ...],
) -> Table:
    """Puts runs into a Table; `runs[row]` are the repeats of a row."""
    repeats = max(map(len, runs))
    values = np.full((len(runs), repeats, EPOCHS, len(METRICS)), np.nan)
    cost = np.full(values.shape[:3], np.nan)
    status = np.full(values.shape[:2], STATUSES.index("ok"), np.uint8)
    for row, of_row in enumerate(runs):
        size = parameters(cells[row], VOCABULARY["wikitext2"])
        for repeat, run in enumerate(of_row):
            end = len(run.seconds)
            values[row, repeat, :end, :3] = run.losses
            values[row, repeat, :end, 3] = run.parameters if isinstance(run, Log) else size
            cost[row, repeat, :end] = np.cumsum(run.seconds)
            if run.diverged:
                status[row, repeat] = STATUSES.index("diverged")
            elif end < EPOCHS:
                status[row, repeat] = STATUSES.index("truncated")
    return Table(
        name=name,
        keys=keys,
        feature_names=FEATURE_NAMES,
        features=features,
        metrics=METRICS,
        values=values,
        cost=cost,
        cost_unit="s",
        levels=np.arange(1.0, EPOCHS + 1),
        level_unit="epochs",
        status=status,
        provenance=_provenance(kind, notes),
    )


def _provenance(kind: Any, notes: tuple[str, ...]) -> Provenance:
    first = catalogue.files()[LOGS]
    return Provenance(
        kind, first.repository, first.commit, first.licence, catalogue.DATASETS["nasbenchnlp"].citation, notes=notes
    )
