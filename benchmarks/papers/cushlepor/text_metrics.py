"""Sentence BLEU and chrF of a measured table's rows, for comparison. Needs the text and the extra `mt`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from hpo_envs.tables import extras, store
from hpo_envs.tables.datasets.cushlepor import build as cushlepor

Floats = npt.NDArray[np.float64]


def texts(name: str = "cushlepor/ted-ende") -> tuple[list[str], list[str]]:
    """Hypotheses and references in the order of the table's rows.

    Raises:
        TableNotInstalled: The upstream files are not there.
    """
    segments = cushlepor.segments_of(name, store.read)
    return [s.hypothesis for s in segments], [s.reference for s in segments]


def sentence_scores(hypotheses: Sequence[str], references: Sequence[str]) -> dict[str, Floats]:
    """(segments,) sentence BLEU (exponential smoothing, effective order) and chrF in [0, 1], of sacrebleu.

    Raises:
        ModuleNotFoundError: sacrebleu is missing; the message says how to install it.
    """
    metrics = extras.module("sacrebleu.metrics", "mt", "sentence BLEU and chrF")
    pairs = list(zip(hypotheses, references, strict=True))
    found = {}
    for name, metric in (("sentence BLEU", metrics.BLEU(effective_order=True)), ("chrF", metrics.CHRF())):
        found[name] = np.array([metric.sentence_score(h, [r]).score / 100.0 for h, r in pairs])
    return found
