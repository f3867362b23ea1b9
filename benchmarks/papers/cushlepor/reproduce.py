"""`hpo-envs reproduce cushlepor`: the published numbers, and the distributions of figures 6 and 7."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from hpo_envs.benchmarks.papers import common
from hpo_envs.benchmarks.papers.common import Reproduction
from hpo_envs.benchmarks.plots import COLOURS
from hpo_envs.tables import hlepor, store
from hpo_envs.tables.datasets.cushlepor import agreement, build, semantic, text_metrics
from hpo_envs.tables.table import Floats, Table

TABLE = "cushlepor/ted-ende"
"""Table of the TED talks of WMT 2021, English to German."""

PSQM, NEWS = "cushlepor/newstest2020-ende-psqm", "cushlepor/newstest2021-ende-mqm"
"""Tables of the pSQM labels behind the paper's RMSEs, and of news of WMT 2021 with MQM scores."""

SETTINGS = {
    "pSQM": {"hLEPOR": "hlepor-en-de", "cushLEPOR": "cushlepor-psqm-en-de"},
    "LaBSE": {"hLEPOR": "hlepor-en-de", "cushLEPOR": "cushlepor-lm-en-de-first"},
}
"""Target -> settings of figures 3 and 5: the one that section 4 suggests for en-de, and the one tuned on the target."""


def published(r: Reproduction) -> None:
    """Compare each published number with ours, or note the data that it needs."""
    computed = examples() | to_psqm() | to_labse() | of_systems()
    for (quantity,), p in common.expected("cushlepor").items():
        ours, needs = computed.get(quantity), p.details["needs"]
        verdict: common.Verdict = ("not at hand" if needs else "never published") if ours is None else p.judge(ours)
        text, where = ("", f"{needs}." if needs else "") if ours is None else (f"{ours:.5f}", "")
        r.compare_published(p.details["source"], quantity, p.text, text, verdict, where)


def examples() -> dict[str, float]:
    """Return mean hLEPOR scores of the examples in the documentation of the released package, by name."""
    pairs = json.loads(Path(__file__).with_name("package_examples.json").read_text(encoding="utf-8"))
    scores = hlepor.score([p["hypothesis"] for p in pairs], [p["reference"] for p in pairs], variant="released")
    rows = {"guide": [0], "guide and army": [0, 1], "cities": [2], "cities and boom": [2, 3]}
    return {f"package example {name}": float(scores[some].mean()) for name, some in rows.items()}


def to_psqm() -> dict[str, float]:
    """Return RMSEs to the pSQM labels of newstest2020 en-de, also of BLEU if installed; empty without the labels."""
    if store.missing(PSQM):
        return {}
    table = store.load(PSQM)
    found = rmses(table, "pSQM")
    try:
        bleu = text_metrics.of_table(PSQM)["sentence BLEU"]
    except ModuleNotFoundError as error:
        print(error)
        return found
    return {**found, "RMSE to pSQM of BLEU": _rmse(bleu, human(table))}


def to_labse() -> dict[str, float]:
    """Return RMSEs to LaBSE's similarities on newstest2020 en-de; empty without the texts or the model."""
    table = semantic.of_news(PSQM)
    return {} if table is None else rmses(table, "LaBSE")


def of_systems() -> dict[str, float]:
    """Return the correlation of systems' means on rated segments of newstest2021; empty if these are not installed."""
    if store.missing(NEWS):
        return {}
    everything = agreement.Agreement(store.load(NEWS), held_out=())
    (found,) = everything.evaluate(np.array([hlepor.preset("cushlepor-lm-en-de").vector()]))
    return {"system-level Pearson of cushLEPOR(LM) en-de News": float(found["system_pearson"][0])}


def rmses(table: Table, target: str) -> dict[str, float]:
    """Return RMSEs of hLEPOR and of the published cushLEPOR to a table's first metric; `target`: see `SETTINGS`."""
    found = scores(table, SETTINGS[target])
    return {f"RMSE to {target} of {name}": _rmse(x, human(table)) for name, x in found.items()}


def _rmse(x: Floats, y: Floats) -> float:
    return float(np.sqrt(np.square(x - y).mean()))


def human(table: Table) -> Floats:
    """Return (segments,) human scores in [0, 1]; similarities on a table of `semantic.of_news`."""
    return table.values[:, 0, 0, 0]


def scores(table: Table, presets: Mapping[str, str]) -> dict[str, Floats]:
    """Return (segments,) hLEPOR scores in the variant `released` with presets of weights, by the keys of `presets`."""
    basis = hlepor.Basis(build.statistics(table, "released"))
    return {name: basis.scores(hlepor.preset(preset).vector()) for name, preset in presets.items()}


def figures(r: Reproduction) -> None:
    """Figures 6 and 7: distributions of human scores and of scores with default and published tuned weights."""
    r.draw("score_distributions", (4.2, 3.6), _draw_scores, store.load(TABLE), shape=(1, 2), sharey=True)


def _draw_scores(axes: Any, table: Table) -> None:
    """Draw histograms of segment scores, with numbers of segments on the y axis."""
    tuned = {"cushLEPOR(LM)": "cushlepor-lm-en-de", "cushLEPOR(pSQM)": "cushlepor-psqm-en-de"}
    found = {"human (1 - MQM/25)": human(table), **scores(table, {"hLEPOR, default": "default", **tuned})}
    edges = np.linspace(0.0, 1.0, 41)
    titles = ("as figure 6: tuned on LaBSE", "as figure 7: tuned on pSQM")
    for axis, title, one in zip(axes, titles, tuned, strict=True):
        for name, colour in zip(("human (1 - MQM/25)", "hLEPOR, default", one), COLOURS, strict=False):
            counts, _ = np.histogram(found[name], edges)
            axis.stairs(counts, edges, color=colour, label=name, linewidth=1.6)
        axis.set(xlabel="score", title=title)
        axis.set_yscale("symlog", linthresh=10)
        axis.grid(alpha=0.3)
        axis.legend(frameon=False, fontsize=8)
    axes[0].set_ylabel("segments")


PARTS: common.Parts = {"published": published, "figures": figures}
