"""The committed tables of the runs behind the verdict: one row per run, with its regret after 20 and 40 evaluations.

    hpo-envs compare --env NMTHPO-zhen-v0,... --agents random,bo,... --seeds 20 --budget 40 --out runs/NMTHPO
    python -m hpo_envs.benchmarks.tasks.verdict build runs/NMTHPO runs/CharHPO ...

Columns are most of those of the table `runs` of a study, `model`, and for k of 20 and 40: `mean_k`, the mean normalised
regret of the first k evaluations; `final_k`, the regret after k; `unclipped_k`, the mean without the upper limit of 1.

The second table has the runs of the other tracks (learning curves, two objectives, ...), with `track`, and
`mean_regret` and `final_regret` of the whole budget instead.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hpo_envs.benchmarks.analysis import regret
from hpo_envs.benchmarks.comparison.comparison import Comparison
from hpo_envs.benchmarks.study import flat, parquet
from hpo_envs.benchmarks.study.block import Block
from hpo_envs.benchmarks.tasks.verdict.properties import BUDGETS
from hpo_envs.tables import catalogue

RUNS = Path(__file__).parents[2] / "comparison" / "verdict.parquet"
TRACKS = Path(__file__).with_name("tracks.parquet")


def build(folders: Sequence[Path]) -> bytes:
    """Return the table of the runs in some folders of `compare`, as Parquet; a `ValueError` if their replay differs."""
    import pyarrow as pa

    blocks, table = _runs(folders)
    scores = [_scores(block) for block in blocks]
    for name in scores[0]:
        table = table.append_column(name, pa.array(np.concatenate([s[name] for s in scores]), from_pandas=True))
    return parquet.bytes_of(table.drop_columns(["mean_regret", "final_regret"]))


def with_track(name: str, folders: Sequence[Path]) -> bytes:
    """Return the table of tracks, as Parquet, in which the runs in some folders replace those of the track `name`."""
    import pyarrow as pa
    from pyarrow import compute
    from pyarrow import parquet as pq

    _, table = _runs(folders)
    table = table.append_column("track", pa.array([name] * len(table)))
    if TRACKS.exists():
        stored = pq.read_table(TRACKS)
        table = pa.concat_tables([stored.filter(compute.field("track") != name), table.cast(stored.schema)])
    return parquet.bytes_of(table)


def _runs(folders: Sequence[Path]) -> tuple[list[Block], Any]:
    """Return the replayed runs of some folders as blocks, and their table with the column `model` (model class)."""
    import pyarrow as pa

    blocks = [*Comparison.load(*folders).blocks()]
    table = flat.runs(blocks)
    models = {name: setting.model for name, setting in catalogue.settings().items()}
    table = table.append_column("model", pa.array([models[name] for name in table["table"].to_pylist()]))
    dropped = ["recommendation", "ask_seconds", "tell_seconds", "spent", "status", "kind"]
    return blocks, table.drop_columns(dropped)


def _scores(block: Block) -> dict[str, Any]:
    """Return (runs,) float32 scores by name of their column; NaN where the best configuration is the median."""
    clipped = [at[None] for at in np.split(block.regret, block.starts[1:-1])]
    unclipped = [regret.after(run, most=np.inf)[None] for run in block.runs()]
    found: dict[str, Any] = {}
    for k in BUDGETS:
        curves = np.concatenate([regret.at_evaluations(one, k) for one in clipped])
        whole = np.concatenate([regret.at_evaluations(one, k) for one in unclipped])
        found |= {f"mean_{k}": curves.mean(1), f"final_{k}": curves[:, -1], f"unclipped_{k}": whole.mean(1)}
    return {name: np.where(block.flat, np.nan, v).astype(np.float32) for name, v in found.items()}
