"""Klyuchnikov et al. 2020: recurrent cells trained as language models, on WikiText-2 and on the Penn Treebank.

`wikitext2`: 345 trainings of 291 cells. One row per distinct recipe (291, where the paper says 289), runs of the same
recipe as repeats in the order of recipe id, start and experiment id, 50 epochs. Keys are canonical keys of
`hpo_envs.tables.cells.canonical`: the 291 recipes are 265 computations, and the second, third, ... recipe of one
computation has `#2`, `#3`, ... after its key. Four runs stopped because the loss became NaN: their last epoch costs its
seconds and has no losses.

`ptb-final`: final losses on the Penn Treebank, from another release than the curves (Serianni and Kalita 2023). It
trained nothing but lists the last-epoch test loss of 12,341 multi-run ids: one row per architecture, that is per group
of ids with released features (4,114 rows; 130 groups without features are left out), seeds as repeats. RNN, LSTM and
GRU are not in it. A loss of NaN is a run that diverged.

Both ship, see `pack`. `ptb`, the curves on the Penn Treebank, is built from fetched files, see `build_ptb`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from hpo_envs.tables import catalogue, cells
from hpo_envs.tables.datasets.nasbenchnlp import (
    EPOCHS,
    LOGS,
    PARAMETERS,
    PTB,
    PTB_FINAL,
    TABLES,
    WIKITEXT2,
    assemble,
    build_ptb,
)
from hpo_envs.tables.datasets.nasbenchnlp.features import RELEASED_NAMES
from hpo_envs.tables.datasets.nasbenchnlp.logs import FINAL_METRICS, METRICS
from hpo_envs.tables.files import packs
from hpo_envs.tables.table import GRAPHS, Table

NAMES = TABLES

PACKS = {WIKITEXT2: "nasbenchnlp/data/wikitext2.npz", PTB_FINAL: "nasbenchnlp/data/ptb_final.npz"}

WORDS = np.array([4352.0, 4911.0, 41772.0])
"""Words in each of the 50 columns into which the validation, test and training text of WikiText-2 are cut (217,646,
245,569 and 2,088,628 words): released losses are float32 sums divided by them."""

TICK = 2.0**-22
"""Seconds between two 64-bit floats that count the seconds since 1970: released wall times are multiples of it."""

LOSS_DECIMALS, FEATURE_DECIMALS = 9, 6
"""Digits of the final losses on PTB as released, and of all features."""

GRAPHS["nasbenchnlp"] = lambda key: cells.graph(cells.Cell.from_text(key.partition("#")[0]))


def files(name: str) -> tuple[str, ...]:
    """Upstream files of a table that does not ship."""
    return build_ptb.FILES if name == PTB else ()


def build(name: str, read: Callable[[str], bytes]) -> Table:
    """Build `ptb`; `read` gives the content of fetched files, a message about a wrong one names member and rule."""
    return build_ptb.build(read)


def shipped(name: str) -> Table:
    """Build a table from its pack."""
    return _wikitext2() if name == WIKITEXT2 else _ptb_final()


def architectures() -> list[npt.NDArray[np.int64]]:
    """Upstream's ids of the runs of each row of `wikitext2`, rows in upstream's order."""
    data = packs.read(PACKS[WIKITEXT2])
    return np.split(data["architectures"].astype(np.int64), np.cumsum(data["repeats"])[:-1])


def _wikitext2() -> Table:
    data = packs.read(PACKS[WIKITEXT2])
    repeats, ticks, keys = data["repeats"], data["ticks"], tuple(data["keys"].astype(str).tolist())
    row = np.repeat(np.arange(len(repeats)), repeats)
    at = (row, np.concatenate([np.arange(n) for n in repeats]))
    values = np.full((len(repeats), repeats.max(), EPOCHS, len(METRICS)), np.nan)
    cost, status = np.full(values.shape[:3], np.nan), np.full(values.shape[:2], assemble.OK, np.uint8)
    trained = ticks > 0
    losses = data["losses"].astype(np.float64) / WORDS
    sizes = np.where(trained, data["parameters"][row, None], np.nan)
    values[at] = np.concatenate([losses, sizes[..., None]], axis=2)
    cost[at] = np.where(trained, np.cumsum(ticks * TICK, axis=1), np.nan)
    diverged = (trained & np.isnan(losses[..., 0])).any(axis=1)
    status[at] = np.where(diverged, assemble.DIVERGED, np.where(trained.all(axis=1), assemble.OK, assemble.TRUNCATED))
    features = packs.unscaled(data["features"], FEATURE_DECIMALS)
    computations = len({key.partition("#")[0] for key in keys})
    note = (
        f"{len(keys)} recipes, {computations} computations, {len(row)} runs; released features for "
        f"{features[:, -1].sum():.0f} recipes."
    )
    provenance = catalogue.provenance("nasbenchnlp", "measured", note, file=LOGS)
    return assemble.curves_table(WIKITEXT2, keys, features, values, cost, status, provenance)


def _ptb_final() -> Table:
    data = packs.read(PACKS[PTB_FINAL])
    run = np.arange(data["losses"].shape[1]) < data["repeats"][:, None]
    losses = np.where(data["losses"] > 0, packs.unscaled(data["losses"], LOSS_DECIMALS), np.nan)
    values = np.stack([losses, np.where(run, data["parameters"][:, None], np.nan)], axis=-1)[:, :, None]
    status = np.where(run & np.isnan(losses), assemble.DIVERGED, assemble.OK).astype(np.uint8)
    note = (
        "12341 ids, 10032 with a finite loss, 4244 architectures, 4114 with features. "
        "The losses are of the last epoch and of the test set."
    )
    return Table(
        PTB_FINAL, tuple(map(str, data["ids"].tolist())), FINAL_METRICS, values,
        np.where(run, 1.0, np.nan)[..., None],
        catalogue.provenance("nasbenchnlp", "measured", note, file=PARAMETERS),
        feature_names=RELEASED_NAMES, features=packs.unscaled(data["features"], FEATURE_DECIMALS),
        levels=np.array([float(EPOCHS)]), level_unit="epochs", status=status,
    )  # fmt: skip
