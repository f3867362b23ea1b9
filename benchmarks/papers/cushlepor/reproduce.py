"""`hpo-envs reproduce cushlepor`."""

from __future__ import annotations

import functools
import json
from pathlib import Path

import numpy as np
import numpy.typing as npt

from hpo_envs.benchmarks.papers import common
from hpo_envs.benchmarks.papers.common import Record, Reproduction
from hpo_envs.benchmarks.papers.cushlepor import analysis, figures, settings
from hpo_envs.tables import hlepor, store
from hpo_envs.tables.datasets.cushlepor import text_metrics
from hpo_envs.tables.table import Table

Floats = npt.NDArray[np.float64]


def _of_table(name: str, table: Table, records: list[Record]) -> Record:
    """A part of the summary, which says what table it is about."""
    p = table.provenance
    print(f"{table.name}: {len(table)} segments, sha256 {p.sha256[:12]}")
    return {"table": {"name": table.name, "sha256": p.sha256}, name: records}


def published(r: Reproduction) -> Record:
    """The published numbers, and what of them can be shown."""
    examples = {
        "package example guide": ([0],),
        "package example guide and army": ([0, 1],),
        "package example cities": ([2],),
        "package example cities and boom": ([2, 3],),
    }
    pairs = json.loads(Path(__file__).with_name("package_examples.json").read_text(encoding="utf-8"))
    scores = hlepor.score([p["hypothesis"] for p in pairs], [p["reference"] for p in pairs], variant="released")
    records = []
    computed = {name: float(scores[rows].mean()) for name, (rows,) in examples.items()} | to_psqm()
    print("\npublished numbers")
    for (quantity,), p in common.expected("cushlepor").items():
        ours = computed.get(quantity)
        verdict = "reported" if ours is None else common.judge(ours - p.value, 0.5 * 10.0**-p.decimals)
        record = {"quantity": quantity, "published": p.text, **p.details, "ours": ours, "verdict": verdict}
        records.append(record)
        needs = f"Not computed: {p.details['why not']}." if ours is None and p.details["why not"] else ""
        text = "" if ours is None else f"{ours:.5f}"
        r.compare_published(p.details["source"], quantity, p.text, text, verdict, needs)
        beside = f"ours {ours:.5f}, {verdict}" if ours is not None else p.details["why not"] or "not computed"
        print(f"  {quantity:<48} {p.text:<8} {beside}")
    return _of_table("published", store.load(settings.TABLE), records)


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
        f"RMSE to pSQM of {name}": analysis.rmse(corpus.basis.scores(hlepor.preset(p).vector()), corpus.human)
        for name, p in presets.items()
    }


def draw(r: Reproduction) -> None:
    """Figures 6 and 7: distributions of human scores, the default's and the published tuned ones'."""
    corpus = analysis.Corpus.of(store.load(settings.TABLE))
    default = corpus.basis.scores(hlepor.preset("default").vector())
    shared = {"human (1 - MQM/25)": corpus.human, "hLEPOR, default": default}
    panels = {
        "as figure 6: tuned on LaBSE": {
            **shared,
            "cushLEPOR(LM)": corpus.basis.scores(hlepor.preset("cushlepor-lm-en-de").vector()),
        },
        "as figure 7: tuned on pSQM": {
            **shared,
            "cushLEPOR(pSQM)": corpus.basis.scores(hlepor.preset("cushlepor-psqm-en-de").vector()),
        },
    }
    common.drawn(lambda: figures.distributions(panels, r.out / "score_distributions"))


PARTS: common.Parts = {
    "published": published,
    "figures": draw,
}

PRINTED = ("published", "figures")
"""Parts with published numbers and figures, for `hpo-envs reproduce all`."""

QUICK = 1
"""Trials of `--quick`."""

main = functools.partial(common.reproduce, "cushlepor", PARTS, finish=common.write_summary)
