"""`hpo-envs reproduce cushlepor`."""

from __future__ import annotations

import functools
import json
from pathlib import Path

import numpy as np
import numpy.typing as npt

from hpo_envs.benchmarks.papers import common
from hpo_envs.benchmarks.papers.common import Reproduction
from hpo_envs.benchmarks.papers.cushlepor import analysis, figures, settings
from hpo_envs.tables import hlepor, store
from hpo_envs.tables.datasets.cushlepor import text_metrics

Floats = npt.NDArray[np.float64]


def published(r: Reproduction) -> None:
    """The published numbers, and what of them can be shown."""
    computed = examples() | to_psqm()
    for (quantity,), p in common.expected("cushlepor").items():
        ours = computed.get(quantity)
        verdict: common.Verdict = "reported" if ours is None else p.judge(ours)
        needs = f"Not computed: {p.details['why not']}." if ours is None and p.details["why not"] else ""
        text = "" if ours is None else f"{ours:.5f}"
        r.compare_published(p.details["source"], quantity, p.text, text, verdict, needs)


def examples() -> dict[str, float]:
    """Scores of the examples in the package's documentation."""
    pairs = json.loads(Path(__file__).with_name("package_examples.json").read_text(encoding="utf-8"))
    scores = hlepor.score([p["hypothesis"] for p in pairs], [p["reference"] for p in pairs], variant="released")
    rows = {"guide": [0], "guide and army": [0, 1], "cities": [2], "cities and boom": [2, 3]}
    return {f"package example {name}": float(scores[some].mean()) for name, some in rows.items()}


def to_psqm() -> dict[str, float]:
    """RMSEs to the pSQM labels of newstest2020, English to German; nothing as long as the labels are not installed."""
    if store.missing(settings.PSQM):
        return {}
    table = store.load(settings.PSQM)
    found = rmses(analysis.Corpus.of(table))
    try:
        bleu = text_metrics.of_table(settings.PSQM)["sentence BLEU"]
    except ModuleNotFoundError as error:
        print(error)
        return found
    return {**found, "RMSE to pSQM of BLEU": analysis.rmse(bleu, table.values[:, 0, 0, 0])}


def rmses(corpus: analysis.Corpus) -> dict[str, float]:
    """RMSE of the default hLEPOR and of the published cushLEPOR(pSQM) on all segments."""
    presets = {"hLEPOR": "default", "cushLEPOR": "cushlepor-psqm-en-de"}
    return {
        f"RMSE to pSQM of {name}": analysis.rmse(scores(corpus, preset), corpus.human)
        for name, preset in presets.items()
    }


def scores(corpus: analysis.Corpus, preset: str) -> Floats:
    """HLEPOR of all segments."""
    return corpus.basis.scores(hlepor.preset(preset).vector())


def draw(r: Reproduction) -> None:
    """Figures 6 and 7: distributions of human scores, the default's and the published tuned ones'."""
    corpus = analysis.Corpus.of(store.load(settings.TABLE))
    shared = {"human (1 - MQM/25)": corpus.human, "hLEPOR, default": scores(corpus, "default")}
    panels = {
        "as figure 6: tuned on LaBSE": shared | {"cushLEPOR(LM)": scores(corpus, "cushlepor-lm-en-de")},
        "as figure 7: tuned on pSQM": shared | {"cushLEPOR(pSQM)": scores(corpus, "cushlepor-psqm-en-de")},
    }
    common.drawn(lambda: figures.distributions(panels, r.out / "score_distributions"))


PARTS: common.Parts = {"published": published, "figures": draw}

QUICK = 1
"""Trials of `--quick`."""

main = functools.partial(common.reproduce, "cushlepor", PARTS)
