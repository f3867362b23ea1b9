"""graph2vec (Narayanan et al. 2017): vectors of cells, learned by predicting their subtrees.

The document of a cell is its Weisfeiler-Lehman subtrees; its vector is trained as a distributed bag of words with
negative sampling. Upstream trains vectors of 50 dimensions on the same words of all 14,322 cells by distributed memory
with hierarchical softmax (Doc2Vec, 100 epochs, `make_arch_embeddings.ipynb`).
"""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from hpo_envs.tables.cells.features import words
from hpo_envs.tables.cells.recipe import Cell
from hpo_envs.tables.table import Floats

PASSES, RATE, NEGATIVE = 100, 0.05, 5
"""Passes over all words, Adam's step size, and negative samples per word of a document."""


def embed(sample: Sequence[Cell], size: int, seed: int, epochs: int = PASSES) -> Floats:
    """Return (cells, size) vectors, trained on the 4,096 most frequent words of these cells.

    The objective is the expectation of negative sampling: sum_w n_dw log s(u_d v_w) + k n_d p_w log s(-u_d v_w) with
    the count n_dw of a word in a document, the document's length n_d, and p_w proportional to the word's
    frequency^0.75.
    """
    documents = [words(cell) for cell in sample]
    frequent = Counter(word for d in documents for word in d).most_common(4096)
    index = {word: i for i, (word, _) in enumerate(frequent)}
    counts = np.zeros((len(documents), len(index)))
    for row, document in zip(counts, documents, strict=True):
        np.add.at(row, [index[word] for word in document if word in index], 1.0)
    chance = counts.sum(axis=0) ** 0.75
    drawn = NEGATIVE * counts.sum(axis=1, keepdims=True) * (chance / chance.sum())
    rng = np.random.default_rng(seed)
    u, v = rng.uniform(-0.5, 0.5, (len(documents), size)) / size, np.zeros((len(index), size))
    moments = [np.zeros_like(x) for x in (u, u, v, v)]
    for epoch in range(1, epochs + 1):
        s = 1.0 / (1.0 + np.exp(-(u @ v.T)))
        slope = counts * (1.0 - s) - drawn * s
        gradients = slope @ v, slope.T @ u
        for x, gradient, first, second in zip((u, v), gradients, moments[::2], moments[1::2], strict=True):
            first += 0.1 * (gradient - first)
            second += 0.001 * (gradient**2 - second)
            x += RATE * first / (1 - 0.9**epoch) / (np.sqrt(second / (1 - 0.999**epoch)) + 1e-8)
    return np.asarray(u)
