"""Reproduction of the paper's figures and tables, as far as the released data allow.

The runs of figure 3 (choice of hyperparameters) were not released; figures 9 and 13 (word similarity) and Table 3
(GLUE) need the weights of the models (linked in upstream's README).
"""

import dataclasses
import functools
from collections.abc import Sequence
from typing import Any

import gymnasium as gym
import numpy as np

from hpo_envs.agents import AGENTS
from hpo_envs.benchmarks import runs
from hpo_envs.benchmarks.papers import common
from hpo_envs.benchmarks.papers.common import Record, Reproduction
from hpo_envs.benchmarks.papers.nasbenchnlp import analysis, figures, graph2vec, numbers, settings
from hpo_envs.tables import cells, store
from hpo_envs.tables.cells.recipe import Cell
from hpo_envs.tables.datasets.nasbenchnlp.build import paired_losses
from hpo_envs.tables.frames import natural
from hpo_envs.tables.table import Table

EPOCHS = (5, 10, 25, 50)
"""Epochs of figure 5."""


def load(name: str) -> Table:
    """Load a table with its rows in upstream's order, on which the random splits and samples depend."""
    return natural(store.load(name))


@functools.cache
def embedded(dataset: str) -> Table:
    """Load the curves of `wikitext2` or `ptb` with 50 more features: graph2vec, each scaled to [0, 1]; cached."""
    table = load(f"nasbenchnlp/{dataset}")
    x = graph2vec.embed([Cell.from_text(key.split("#")[0]) for key in table.keys], 50, 0)
    features = np.hstack([table.features, (x - x.min(axis=0)) / np.ptp(x, axis=0)])
    names = (*table.feature_names, *(f"{settings.GRAPH}{i:02d}" for i in range(50)))
    provenance = dataclasses.replace(table.provenance, sha256="")
    return dataclasses.replace(table, features=features, feature_names=names, provenance=provenance)


def figure2(r: Reproduction) -> list[Record]:
    """The conventional cells."""
    r.draw("figure2", (4.5, 6.5), figures.plot_cells, cells.EXAMPLES, shape=(1, len(cells.EXAMPLES)))
    vocabulary = cells.VOCABULARY["ptb"]
    return [
        {"cell": name, "nodes": len(c.nodes), "parameters": f"{cells.parameters(c, vocabulary) / 1e6:.2f}M"}
        for name, c in cells.EXAMPLES.items()
    ]


def figure4(r: Reproduction) -> list[Record]:
    """Parameters, time and perplexity on WikiText-2 (the paper: on PTB)."""
    table = load(numbers.WIKITEXT2)
    best, size = analysis.best_losses(table), table.final("parameters")
    hours = np.nanmax(table.cost.reshape(len(table), -1), axis=1) / 3600
    known = ~np.isnan(best)
    index = {name: i for i, name in enumerate(np.array(table.keys)[known])}
    marked = {name: index[k] for name, c in cells.EXAMPLES.items() if (k := cells.key(c)) in index}
    shown = size[known], hours[known], np.exp(best[known])
    r.draw("figure4", (4.5, 3.6), figures.plot_metrics, *shown, marked, shape=(1, 2))
    return [
        {"what": "parameters and best test loss", **analysis.correlations(size, best)},
        {"what": "hours and best test loss", **analysis.correlations(hours, best)},
        {"what": "parameters and hours", **analysis.correlations(size, hours)},
        *({"what": f"rank of {rank.pop('cell')}", **rank} for rank in analysis.ranks_of_examples(table)),
    ]


def figure6(r: Reproduction) -> list[Record]:
    """Final losses of the recipes trained on both data sets."""
    x, y = paired_losses(load(numbers.WIKITEXT2), load(numbers.FINAL))
    labels = ("PTB, final test log perplexity", "WikiText-2, final test log perplexity")
    r.draw("figure6", (4.5, 3.6), figures.plot_pairs, y, x, labels)
    return [{"what": "PTB and WikiText-2", **analysis.correlations(x, y)}]


def figure7(r: Reproduction) -> list[Record]:
    """Upper bounds of edit distances between trained cells."""
    sample = [Cell.from_text(k) for k in dict.fromkeys(k.split("#")[0] for k in load(numbers.WIKITEXT2).keys)]
    found = analysis.edit_distances(sample, r.trials or settings.PAIRS, r.seed, seconds=0.05)
    r.draw("figure7", (4.5, 3.6), figures.plot_histogram, found, "upper bound of the graph edit distance")
    quantiles = {f"q{q}": float(np.quantile(found, q / 100)) for q in (5, 25, 50, 75, 95)}
    return [{"what": "edit distance", "pairs": len(found), "mean": round(float(found.mean()), 1), **quantiles}]


def figure8(r: Reproduction) -> list[Record]:
    """True and predicted final log perplexity on PTB, released features."""
    table = load(numbers.FINAL)
    loss = table.final("test_loss")
    known = ~np.isnan(loss)
    scores, true, predicted = numbers.r2_of_loss(table.features[known], loss[known], 1, r.seed)
    labels = ("true", "predicted final test log perplexity")
    r.draw("figure8", (4.5, 3.6), figures.plot_pairs, true, predicted, labels)
    return [{"what": "R2 of the half shown", "n": len(true), "value": round(float(scores[0]), 3)}]


def table2(r: Reproduction) -> list[Record]:
    """The best generated cells on PTB; LSTM, GRU and RNN are not in that table."""
    top = analysis.top_architectures(load(numbers.FINAL), 5)
    published = common.expected("nasbenchnlp")
    for name, record in zip(("Top-2", "Top-4"), top, strict=False):
        size, perplexity = (published["Table 2", f"{name} {q}"] for q in ("parameters", "perplexity"))
        record |= {"published_as": name, "published_parameters": size.text, "published_perplexity": perplexity.value}
    return top


def figure11(r: Reproduction) -> list[Record]:
    """The two best generated cells with released recipes: those of WikiText-2."""
    conventional = [cells.key(c) for c in cells.EXAMPLES.values()]
    best = analysis.of_cells(load(numbers.WIKITEXT2)).drop(conventional, errors="ignore").nsmallest(2)
    named = {f"#{i}": Cell.from_text(key) for i, key in enumerate(best.index, start=1)}
    r.draw("figure11", (4.5, 6.5), figures.plot_cells, named, shape=(1, len(named)))
    records: list[Record] = []
    for (name, cell), loss in zip(named.items(), best, strict=True):
        size = f"{cells.parameters(cell, cells.VOCABULARY['ptb']) / 1e6:.1f}M"
        record = {"what": name, "key": cells.key(cell), "test_perplexity": round(float(np.exp(loss)), 1)}
        records.append(record | {"parameters_on_ptb": size})
    return records


def run_method(method: settings.Method, preset: str, seeds: Sequence[int], dataset: str) -> list[runs.Run]:
    """Run a method of a preset (name in `settings.PRESETS`) once per seed on `wikitext2` or `ptb`; return the runs.

    Random search ends once it has trained every cell.
    """
    trained = method.hyperparameters.get("features") == settings.GRAPH
    table = embedded(dataset) if trained else load(f"nasbenchnlp/{dataset}")
    env = {"table": table, "shuffle": False, "variant": settings.VARIANT[preset], **method.env}
    spec = f"NASBenchNLP-{dataset}-v0"
    if preset == "sensible":
        atomic: Any = gym.make(spec, table=env["table"]).unwrapped
        env["budget"] = atomic.budget * settings.BUDGET / 20  # the default is 20 full trainings
    if method.agent != "random":
        return runs.run(method.agent, spec, seeds, env_kwargs=env, **method.hyperparameters)
    found: list[runs.Run] = []
    for seed in seeds:
        target = functools.partial(_all_seen, set(), len(table))
        found += runs.run("random", spec, [seed], env_kwargs=env, target=target, **method.hyperparameters)
    return found


def _all_seen(seen: set[int], count: int, action: Any, reward: float) -> bool:
    """Add a cell to `seen`; return whether all `count` cells were trained, so that further steps have no effect."""
    seen.add(int(action[0]))
    return len(seen) == count


def compare(r: Reproduction, preset: str, dataset: str = "wikitext2") -> list[Record]:
    """Draw figures 10 and 12 of a preset (name in `settings.PRESETS`) on `wikitext2` or `ptb`; return a row per method.

    A method whose package is missing is left out with a message.
    """
    seeds, table = list(r.seeds(settings.TRIALS)), load(f"nasbenchnlp/{dataset}")
    given: dict[str, Any] = {"table": table, "budget": None, "variant": settings.VARIANT[preset]}
    replay: Any = gym.make(f"NASBenchNLP-{dataset}-v0", **given).unwrapped
    best = analysis.lowest(table)
    methods = [m for m in settings.PRESETS[preset] if AGENTS[m.agent].installed]
    for m in settings.PRESETS[preset]:
        if m not in methods:
            print(f'{m.name} is left out: {m.agent} needs pip install "hpo_envs[optuna]"')
    todo = [(m, preset, seeds, dataset) for m in methods]
    played = r.map(run_method, todo, f"figure 10, {preset}", "method")
    traces = {m.name: [analysis.trace(run, replay) for run in runs] for m, runs in zip(methods, played, strict=True)}
    rows = [analysis.summary(m.name, traces[m.name], best, settings.HOURS) for m in methods]
    title = f"{dataset}, {preset} settings, {len(seeds)} trials"
    for figure, plot in (("figure10", figures.plot_regret), ("figure12", figures.plot_final)):
        r.draw(f"{figure}-{dataset}-{preset}", (7, 4.4), plot, traces, best, title)
    return [{"dataset": dataset, "preset": preset, **row} for row in rows]


def _datasets() -> list[str]:
    """Return the data sets of the figures: `wikitext2` and, if its full logs are installed (else a message), `ptb`."""
    if not store.missing("nasbenchnlp/ptb"):
        return ["wikitext2", "ptb"]
    print("PTB is left out: its curves need the full logs, `hpo-envs fetch nasbenchnlp-ptb-logs`")
    return ["wikitext2"]


def figure5(r: Reproduction) -> list[Record]:
    """Rank correlation of the validation loss at epochs 5, 10, 25 and 50 with the final test loss."""
    rows = []
    for dataset in _datasets():
        table = store.load(f"nasbenchnlp/{dataset}")
        r.draw(f"figure5-{dataset}", (3, 3), figures.plot_ranks, table, EPOCHS, shape=(1, len(EPOCHS)), sharey=True)
        rows += [{"dataset": dataset, **row} for row in analysis.epoch_correlations(table, EPOCHS)]
    return rows


def figure10(r: Reproduction) -> list[Record]:
    """Figures 10 and 12: regret against simulated hours, in both presets."""
    return [row for dataset in _datasets() for preset in settings.PRESETS for row in compare(r, preset, dataset)]


PARTS: common.Parts = {"numbers": numbers.compare} | {
    part.__name__: part for part in (table2, figure2, figure4, figure6, figure7, figure8, figure11, figure5, figure10)
}
