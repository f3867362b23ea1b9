"""Klyuchnikov et al. 2020 on the Penn Treebank: curves of 14,322 architectures.

One row per architecture with released features (Table: 14,322 generated architectures), in the order of their ids, and
up to three runs of each: the released single runs and multi runs, of which 4,114 were trained with three seeds. Keys
are the ids. The two archives of logs are large and are fetched on their own (data set `nasbenchnlp-ptb-logs`). An
architecture without an acceptable log has status `failed`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from hpo_envs.tables import catalogue
from hpo_envs.tables.cells import features as graph
from hpo_envs.tables.datasets.nasbenchnlp import (
    MULTI,
    PTB,
    PTB_REPEATS,
    PTB_ROWS,
    RELEASED_FEATURES,
    SINGLE,
)
from hpo_envs.tables.datasets.nasbenchnlp.assemble import arrays, curves_table
from hpo_envs.tables.datasets.nasbenchnlp.features import group, read_released
from hpo_envs.tables.datasets.nasbenchnlp.logs import Log, read_acceptable
from hpo_envs.tables.table import Floats, Table

SHARED = 0.01
"""Largest share of logs that may be unacceptable before the archive is."""

FILES = (SINGLE, MULTI, RELEASED_FEATURES)


def build(read: Callable[[str], bytes]) -> Table:
    """Build the table; see `nasbenchnlp.build`."""
    released = read_released(read(RELEASED_FEATURES), RELEASED_FEATURES)
    return build_curves({SINGLE: read(SINGLE), MULTI: read(MULTI)}, released)


def build_curves(archives: dict[str, bytes], released: dict[int, Floats], rows: int = PTB_ROWS) -> Table:
    """The table of curves from the content of each archive, and the released features of `rows` groups.

    Raises:
        ValueError: An archive is not acceptable, or more than `SHARED` of its logs are not.
    """
    if len(released) != rows:
        raise ValueError(f"{RELEASED_FEATURES} must have {rows} architectures, got {len(released)}")
    runs: dict[int, dict[int, Log]] = {}
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
        sorted(runs.get(i, {}).values(), key=lambda r: (r.architecture, r.started, r.experiment))[:PTB_REPEATS]
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
    provenance = catalogue.provenance("nasbenchnlp", "measured", note, file=SINGLE)
    return curves_table(PTB, tuple(map(str, ids)), features, *arrays(per_row, PTB_REPEATS), provenance)
