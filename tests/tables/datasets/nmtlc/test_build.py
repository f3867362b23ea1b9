"""The NMTLC tables: every point of the file, malicious and damaged pickles, and the packed curves."""

from typing import Any

import numpy as np
import pytest

from hpo_envs.tables import store
from hpo_envs.tables.datasets.nmtlc import build as nmtlc

ROWS = {"zhen": 148, "ruen": 193, "jaen": 177, "enja": 179, "swen": 819, "soen": 646, "ft-fren": 162, "ft-zhen": 159}
LONGEST = {"zhen": 157, "ruen": 165, "jaen": 569, "enja": 423, "swen": 133, "soen": 77, "ft-fren": 74, "ft-zhen": 28}


@pytest.mark.parametrize("name", nmtlc.NAMES)
def test_rows_and_levels_are_those_of_corpus(name: str) -> None:
    table, corpus = store.load(name), name.partition("/")[2]
    assert (len(table), len(table.levels)) == (ROWS[corpus], LONGEST[corpus])
    for key, config in zip(table.keys, table.configs, strict=True):
        assert key.startswith("-".join(f"{v:g}" for v in config) + "#")
    assert np.nanmax(table.values[..., 0]) < 40.0


def test_runs_are_those_of_nmthpo_tables() -> None:
    """One to one on four pairs: same hyperparameters, and the best perplexity equals that of the table."""
    for pair, rows in (("ruen", 176), ("jaen", 150), ("swen", 767), ("soen", 604)):
        finals = store.load(f"nmthpo/{pair}")
        curves = store.load(f"nmtlc/{pair}")
        names = [h.name for h in curves.space]
        columns = [[h.name for h in finals.space].index(n) for n in names]
        best = np.nanmin(curves.values[:, 0, :, 1], axis=1)
        where: dict[Any, list[int]] = {}
        for row, config in enumerate(curves.configs):
            where.setdefault((*config.tolist(), round(float(best[row]), 2)), []).append(row)
        perplexity = finals.values[:, 0, 0, finals.metric("perplexity")]
        found = [
            where.get((*c.tolist(), round(float(p), 2)), [])
            for c, p in zip(finals.configs[:, columns], perplexity, strict=True)
        ]
        assert (len(found), sum(bool(f) for f in found)) == (rows, rows)
        # A level is 2,000 updates: where the join is unique the curve is as long as the recorded updates say.
        updates = finals.values[:, 0, 0, finals.metric("updates")]
        length = (~np.isnan(curves.values[:, 0, :, 0])).sum(axis=1)
        unique = [(u, length[f[0]]) for u, f in zip(updates, found, strict=True) if len(f) == 1]
        assert len(unique) > 0.8 * rows
        assert np.mean([u == 2000 * n for u, n in unique]) > 0.95
