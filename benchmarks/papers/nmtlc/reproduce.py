"""`hpo-envs reproduce nmtlc`: the released curves, and the questions of the paper on each of the eight tables.

The text of the paper is not available: its questions are known from its title, data and code, but not its numbers.
"""

import itertools
from typing import Any

import numpy as np

from hpo_envs.benchmarks import runs
from hpo_envs.benchmarks.analysis import regret
from hpo_envs.benchmarks.papers import common
from hpo_envs.benchmarks.papers.common import Record, Reproduction
from hpo_envs.benchmarks.papers.nmtlc import analysis
from hpo_envs.benchmarks.plots import COLOURS
from hpo_envs.tables import store
from hpo_envs.tables.datasets.nmtlc import CORPORA
from hpo_envs.tables.table import Table

DRAWS, ROWS = 200, 81
"""Random starts of each setting, and rows of each: as many as there are, if fewer."""

ETAS, MINIMA = (2.0, 3.0, 4.0), (1 / 64, 1 / 16, 1 / 4)
"""Reduction factors, and first rungs as shares of the longest training."""

SHARES = (1 / 64, 1 / 32, 1 / 16, 1 / 8, 1 / 4, 1 / 2, 1.0)
"""Fractions of training at which the winner's rank is computed."""

AGENTS: dict[str, tuple[str, dict[str, Any]]] = {
    "random": ("random", {}), "halving, last value": ("successive-halving", {"score": "last"}),
    "halving, best value": ("successive-halving", {"score": "best"}), "asha": ("asha", {}),
    "freeze-thaw": ("freeze-thaw", {}), "curve-ranker": ("curve-ranker", {}),
}  # fmt: skip

ELSEWHERE = ("CharMiniLC-hun-lstm-v0", "CharMiniLC-jpn-transformer-v0", "TaskSetLC-lstm128-v0", "CellMiniLC-v0")
"""Ids outside NMTLC, on whose curves no network was trained."""


def table_of(corpus: str) -> Table:
    """Load the table of a corpus."""
    return store.load(f"nmtlc/{corpus}")


def metrics(table: Table) -> tuple[str, ...]:
    """Return the criteria for survivors: perplexity, and BLEU if it was measured; the last one is the final metric."""
    return tuple(m for m in ("perplexity", "bleu") if m in table.metric_names)


def released(r: Reproduction) -> None:
    """The counts in upstream's README."""
    kinds = {c: "fine-tuned" if task == "finetune" else "from scratch" for c, (task, *_) in CORPORA.items()}
    sizes = {f"configurations {s}-{t} {kinds[c]}": len(table_of(c)) for c, (_, s, t) in CORPORA.items()}
    found = {"learning curves": sum(sizes.values()), "corpora": len(sizes), **sizes}
    for (where, quantity), p in common.expected("nmtlc").items():
        if needs := p.details["needs"]:
            r.compare_published(where, quantity, p.text, "", "never published", needs)
        else:
            r.compare_published(where, quantity, p.text, str(found[quantity]), p.judge(found[quantity]))


def halving(r: Reproduction) -> list[Record]:
    """Mean regret, and cost as a fraction of complete trainings, by reduction factor, first rung and criterion."""
    return [*itertools.chain(*r.map(_settings, [(c, r.seeds(DRAWS)) for c in CORPORA], "halving", "table"))]


def _settings(corpus: str, seeds: range) -> list[Record]:
    table, rows = table_of(corpus), []
    names, levels = metrics(table), np.asarray(table.levels, float)
    of = {name: analysis.curves(table, name) for name in names}
    final = of[names[-1]].max(axis=1)
    for (name, by), best, eta, minimum in itertools.product(of.items(), (False, True), ETAS, MINIMA):
        found = []
        for seed in seeds:
            start = np.random.default_rng(seed).permutation(len(final))[:ROWS]
            survivors, spent = analysis.halve(by, levels, start, eta, minimum, best)
            found.append((float(regret.of_rows(final)[survivors[0]]), spent / len(start)))
        mean, cost = np.mean(found, axis=0)
        row = {"corpus": corpus, "chosen by": name, "value": "best" if best else "last", "eta": f"{eta:g}"}
        rows.append(row | {"first rung": f"1/{1 / minimum:g}", "regret": f"{mean:.4f}", "cost": f"{cost:.4f}"})
    return rows


def survivors(r: Reproduction) -> list[Record]:
    """Fraction of systems ahead of the final winner at each of `SHARES`; the winner survives a rung only if they do."""
    rows: list[Record] = []
    drawn: dict[str, list[float]] = {}
    for corpus in CORPORA:
        table = table_of(corpus)
        levels, names = np.asarray(table.levels, float), metrics(table)
        final = analysis.curves(table, names[-1]).max(axis=1)
        for name in names:
            by = np.maximum.accumulate(analysis.curves(table, name), axis=1)
            at = analysis.level_at(levels, np.array(SHARES) * levels[-1])
            ahead = [analysis.rank_of_winner(by, final, level) for level in at]
            drawn[corpus if len(names) == 1 else f"{corpus}, {name}"] = ahead
            shares = {f"at 1/{1 / s:g}": f"{a:.3f}" for s, a in zip(SHARES, ahead, strict=True)}
            rows.append({"corpus": corpus, "ordered by": name, **shares})
    r.draw("survivors", (4.8, 4.0), _draw, drawn, shape=(1, 2), sharey=True)
    return rows


def _draw(axes: Any, drawn: dict[str, list[float]]) -> None:
    for axis, tuned in zip(axes, (False, True), strict=True):
        chosen = [(name, ahead) for name, ahead in drawn.items() if name.startswith("ft-") == tuned]
        for (name, ahead), colour in zip(chosen, COLOURS, strict=False):
            axis.plot(SHARES, ahead, ".-", color=colour, label=name)
        kept = [MINIMA[0] / s / 3.0 for s in SHARES]
        axis.plot(SHARES, kept, "--", color="0.5", label="kept by eta 3 from 1/64 on")
        axis.set(xscale="log", xlabel="share of the longest training", title="fine-tuned" if tuned else "from scratch")
        axis.legend(frameon=False, fontsize=8)
    axes[0].set_ylabel("systems ahead of the final winner")


def agents(r: Reproduction) -> list[Record]:
    """Mean normalised regret at half of the cost of a run and at its end; the ranker learned on other languages."""
    ids = [*(f"NMTLC-{corpus}-v0" for corpus in CORPORA), *ELSEWHERE]
    rows: list[Record] = [{"id": i} for i in ids]
    for name, (agent, given) in AGENTS.items():
        done = r.map(_regret, [(i, agent, given, list(r.seeds(20))) for i in ids], name, "id")
        for row, (half, final) in zip(rows, done, strict=True):
            row[name] = f"{half:.3f} / {final:.3f}"
        r.write("agents", rows)
    return rows


def _regret(env_id: str, agent: str, given: dict[str, Any], seeds: list[int]) -> tuple[float, float]:
    found = []
    for run in runs.run(agent, env_id, seeds, **given):
        curve, spent = regret.after(run), np.cumsum(run.costs)
        found.append((curve[max(int(np.searchsorted(spent, spent[-1] / 2, side="right")) - 1, 0)], curve[-1]))
    half, final = np.mean(found, axis=0)
    return float(half), float(final)


PARTS: common.Parts = {"released": released, "halving": halving, "survivors": survivors}

STUDIES: common.Parts = {"agents": agents}
"""Parts without published numbers that take minutes, run by name alone."""

QUICK = 5
"""Trials of `--quick`."""
