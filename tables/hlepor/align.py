"""What hLEPOR needs to know of a segment: lengths, matches, and position differences for each context width n."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hpo_envs.tables.table import one_of

Floats = npt.NDArray[np.float64]
Tokens = Sequence[str]

VARIANTS = ("paper", "relative", "released")
"""Readings of the n-gram position difference (NPD).

`paper`: the formula as printed (Han et al. 2021, section 2), the difference of word positions counted in words.
`relative`: positions divided by the length of their sentence, as the original hLEPOR and all released code do; the
alignment as described. `released`: the public Python package hLepor 0.0.4, its index arithmetic included (see
`_released_choice`); the published settings were tuned with it.
"""

_Choice = Callable[[list[str], list[str], int, list[int], int], int]

MAX_N = 8
"""Largest context width that is collected by default."""


@dataclass(frozen=True)
class Statistics:
    """Sufficient statistics of a corpus: all that a score depends on besides the parameters.

    Attributes:
        hypothesis_length: (segments,) float64, tokens.
        reference_length: (segments,) float64, tokens.
        matches: (segments,) float64, tokens that both sides share, counted with multiplicity.
        npd: (segments, max_n + 1) float64, NPD for n = 0, 1, ..., max_n.
        variant: One of `VARIANTS`, the reading of `npd`.
    """

    hypothesis_length: Floats
    reference_length: Floats
    matches: Floats
    npd: Floats
    variant: str = "paper"

    def __len__(self) -> int:
        return len(self.matches)


def check_variant(variant: str) -> str:
    """Returns one of `VARIANTS`."""
    return one_of("variant", variant, VARIANTS)


def collect(
    hypotheses: Sequence[Tokens], references: Sequence[Tokens], *, variant: str = "paper", max_n: int = MAX_N
) -> Statistics:
    """Collects the statistics of a corpus of tokenised segments.

    Raises:
        ValueError: Unequal numbers of segments, unknown variant, or `max_n` < 0.
    """
    return collect_variants(hypotheses, references, (check_variant(variant),), max_n=max_n)[variant]


def collect_variants(
    hypotheses: Sequence[Tokens],
    references: Sequence[Tokens],
    variants: Sequence[str] = VARIANTS,
    *,
    max_n: int = MAX_N,
) -> dict[str, Statistics]:
    """`collect` for several variants at once; those that align alike share the work."""
    if len(hypotheses) != len(references):
        raise ValueError(f"references must be as many as hypotheses, {len(hypotheses)}, got {len(references)}")
    if max_n != int(max_n) or max_n < 0:
        raise ValueError(f"max_n must be an int >= 0, got {max_n!r}")
    count, widths = len(hypotheses), int(max_n) + 1
    lengths = np.empty((3, count))
    npd = {variant: np.zeros((count, widths)) for variant in variants}
    for i, (hypothesis, reference) in enumerate(zip(map(list, hypotheses), map(list, references), strict=True)):
        shared = Counter(hypothesis) & Counter(reference)
        lengths[:, i] = len(hypothesis), len(reference), shared.total()
        # Identical segments have no differences; left-to-right matching with faults could invent some.
        if shared and hypothesis != reference:
            for variant, row in zip(variants, _npd(hypothesis, reference, shared, variants, widths), strict=True):
                npd[variant][i] = row
    h, r, a = lengths
    return {variant: Statistics(h, r, a, npd[variant], variant) for variant in variants}


def _npd(
    hypothesis: list[str], reference: list[str], shared: Counter[str], variants: Sequence[str], widths: int
) -> list[list[float]]:
    """NPD of one segment, (variants, widths); only words with several places in the reference depend on n."""
    where_h, where_r = _positions(hypothesis, shared), _positions(reference, shared)
    fixed = [(where_h[word][0], where_r[word][0]) for word in shared if len(where_r[word]) == 1]
    repeated = [(where_h[word], where_r[word]) for word in shared if len(where_r[word]) > 1]
    aligned: dict[_Choice, list[list[tuple[int, int]]]] = {}
    rows = []
    for variant in variants:
        choose: _Choice = _released_choice if variant == "released" else _described_choice
        if choose not in aligned:
            aligned[choose] = [
                [pair for h, r in repeated for pair in _align(hypothesis, reference, h, r, n, choose)]
                for n in range(widths if repeated else 1)
            ]
        h, r = (1, 1) if variant == "paper" else (len(hypothesis), len(reference))
        # fsum: exact, hence the same number in any order and under any version of Python.
        sums = [
            math.fsum(abs((i + 1) / h - (j + 1) / r) for i, j in itertools.chain(fixed, pairs))
            for pairs in aligned[choose]
        ]
        rows.append([total / len(hypothesis) for total in (sums if repeated else sums * widths)])
    return rows


def _align(
    hypothesis: list[str], reference: list[str], places: list[int], free: list[int], n: int, choose: _Choice
) -> list[tuple[int, int]]:
    """Pairs the places of one word, those in the hypothesis from left to right."""
    free = free.copy()
    pairs = []
    for i in places[: len(free)]:
        j = choose(hypothesis, reference, i, free, n)
        free.remove(j)
        pairs.append((i, j))
    return pairs


def _positions(tokens: list[str], shared: Counter[str]) -> dict[str, list[int]]:
    where: dict[str, list[int]] = {word: [] for word in shared}
    for i, token in enumerate(tokens):
        if token in where:
            where[token].append(i)
    return where


def _described_choice(hypothesis: list[str], reference: list[str], i: int, free: list[int], n: int) -> int:
    """Han et al. 2013: of the free places in the reference, those with a matching neighbour; of these the nearest.

    Occurrences in the hypothesis are served from left to right; on a tie of distances the earlier place wins.
    """
    around = set(hypothesis[max(i - n, 0) : i] + hypothesis[i + 1 : i + n + 1])
    confirmed = [j for j in free if not around.isdisjoint(reference[max(j - n, 0) : j] + reference[j + 1 : j + n + 1])]
    return min(confirmed or free, key=lambda j: abs(i - j))


def _released_choice(hypothesis: list[str], reference: list[str], i: int, free: list[int], n: int) -> int:
    """The choice of hLepor 0.0.4.

    Two faults are kept. The left context is `tokens[i - n : i]` also where i < n: Python counts the negative start
    from the end, which mostly leaves no left context. And the rank of the nearest confirmed place among the confirmed
    ones is looked up in the list of all free ones.
    """
    around = set(hypothesis[i - n : i] + hypothesis[i + 1 : i + n + 1])
    confirmed = [j for j in free if not around.isdisjoint(reference[j - n : j] + reference[j + 1 : j + n + 1])]
    candidates = confirmed or free
    distances = [abs(i - j) for j in candidates]
    return free[distances.index(min(distances))]
