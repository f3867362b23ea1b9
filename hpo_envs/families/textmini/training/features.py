"""N-grams of texts as numbers: counted once, then selected and weighted for each training set, bit-identically."""

import functools
import time
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer

from hpo_envs.tables import exact
from hpo_envs.tables.datasets.textmini import tasks

WEIGHT_BITS = 24
"""Significant bits of a weight: fewer than processors agree on."""


class Counted(NamedTuple):
    """(texts, n-grams) concatenated counts of all parts, and CPU seconds per text."""

    counts: sparse.csr_matrix
    seconds: float


@functools.lru_cache(maxsize=1)
def counted(task: str, analyzer: str, shortest: int, longest: int, lowercase: bool) -> Counted:
    """Count the n-grams of a task's texts; cached, as repeats differ in texts and not in n-grams."""
    texts = [text for part in tasks.of(task).parts().values() for text, _ in part]
    start = time.process_time()
    pattern = {"token_pattern": r"(?u)\b\w+\b|[^\w\s]"} if analyzer == "word" else {}
    vectorizer = CountVectorizer(analyzer=analyzer, ngram_range=(shortest, longest), lowercase=lowercase, **pattern)
    counts = vectorizer.fit_transform(texts)
    return Counted(counts, (time.process_time() - start) / len(texts))


def count(task: str, config: Mapping[str, Any]) -> Counted:
    """Count the n-grams that a configuration uses, see `counted`."""
    if config["analyzer"] == "word":
        shortest, _, longest = config["word_ngrams"].partition("-")
        ends = int(shortest), int(longest or shortest)
    else:
        ends = config["char_shortest"], max(config["char_shortest"], config["char_longest"])
    return counted(task, config["analyzer"], *ends, config["lowercase"])


def select(train: sparse.csr_matrix, config: Mapping[str, Any]) -> npt.NDArray[np.int64]:
    """Return sorted columns of the most frequent n-grams, at most `max_features`, in `min_frequency` or more texts."""
    texts = np.bincount(train.indices, minlength=train.shape[1])
    kept = np.flatnonzero(texts >= config["min_frequency"])
    times = np.bincount(train.indices, train.data, train.shape[1])[kept]
    return np.sort(kept[np.argsort(-times, kind="stable")[: config["max_features"]]])


def weigh(counts: sparse.csr_matrix, train: sparse.csr_matrix, config: Mapping[str, Any]) -> sparse.csr_matrix:
    """Return the weights of (texts, n-grams) counts; `train`, the counts of the training texts, are for `idf`."""
    weights = counts.astype(np.float64)
    if config["sublinear"]:
        weights.data = 1.0 + exact.log(weights.data)
    if config["idf"]:
        texts = np.bincount(train.indices, minlength=train.shape[1])
        weights.data *= (exact.log((1.0 + train.shape[0]) / (1.0 + texts)) + 1.0)[weights.indices]
    if config["norm"] != "none":
        square = config["norm"] == "l2"
        rows = np.repeat(np.arange(weights.shape[0]), np.diff(weights.indptr))
        norms = np.bincount(rows, weights.data**2 if square else weights.data, weights.shape[0])
        weights.data /= (np.sqrt(norms) if square else norms)[rows]
    weights.data = exact.rounded(weights.data, WEIGHT_BITS)
    return weights
