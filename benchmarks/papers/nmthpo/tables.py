"""Tables 1 and 2 and the left half of figure 1, computed from the tables."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from hpo_envs.benchmarks.papers import common
from hpo_envs.benchmarks.papers.common import Record, Reproduction
from hpo_envs.benchmarks.plots import COLOURS, panels, save
from hpo_envs.tables import store
from hpo_envs.tables.datasets.nmthpo import PAIRS
from hpo_envs.tables.table import Table

TABLE_1 = {
    **dict.fromkeys(("zhen", "ruen", "jaen", "enja"), "10, 30, 50; 2, 4; 256, 512, 1024; 1024, 2048; 8, 16; 3, 6, 10"),
    "swen": "1, 2, 4, 8, 16, 32; 1, 2, 4, 6; 256, 512, 1024; 1024, 2048; 8, 16; 3, 6, 10",
    "soen": "1, 2, 4, 8, 16, 32; 1, 2, 4; 256, 512, 1024; 1024, 2048; 8, 16; 3, 6, 10",
}
"""Printed columns: BPE symbols in thousands, layers, embedding, hidden units, heads, learning rate in 1e-4."""

TABLE_2 = {
    "zhen": (118, 14.66, "30k; 4; 512; 1024; 16; 3e-4"),
    "ruen": (176, 20.23, "10k; 4; 256; 2048; 8; 3e-4"),
    "jaen": (150, 16.41, "30k; 4; 512; 2048; 8; 3e-4"),
    "enja": (168, 20.74, "10k; 4; 1024; 2048; 8; 3e-4"),
    "swen": (767, 26.09, "1k; 2; 256; 1024; 8; 6e-4"),
    "soen": (604, 11.23, "8k; 2; 512; 1024; 8; 3e-4"),
}
"""Printed columns: number of models, best BLEU, its configuration."""

_UNITS = (1e3, 1.0, 1.0, 1.0, 1.0, 1e-4)


def space(table: Table) -> str:
    """The line of Table 1: the values that occur."""
    columns = [np.unique(c / unit) for c, unit in zip(table.configs.T, _UNITS, strict=True)]
    return "; ".join(", ".join(f"{v:.6g}" for v in values) for values in columns)


def best(table: Table) -> tuple[int, float, list[str]]:
    """The line of Table 2, with every configuration that has the best BLEU."""
    bleu = table.final("bleu")
    rows = table.configs[bleu == bleu.max()] / _UNITS
    texts = [f"{c[0]:g}k; " + "; ".join(f"{v:g}" for v in c[1:5]) + f"; {c[5]:.6g}e-4" for c in rows]
    return len(table), float(bleu.max()), texts


def compare(pair: str, table: Table) -> list[Record]:
    """Tables 1 and 2 of a pair next to print."""
    models, bleu, configs = TABLE_2[pair]
    n, top, found = best(table)
    pairs = [
        ("Table 1, values", TABLE_1[pair], space(table)),
        ("Table 2, models", str(models), str(n)),
        ("Table 2, best BLEU", f"{bleu:.2f}", f"{top:.2f}"),
        ("Table 2, configuration", configs, configs if configs in found else found[0]),
    ]
    return [
        {"quantity": q, "published": p, "ours": o, "verdict": "agrees" if p == o else "differs"} for q, p, o in pairs
    ]


def draw(tables: dict[str, Table], path: Path) -> list[Path]:
    """Figure 1, left: histograms of BLEU."""
    figure, axes = panels(2, 3, (12.6, 6.8))
    for axis, (pair, table) in zip(axes.ravel(), tables.items(), strict=True):
        axis.hist(table.final("bleu"), bins=30, color=COLOURS[0])
        axis.set(title=PAIRS[pair], xlabel="BLEU", ylabel="systems")
    return save(figure, path)


def run(r: Reproduction) -> None:
    """Compare and draw them."""
    tables = {pair: store.load(f"nmthpo/{pair}") for pair in PAIRS}
    for pair, table in tables.items():
        for row in compare(pair, table):
            where, _, quantity = row["quantity"].partition(", ")
            r.compare_published(where, f"{pair} {quantity}", row["published"], row["ours"], row["verdict"])
    common.drawn(lambda: draw(tables, r.out / "figure1_histogram"))
