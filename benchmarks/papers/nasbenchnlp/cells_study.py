"""The parts of the reproduction that concern cells and final losses; see `PARTS`.

Not reproducible, because nothing was released of it: figure 3 (choice of hyperparameters), figures 9 and 13 (word
similarity) and Table 3 (GLUE).
"""

from __future__ import annotations

import csv
import functools
from collections.abc import Callable
from pathlib import Path

import numpy as np
from tqdm import tqdm

from hpo_envs.benchmarks.papers.nasbenchnlp import cells_analysis as analysis
from hpo_envs.benchmarks.papers.nasbenchnlp import cells_figures as figures
from hpo_envs.benchmarks.papers.nasbenchnlp.cells_analysis import Record
from hpo_envs.tables import cells, store
from hpo_envs.tables.cells import features
from hpo_envs.tables.cells.recipe import Cell
from hpo_envs.tables.datasets.nasbenchnlp.paired import paired_losses

WIKITEXT2, FINAL = "nasbenchnlp/wikitext2", "nasbenchnlp/ptb-final"

SPLITS = 20
"""Random halves behind each interval."""

PAIRS = 1000
"""Pairs of figure 7."""

SECONDS = 0.05
"""Time for each pair."""

PUBLISHED = {"auc_diverged": 0.98, "r2_loss": 0.012, "r2_loss<=6": 0.24}
"""Section 4, parameterization of architectures (PTB, graph2vec)."""

TABLE2 = (("Top-2", "9.2M", 84.7), ("Top-4", "11.0M", 90.6))
"""Generated rows of Table 2: name, parameters, test perplexity on PTB."""


def checks(out: Path, trials: int | None, seed: int) -> list[Record]:
    """Section 4: what features say of divergence and of the final loss."""
    splits = trials or SPLITS
    final, curves = store.load(FINAL), store.load(WIKITEXT2)
    records = analysis.feature_checks(final, range(final.features.shape[1]), "released 10-D", splits, seed)
    for record in records:
        record["published"] = PUBLISHED[record["check"]]
    for size in (features.SMALL, features.SIZE):
        records += analysis.feature_checks(curves, range(size), f"own {size}-D", splits, seed)
    released = range(features.SIZE, features.SIZE + 10)
    return records + analysis.feature_checks(curves, released, "released 10-D", splits, seed)


def figure2(out: Path, trials: int | None, seed: int) -> list[Record]:
    """The conventional cells."""
    figures.plot_cells(cells.EXAMPLES, out / "figure2")
    vocabulary = cells.VOCABULARY["ptb"]
    return [
        {"cell": name, "nodes": len(c.nodes), "parameters": f"{cells.parameters(c, vocabulary) / 1e6:.2f}M"}
        for name, c in cells.EXAMPLES.items()
    ]


def figure4(out: Path, trials: int | None, seed: int) -> list[Record]:
    """Parameters, time and perplexity on WikiText-2 (the paper: on PTB)."""
    table = store.load(WIKITEXT2)
    best, size = analysis.best_losses(table), table.final("parameters")
    hours = np.nanmax(table.cost.reshape(len(table), -1), axis=1) / 3600
    known = ~np.isnan(best)
    index = {name: i for i, name in enumerate(np.array(table.keys)[known])}
    marked = {name: index[k] for name, c in cells.EXAMPLES.items() if (k := cells.key(c)) in index}
    figures.plot_metrics(size[known], hours[known], np.exp(best[known]), marked, out / "figure4")
    return [
        {"what": "parameters and best test loss", **analysis.correlations(size, best)},
        {"what": "hours and best test loss", **analysis.correlations(hours, best)},
        {"what": "parameters and hours", **analysis.correlations(size, hours)},
        *({"what": f"rank of {r.pop('cell')}", **r} for r in analysis.ranks_of_examples(table)),
    ]


def figure6(out: Path, trials: int | None, seed: int) -> list[Record]:
    """Final losses of the recipes trained on both data sets."""
    x, y = paired_losses(store.load(FINAL, "measured"))
    figures.plot_pairs(
        y, x, ("PTB, final test log perplexity", "WikiText-2, final test log perplexity"), out / "figure6"
    )
    return [{"what": "PTB and WikiText-2", **analysis.correlations(x, y)}]


def figure7(out: Path, trials: int | None, seed: int) -> list[Record]:
    """Upper bounds of edit distances between trained cells."""
    sample = [Cell.from_text(k) for k in dict.fromkeys(k.split("#")[0] for k in store.load(WIKITEXT2).keys)]
    with tqdm(total=trials or PAIRS, desc="pairs", unit="pair") as bar:
        found = analysis.edit_distances(sample, trials or PAIRS, seed, SECONDS, bar.update)
    figures.plot_histogram(found, "upper bound of the graph edit distance", out / "figure7")
    quantiles = {f"q{q}": float(np.quantile(found, q / 100)) for q in (5, 25, 50, 75, 95)}
    return [{"what": "edit distance", "pairs": len(found), "mean": round(float(found.mean()), 1), **quantiles}]


def figure8(out: Path, trials: int | None, seed: int) -> list[Record]:
    """True and predicted final log perplexity on PTB, released features."""
    table = store.load(FINAL)
    loss = table.final("test_loss")
    known = ~np.isnan(loss)
    scores, true, predicted = analysis.r2_of_loss(table.features[known], loss[known], 1, seed)
    figures.plot_pairs(true, predicted, ("true", "predicted final test log perplexity"), out / "figure8")
    return [{"what": "R2 of the half shown", "n": len(true), "value": round(float(scores[0]), 3)}]


def table2(out: Path, trials: int | None, seed: int) -> list[Record]:
    """The best generated cells on PTB; LSTM, GRU and RNN are not in that table."""
    top = analysis.top_architectures(store.load(FINAL), 5)
    for record, (name, size, perplexity) in zip(top, TABLE2, strict=False):
        record |= {"published_as": name, "published_parameters": size, "published_perplexity": perplexity}
    return top


def figure11(out: Path, trials: int | None, seed: int) -> list[Record]:
    """The best generated cells whose recipes are here: those of WikiText-2."""
    table = store.load(WIKITEXT2)
    best = analysis.best_losses(table)
    conventional = {cells.key(c) for c in cells.EXAMPLES.values()}
    records: list[Record] = []
    named: dict[str, Cell] = {}
    for row in np.argsort(np.where(np.isnan(best), np.inf, best), kind="stable"):
        k = table.keys[row].split("#")[0]
        if k not in conventional and k not in [r["key"] for r in records]:
            named[f"#{len(named) + 1}"] = Cell.from_text(k)
            records.append(
                {
                    "what": f"#{len(named)}",
                    "key": k,
                    "test_perplexity": round(float(np.exp(best[row])), 1),
                    "parameters_on_ptb": f"{cells.parameters(Cell.from_text(k), cells.VOCABULARY['ptb']) / 1e6:.1f}M",
                }
            )
        if len(records) == 2:
            break
    figures.plot_cells(named, out / "figure11")
    return records


_PARTS: dict[str, Callable[[Path, int | None, int], list[Record]]] = {
    "table2": table2,
    "figure2": figure2,
    "figure4": figure4,
    "figure6": figure6,
    "figure7": figure7,
    "checks": checks,
    "figure8": figure8,
    "figure11": figure11,
}

MEASURED_ONLY = ("figure6",)
"""Parts that join two measured tables and mean nothing on embedded ones."""


def run(name: str, out: Path, trials: int | None, jobs: int, seed: int) -> None:
    """Runs one part; writes `{part}.csv` and prints what is in it."""
    if name in MEASURED_ONLY and (store.missing(FINAL) or store.missing(WIKITEXT2)):
        print(f"{name}: left out, it needs the measured tables (hpo-envs fetch nasbenchnlp)")
        return
    part = _PARTS[name]
    records = part(out, trials, seed)
    columns = list(dict.fromkeys(k for r in records for k in r))
    with open(out / f"{name}.csv", "w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, columns)
        writer.writeheader()
        writer.writerows(records)
    print(f"{name}: {(part.__doc__ or '').splitlines()[0]}")
    for record in records:
        print("  " + ", ".join(f"{k} {v}" for k, v in record.items()))


PARTS: dict[str, Callable[[Path, int | None, int, int], None]] = {name: functools.partial(run, name) for name in _PARTS}
"""Parts by name: `part(out, trials, jobs, seed)`; each writes its pictures and numbers into the folder."""
