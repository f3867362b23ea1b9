"""Regret against simulated time (figures 10 and 12), rank correlations (figure 5), cells and final losses."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
from scipy.stats import kendalltau, pearsonr, rankdata, spearmanr
from tqdm.auto import tqdm

from hpo_envs.benchmarks.papers.common import Record
from hpo_envs.benchmarks.runs import Run
from hpo_envs.benchmarks.runs.episodes import seeds_of
from hpo_envs.tables import cells
from hpo_envs.tables.table import Floats, Table


@dataclass(frozen=True)
class Trace:
    """Course of one run of k evaluations, for figures 10 and 12."""

    hours: Floats  # (k,) simulated hours after each evaluation
    loss: Floats  # (k,) L(t): test loss of the cell and epoch with the best validation loss by then; NaN without one
    found: bool  # whether the incumbent at the end is the cell with the lowest test loss of the table


def trace(run: Run, env: Any) -> Trace:
    """Replay a run, in the order of its results, on `env`, and read the held-out test losses.

    `env` is an unwrapped environment on the same table, with one worker and seconds as cost.
    """
    env.reset(seed=seeds_of(run.header["env"], run.seed)[0])
    hours, losses = np.empty(len(run)), np.empty(len(run))
    # A replay pays by its own accounting; with parallel workers, costs are spread over them.
    workers = int(run.header["env_kwargs"].get("workers", 1))
    for k, action in enumerate(run.actions):
        env.step(action)
        hours[k] = env.total_cost / 3600 / workers
        losses[k] = env.best_held_out.get("test_loss", np.nan)
    return Trace(hours, losses, env.best is not None and env.best[0] == np.nanargmin(best_losses(env.table)))


def lowest(table: Table) -> float:
    """Return L*, the lowest test loss of any run at any epoch (section 5)."""
    return float(np.nanmin(best_losses(table)))


def on_grid(traces: Sequence[Trace], grid: Floats) -> Floats:
    """Return (runs, points) L(t) at each hour of a grid: NaN before a run's first result, the last after its end."""
    rows = []
    for t in traces:
        last = np.searchsorted(t.hours, grid, side="right") - 1
        rows.append(np.where(last >= 0, t.loss[np.maximum(last, 0)], np.nan))
    return np.array(rows)


def band(values: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the mean over runs, and both ends of its normal 95 % interval, per column; NaN if a run has no value."""
    mean, half = values.mean(axis=0), 1.96 * values.std(axis=0, ddof=1) / np.sqrt(len(values))
    return mean, mean - half, mean + half


def bootstrap_interval(values: Floats) -> tuple[float, float]:
    """Return the 95 % percentile bootstrap interval of the mean of (n,) values, with 2,000 resamples."""
    resampled = values[np.random.default_rng(0).integers(len(values), size=(2000, len(values)))].mean(axis=1)
    low, high = np.quantile(resampled, [0.025, 0.975])
    return float(low), float(high)


def summary(name: str, traces: Sequence[Trace], best: float, hours: Sequence[float]) -> dict[str, Any]:
    """Return a method's row: final regret with a bootstrap interval, and mean regret in nats at given hours.

    `best` is the loss of regret 0. The regret is empty at hours before a run has a result or after the end of all runs.
    """
    final = np.array([t.loss[-1] for t in traces]) - best
    low, high = bootstrap_interval(final)
    row: dict[str, Any] = {"method": name, "trials": len(traces), "final regret": f"{final.mean():.4f}"}
    row |= {"low": f"{low:.4f}", "high": f"{high:.4f}", "median": f"{np.median(final):.4f}"}
    row["best cell found"] = f"{np.mean([t.found for t in traces]):.2f}"
    row["hours"] = f"{np.mean([t.hours[-1] for t in traces]):.0f}"
    at = on_grid(traces, np.asarray(hours, dtype=float)) - best
    end = max(t.hours[-1] for t in traces)
    for h, values in zip(hours, at.T, strict=True):
        known = np.isfinite(values).all() and h <= end
        row[f"at {h} h"] = f"{values.mean():.4f}" if known else ""
    return row


def epoch_correlations(table: Table, epochs: Sequence[int] = (5, 10, 25, 50)) -> list[dict[str, Any]]:
    """Return rank correlations of the validation loss at some epochs with the final test loss, over cells (figure 5).

    Runs of one cell are averaged; cells with a run that did not reach the last epoch are left out. A row per epoch has
    Spearman's rho with a 95 % bootstrap interval over cells, and Kendall's tau.
    """
    losses = table.values[..., [table.metric("validation_loss"), table.metric("test_loss")]]
    missing = np.isnan(losses)
    measured = np.logical_not(missing.all(axis=(2, 3)))
    whole = np.logical_or(np.logical_not(missing.any(axis=(2, 3))), ~measured).all(axis=1) & measured.any(axis=1)
    means = np.nanmean(losses[whole], axis=1)
    final = means[:, -1, 1]
    rng = np.random.default_rng(0)
    rows = []
    for epoch in epochs:
        at = means[:, epoch - 1, 0]
        draws = []
        for _ in range(1000):
            i = rng.integers(len(at), size=len(at))
            with np.errstate(invalid="ignore"):  # a resample of one cell only has no correlation
                draws.append(np.corrcoef(rankdata(at[i]), rankdata(final[i]))[0, 1])
        low, high = np.nanquantile(draws, [0.025, 0.975])
        rho, tau = spearmanr(at, final)[0], kendalltau(at, final)[0]
        row = {"epoch": epoch, "cells": len(at), "rho": f"{rho:.3f}", "low": f"{low:.3f}", "high": f"{high:.3f}"}
        rows.append(row | {"tau": f"{tau:.3f}"})
    return rows


def ranks(table: Table, epoch: int) -> tuple[Floats, Floats]:
    """Return (cells,) ranks of first runs by validation loss at an epoch, and by final test loss; 1 is the lowest loss.

    Cells whose first run did not reach the last epoch are left out.
    """
    losses = table.values[..., [table.metric("validation_loss"), table.metric("test_loss")]]
    whole = ~np.isnan(losses[:, 0]).any(axis=(1, 2))
    return rankdata(losses[whole, 0, epoch - 1, 0]), rankdata(losses[whole, 0, -1, 1])


def correlations(x: Floats, y: Floats) -> Record:
    """Return Pearson's (`r`) and Spearman's (`rho`) correlation over the pairs without NaN, and their number (`n`)."""
    known = ~(np.isnan(x) | np.isnan(y))
    return {
        "n": int(known.sum()),
        "r": round(float(pearsonr(x[known], y[known])[0]), 3),
        "rho": round(float(spearmanr(x[known], y[known])[0]), 3),
    }


def best_losses(table: Table) -> Floats:
    """Return the (rows,) lowest test loss of any run at any epoch; NaN for rows without one."""
    losses = table.values[..., table.metric("test_loss")].reshape(len(table), -1)
    best = np.where(np.isnan(losses), np.inf, losses).min(axis=1)
    return np.where(np.isinf(best), np.nan, best)


def of_cells(table: Table) -> pd.Series:
    """Return the lowest test loss of each different cell of a table of curves, by key, without cells that have none."""
    return pd.Series(best_losses(table)).groupby([k.split("#")[0] for k in table.keys]).min().dropna()


def ranks_of_examples(table: Table) -> list[Record]:
    """Return ranks of the conventional cells by lowest test loss among the different cells of a table (figure 4b).

    Perplexity and rank are NaN for a cell that the table lacks.
    """
    best, records = of_cells(table), []
    for name, cell in cells.EXAMPLES.items():
        loss = best.get(cells.key(cell), np.nan)
        rank = np.nan if np.isnan(loss) else int((best < loss).sum()) + 1
        records.append({"cell": name, "test_perplexity": round(float(np.exp(loss)), 1), "rank": rank, "of": len(best)})
    return records


def top_architectures(table: Table, count: int) -> list[Record]:
    """Return rows of the `count` architectures with the lowest final test loss of any seed (Table 2)."""
    losses = table.values[:, :, -1, table.metric("test_loss")]
    lowest = np.where(np.isnan(losses), np.inf, losses).min(axis=1)
    mean = table.final("test_loss")
    size = table.final("parameters")
    return [
        {
            "architecture": table.keys[row],
            "parameters": f"{size[row] / 1e6:.1f}M",
            "test_perplexity": round(float(np.exp(lowest[row])), 1),
            "mean_of_seeds": round(float(np.exp(mean[row])), 1),
        }
        for row in np.argsort(lowest, kind="stable")[:count]
    ]


def edit_distances(sample: Sequence[cells.Cell], pairs: int, seed: int, seconds: float) -> Floats:
    """Return (pairs,) upper bounds of the graph edit distance of random pairs from a sample of cells (figure 7).

    Each is the best one that networkx finds within `seconds`, at most the cost of replacing the whole graph.
    """
    match, rng = nx.algorithms.isomorphism.categorical_node_match("op", None), np.random.default_rng(seed)
    found = []
    for _ in tqdm(range(pairs), desc="pairs", unit="pair"):
        a, b = rng.choice(len(sample), size=2, replace=False)
        one, other = cells.graph(sample[a]), cells.graph(sample[b])
        whole = sum(g.number_of_nodes() + g.number_of_edges() for g in (one, other))
        best = nx.graph_edit_distance(one, other, node_match=match, timeout=seconds)
        found.append(whole if best is None else min(whole, best))
    return np.array(found)
