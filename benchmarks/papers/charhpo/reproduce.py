"""`hpo-envs reproduce charhpo`."""

from __future__ import annotations

import functools

from hpo_envs.benchmarks.papers import common
from hpo_envs.benchmarks.papers.charhpo import analysis, figures, settings
from hpo_envs.benchmarks.papers.common import Record, Reproduction


def tables(r: Reproduction) -> list[Record]:
    """Published values that agree, by table, with the definitions behind them and with those of the text."""
    expected, sweeps = settings.expected(), settings.sweeps()
    published = analysis.entries(expected, analysis.values(sweeps, "published"))
    text = analysis.entries(expected, analysis.values(sweeps, "paper"))
    for e in published:
        ours = e.ours if isinstance(e.ours, str) else f"{e.ours:.6g}"
        r.compare_published(f"Table {e.key[0]}", " ".join(filter(None, e.key[1:])), e.published, ours, e.verdict)
    numbers = sorted({e.key[0] for e in published})
    return [_counts(str(n), *([e for e in of if e.key[0] == n] for of in (published, text))) for n in numbers] + [
        _counts("all", published, text)
    ]


def _counts(table: str, published: list[analysis.Entry], text: list[analysis.Entry]) -> Record:
    agree = [sum(e.verdict == "agrees" for e in entries) for entries in (published, text)]
    return dict(zip(("table", "cells", "published definitions", "text"), (table, len(published), *agree), strict=True))


def figure1(r: Reproduction) -> list[Record]:
    """Cases of section 3 and their metrics."""
    common.drawn(lambda: figures.plot_cases(r.out / "figure1"))
    return figures.of_cases()


def figure2(r: Reproduction) -> list[Record]:
    """Best configurations of the sweeps."""
    sweeps = settings.sweeps()
    common.drawn(lambda: figures.plot_boxes(sweeps, r.out / "figure2"))
    return figures.boxes(sweeps)


PARTS: common.Parts = {"tables": tables, "figure1": figure1, "figure2": figure2}

QUICK = 1
"""Trials of `--quick`; nothing here is drawn."""

main = functools.partial(common.reproduce, "charhpo", PARTS)
