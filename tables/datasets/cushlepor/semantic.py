"""Semantic similarity as a target instead of human scores: LaBSE (Feng et al. 2022), towards which the paper tuned.

Similarities are computed from text, from upstream's files or a user's, never from a pack. The model has 1.9 GB and is
downloaded by its own package: `pip install sentence-transformers`.
"""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from hpo_envs.tables import store
from hpo_envs.tables.datasets.cushlepor import build
from hpo_envs.tables.datasets.cushlepor.text import Segment
from hpo_envs.tables.table import Floats, Table


def load(model: str = "sentence-transformers/LaBSE", *, local: bool = False) -> Any:
    """Load a sentence encoder by its name on the Hub or its folder; with `local`, only one that is on this machine.

    Raises:
        ModuleNotFoundError: sentence-transformers is missing.
        OSError: The model does not exist or, with `local`, was not downloaded.
    """
    try:
        package = importlib.import_module("sentence_transformers")
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(f"{model} needs {error.name}: pip install sentence-transformers") from None
    return package.SentenceTransformer(model, device="cpu", local_files_only=local)


def similarities(encoder: Any, hypotheses: Sequence[str], references: Sequence[str]) -> Floats:
    """(segments,) cosine similarity of translation and reference, in [0, 1]: a negative one is 0."""
    texts = list(dict.fromkeys((*hypotheses, *references)))
    vectors = encoder.encode(texts, normalize_embeddings=True, convert_to_numpy=True, show_progress_bar=False)
    of = dict(zip(texts, np.asarray(vectors, np.float64), strict=True))
    cosines = [float(of[h] @ of[r]) for h, r in zip(hypotheses, references, strict=True)]
    return np.asarray(np.clip(cosines, 0.0, 1.0), np.float64)


def table(segments: Sequence[Segment], name: str, encoder: Any) -> Table:
    """Build a table of segments with text (`build.segments_of`), whose human scores are replaced by similarities."""
    scores = similarities(encoder, [s.hypothesis for s in segments], [s.reference for s in segments])
    changed = [dataclasses.replace(s, human=float(x)) for s, x in zip(segments, scores, strict=True)]
    return build.from_segments(changed, name, None, build.provenance("the first reference, towards a sentence encoder"))


def of_news(name: str) -> Table | None:
    """Table of a test set of news with LaBSE as target, or None if its files or the model are not on this machine."""
    if store.missing(name):
        return None
    try:
        encoder = load(local=True)
    except (ModuleNotFoundError, OSError):
        return None
    return table(build.segments_of(name, store.read), f"{name}-labse", encoder)
