"""Sentence BLEU and chrF of a table's rows, for comparison with hLEPOR."""

from collections.abc import Sequence

import numpy as np

from hpo_envs.tables import store
from hpo_envs.tables.checks import extra_module
from hpo_envs.tables.datasets.cushlepor import build
from hpo_envs.tables.files import packs
from hpo_envs.tables.table import Floats

PACKED = ("cushlepor/ted-ende",)
"""Tables whose packs hold the scores."""

DECIMALS = 6
"""Decimals of the packed scores."""

TEXT_METRICS = ("sentence BLEU", "chrF")


def of_table(name: str) -> dict[str, Floats]:
    """(rows,) scores of a table's translations, as in `sentence_scores`, from its pack or its fetched text.

    Raises:
        TableNotInstalled: The scores do not ship, and the table's files are not installed.
        ModuleNotFoundError: See `sentence_scores`.
    """
    if name in PACKED:
        data = packs.read(build.pack(name))
        return {score: packs.unscaled(data[score], DECIMALS) for score in TEXT_METRICS}
    segments = build.segments_of(name, store.read)
    return sentence_scores([s.hypothesis for s in segments], [s.reference for s in segments])


def sentence_scores(hypotheses: Sequence[str], references: Sequence[str]) -> dict[str, Floats]:
    """(segments,) sentence BLEU (exponential smoothing, effective order) and chrF, in [0, 1]; needs sacrebleu."""
    metrics = extra_module("sacrebleu.metrics", "mt", "sentence BLEU and chrF")
    pairs = list(zip(hypotheses, references, strict=True))
    found = {}
    for name, metric in zip(TEXT_METRICS, (metrics.BLEU(effective_order=True), metrics.CHRF()), strict=True):
        found[name] = np.array([metric.sentence_score(h, [r]).score / 100.0 for h, r in pairs])
    return found
