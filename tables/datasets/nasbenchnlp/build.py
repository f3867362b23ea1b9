"""Klyuchnikov et al. 2020: recurrent cells trained as language models, on WikiText-2 and on the Penn Treebank.

`wikitext2`: 345 trainings of 291 cells. One row per distinct recipe (291, where the paper says 289), runs of the same
recipe as repeats in the order of recipe id, start and experiment id, 50 epochs. Keys are canonical keys of
`hpo_envs.tables.cells.canonical`: the 291 recipes are 265 computations, and the second, third, ... recipe of one
computation has `#2`, `#3`, ... after its key. Four runs stopped because the loss became NaN: their last epoch has a
cost and parameters, but no losses.

`ptb-final`: final losses on the Penn Treebank, from another release than the curves (Serianni and Kalita 2023). It
lists the last-epoch test loss of 12,341 multi-run ids: one row per architecture, that is, per group of ids with
released features (4,114 rows; 130 groups without features are left out), with seeds as repeats. It does not include
RNN, LSTM and GRU. A run with loss NaN diverged.

`ptb`: curves on the Penn Treebank, one row per architecture with released features (14,322 generated
architectures), in the order of their ids, and up to three runs of each: the released single runs and multi runs, of
which 4,114 were trained with three seeds. Keys are the ids. Its two archives of logs are large and fetched separately
(data set `nasbenchnlp-ptb-logs`). An architecture without an acceptable log has status `failed`. The other tables ship,
see `pack`.
"""

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from hpo_envs.tables import catalogue, cells
from hpo_envs.tables.cells import features as graph
from hpo_envs.tables.datasets import nasbenchnlp as nas
from hpo_envs.tables.datasets.nasbenchnlp.features import FEATURE_NAMES, RELEASED_NAMES, group, read_released
from hpo_envs.tables.datasets.nasbenchnlp.logs import FINAL_METRICS, METRICS, TrainingLog, read_acceptable
from hpo_envs.tables.files import packs
from hpo_envs.tables.table import DIVERGED, FAILED, GRAPHS, OK, TRUNCATED, Floats, Provenance, Table

NAMES = nas.TABLES

PACKS = {nas.WIKITEXT2: "nasbenchnlp/data/wikitext2.npz", nas.PTB_FINAL: "nasbenchnlp/data/ptb_final.npz"}

WORDS = np.array([4352.0, 4911.0, 41772.0])
"""Words in each of the 50 columns into which the validation, test and training text of WikiText-2 are cut (217,646,
245,569 and 2,088,628 words): released losses are float32 sums divided by them."""

TICK = 2.0**-22
"""Spacing of 64-bit floats that count the seconds since 1970: released wall times are multiples of it."""

SHARED = 0.01
"""Largest fraction of logs of an archive that may be unacceptable."""

LOSS_DECIMALS, FEATURE_DECIMALS = 9, 6
"""Decimals of the final losses on PTB as released, and of all features."""

GRAPHS["nasbenchnlp"] = lambda key: cells.graph(cells.Cell.from_text(key.partition("#")[0]))


def files(name: str) -> tuple[str, ...]:
    """Upstream files of `ptb`; none for the other tables, which ship."""
    return (nas.SINGLE, nas.MULTI, nas.RELEASED_FEATURES) if name == nas.PTB else ()


def build(name: str, read: Callable[[str], bytes]) -> Table:
    """Build `ptb`; `read` returns the content of fetched files, errors name member and rule."""
    released = read_released(read(nas.RELEASED_FEATURES), nas.RELEASED_FEATURES)
    return build_curves({nas.SINGLE: read(nas.SINGLE), nas.MULTI: read(nas.MULTI)}, released)


def shipped(name: str) -> Table:
    """Build a table from its pack."""
    return _wikitext2() if name == nas.WIKITEXT2 else _ptb_final()


def architectures() -> list[npt.NDArray[np.int64]]:
    """Upstream's architecture ids for each row of `wikitext2`, one per run; rows are in upstream's order."""
    data = packs.read(PACKS[nas.WIKITEXT2])
    return np.split(data["architectures"].astype(np.int64), np.cumsum(data["repeats"])[:-1])


def _wikitext2() -> Table:
    data = packs.read(PACKS[nas.WIKITEXT2])
    repeats, ticks, keys = data["repeats"], data["ticks"], tuple(data["keys"].astype(str).tolist())
    row = np.repeat(np.arange(len(repeats)), repeats)
    at = (row, np.concatenate([np.arange(n) for n in repeats]))
    values = np.full((len(repeats), repeats.max(), nas.EPOCHS, len(METRICS)), np.nan)
    cost, status = np.full(values.shape[:3], np.nan), np.full(values.shape[:2], OK, np.uint8)
    trained = ticks > 0
    losses = data["losses"].astype(np.float64) / WORDS
    sizes = np.where(trained, data["parameters"][row, None], np.nan)
    values[at] = np.concatenate([losses, sizes[..., None]], axis=2)
    cost[at] = np.where(trained, np.cumsum(ticks * TICK, axis=1), np.nan)
    diverged = (trained & np.isnan(losses[..., 0])).any(axis=1)
    status[at] = np.where(diverged, DIVERGED, np.where(trained.all(axis=1), OK, TRUNCATED))
    features = packs.unscaled(data["features"], FEATURE_DECIMALS)
    computations = len({key.partition("#")[0] for key in keys})
    note = (
        f"{len(keys)} recipes, {computations} computations, {len(row)} runs; released features for "
        f"{features[:, -1].sum():.0f} recipes."
    )
    provenance = catalogue.provenance("nasbenchnlp", "measured", note, file=nas.LOGS)
    return curves_table(nas.WIKITEXT2, keys, features, values, cost, status, provenance)


def _ptb_final() -> Table:
    data = packs.read(PACKS[nas.PTB_FINAL])
    run = np.arange(data["losses"].shape[1]) < data["repeats"][:, None]
    losses = np.where(data["losses"] > 0, packs.unscaled(data["losses"], LOSS_DECIMALS), np.nan)
    values = np.stack([losses, np.where(run, data["parameters"][:, None], np.nan)], axis=-1)[:, :, None]
    status = np.where(run & np.isnan(losses), DIVERGED, OK).astype(np.uint8)
    note = (
        "12341 ids, 10032 with a finite loss, 4244 architectures, 4114 with features. "
        "The losses are of the last epoch and of the test set."
    )
    return Table(
        nas.PTB_FINAL, tuple(map(str, data["ids"].tolist())), FINAL_METRICS, values,
        np.where(run, 1.0, np.nan)[..., None],
        catalogue.provenance("nasbenchnlp", "measured", note, file=nas.PARAMETERS),
        feature_names=RELEASED_NAMES, features=packs.unscaled(data["features"], FEATURE_DECIMALS),
        levels=np.array([float(nas.EPOCHS)]), level_unit="epochs", status=status,
    )  # fmt: skip


def build_curves(archives: dict[str, bytes], released: dict[int, Floats], rows: int = nas.PTB_ROWS) -> Table:
    """Build the table of curves from the content of each archive and the released features of `rows` groups.

    Raises:
        ValueError: There are not `rows` groups, or more than `SHARED` of an archive's logs are not acceptable.
    """
    if len(released) != rows:
        raise ValueError(f"{nas.RELEASED_FEATURES} must have {rows} architectures, got {len(released)}")
    runs: dict[int, dict[int, TrainingLog]] = {}
    refused: list[str] = []
    for file, content in archives.items():
        logs, bad = read_acceptable(content, file)
        if len(bad) > SHARED * (len(logs) + len(bad)):
            raise ValueError(f"{file}: at most {SHARED:.0%} of the logs may be unacceptable, got {len(bad)}: {bad[0]}")
        refused.extend(bad)
        for log in logs:
            # A run may be in both archives; its experiment id tells.
            runs.setdefault(group(log.architecture), {}).setdefault(log.experiment, log)
    ids = sorted(released)
    per_row = [
        sorted(runs.get(i, {}).values(), key=lambda r: (r.architecture, r.started, r.experiment))[: nas.PTB_REPEATS]
        for i in ids
    ]
    cells = [r[0].cell if r else None for r in per_row]
    known = [c for c in cells if c is not None]
    own = np.zeros((len(ids), graph.SIZE))
    if known:
        own[[c is not None for c in cells]] = graph.embed(known)
    features = np.hstack([own, np.stack([released[i] for i in ids]), np.ones((len(ids), 1))])
    unused = sum(len(r) for g, r in runs.items() if g not in released)
    note = (
        f"{sum(map(len, per_row))} runs of {len(known)} architectures; {len(ids) - len(known)} rows have no log, "
        f"{unused} runs have no row, {len(refused)} logs were refused."
    )
    provenance = catalogue.provenance("nasbenchnlp", "measured", note, file=nas.SINGLE)
    return curves_table(nas.PTB, tuple(map(str, ids)), features, *arrays(per_row, nas.PTB_REPEATS), provenance)


def arrays(runs: Sequence[Sequence[TrainingLog]], repeats: int) -> tuple[Floats, Floats, npt.NDArray[np.uint8]]:
    """Values (rows, repeats, epochs, metrics), cumulative seconds and status of the runs of each row.

    A row without runs has status `failed`, and 0 parameters and cost 0 in its first epoch.
    """
    values = np.full((len(runs), repeats, nas.EPOCHS, len(METRICS)), np.nan)
    cost = np.full(values.shape[:3], np.nan)
    status = np.full(values.shape[:2], OK, np.uint8)
    for row, of_row in enumerate(runs):
        for repeat, run in enumerate(of_row):
            end = len(run.seconds)
            values[row, repeat, :end, :3] = run.losses
            values[row, repeat, :end, 3] = run.parameters
            cost[row, repeat, :end] = np.cumsum(run.seconds)
            status[row, repeat] = DIVERGED if run.diverged else TRUNCATED if end < nas.EPOCHS else OK
        if not of_row:
            # Somebody who tries it learns that at once and pays nothing.
            values[row, 0, 0, 3] = cost[row, 0, 0] = 0.0
            status[row, 0] = FAILED
    return values, cost, status


def curves_table(
    name: str, keys: tuple[str, ...], features: Floats, values: Floats, cost: Floats, status: npt.NDArray[np.uint8],
    provenance: Provenance,
) -> Table:  # fmt: skip
    """Make a table of 50-epoch learning curves from what `arrays` returns."""
    return Table(
        name, keys, METRICS, values, cost, provenance, "s", feature_names=FEATURE_NAMES, features=features,
        levels=np.arange(1.0, nas.EPOCHS + 1), level_unit="epochs", status=status,
    )  # fmt: skip


def paired_losses(curves: Table, final: Table) -> tuple[Floats, Floats]:
    """Return (recipes,) mean final test losses on WikiText-2, and on PTB, of recipes with a finite loss on both."""
    ids, ends = architectures(), curves.values[:, :, -1, curves.metric("test_loss")]
    losses = dict(zip(map(int, final.keys), final.final("test_loss"), strict=True))
    x, y = [], []
    for row in np.argsort(curves.source_index):
        g = next((g for i in ids[curves.source_index[row]] if (g := group(int(i))) in losses), None)
        finite = ends[row][~np.isnan(ends[row])]
        if len(finite) and g is not None and not np.isnan(losses[g]):
            x.append(np.mean(finite))
            y.append(losses[g])
    return np.array(x), np.array(y)
