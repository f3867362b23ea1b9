"""Statistics of segments for hLEPOR: lengths, matches, and position differences per context width n."""

import functools
import itertools
import math
import operator
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from hpo_envs.tables import Floats
from hpo_envs.tables.checks import one_of
from hpo_envs.tables.table import is_number

Tokens = Sequence[str]

VARIANTS = ("paper", "relative", "released")
"""Readings of the n-gram position difference (NPD).

`paper`: the formula as printed (Han et al. 2021, section 2), the difference of word positions counted in words.
`relative`: positions divided by the length of their sentence, as the original hLEPOR and all released code do; the
alignment as described. `released`: the public Python package hLepor 0.0.4, its index arithmetic included (see
`_released_choice`); the published settings were tuned with it.
"""

_Choice = Callable[[int, list[int], list[int]], int]
"""Function that matches a position in the hypothesis to a free one in the reference."""
_Contexts = dict[int, list[int]]
"""Context words of each position: for each n, an integer with one bit per shared word."""

MAX_N = 8
"""Largest context width that is collected by default."""


@dataclass(frozen=True)
class Statistics:
    """Sufficient statistics of a corpus: scores depend only on these and the parameters.

    Attributes:
        hypothesis_length: (segments,) float64, number of tokens.
        reference_length: (segments,) float64, number of tokens.
        matches: (segments,) float64, number of shared tokens, counted with multiplicity.
        npd: (segments, max_n + 1) float64, NPD for n = 0, 1, ..., max_n; in words if `paper`, else relative to lengths.
        variant: One of `VARIANTS`, the form of `npd`.
    """

    hypothesis_length: Floats
    reference_length: Floats
    matches: Floats
    npd: Floats
    variant: str = "paper"

    def __len__(self) -> int:
        return len(self.matches)


def collect(
    hypotheses: Sequence[Tokens], references: Sequence[Tokens], *, variant: str = "paper", max_n: int = MAX_N
) -> Statistics:
    """Collect the statistics of a corpus of tokenised segments; for errors see `collect_variants`."""
    return collect_variants(hypotheses, references, (variant,), max_n=max_n)[variant]


def collect_variants(
    hypotheses: Sequence[Tokens], references: Sequence[Tokens], variants: Sequence[str] = VARIANTS, *,
    max_n: int = MAX_N,
) -> dict[str, Statistics]:  # fmt: skip
    """Collect the statistics of several variants, by variant; those with the same alignment share the work.

    Raises:
        ValueError: Unequal numbers of segments, unknown variant, or `max_n` is not an int >= 0.
    """
    variants = [one_of("variant", v, VARIANTS) for v in variants]
    if len(hypotheses) != len(references):
        raise ValueError(f"references must be as many as hypotheses, {len(hypotheses)}, got {len(references)}")
    if not is_number(max_n) or max_n % 1 or max_n < 0:
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
    """(variants, widths) NPD of one segment; n only affects how words that repeat in the reference are aligned."""
    where_h, where_r = _positions(hypothesis, shared), _positions(reference, shared)
    fixed = [(where_h[word][0], where_r[word][0]) for word in shared if len(where_r[word]) == 1]
    repeated = [(where_h[word], where_r[word]) for word in shared if len(where_r[word]) > 1]
    bit = {word: 1 << k for k, word in enumerate(shared)}
    sides = [[bit.get(token, 0) for token in tokens] for tokens in (hypothesis, reference)]
    aligned: dict[_Choice, list[list[tuple[int, int]]]] = {}
    rows = []
    for variant in variants:
        choose, around = _RELEASED if variant == "released" else _DESCRIBED
        if choose not in aligned:
            near = [
                {place: around(side, place, widths) for pair in repeated for place in pair[k]}
                for k, side in enumerate(sides)
            ]
            aligned[choose] = [
                [pair for h, r in repeated for pair in _align(h, r, near[0], near[1], n, choose)]
                for n in range(widths if repeated else 1)
            ]
        h, r = (1, 1) if variant == "paper" else (len(hypothesis), len(reference))
        sums: dict[tuple[tuple[int, int], ...], float] = {}  # most widths align alike
        for pairs in map(tuple, aligned[choose]):
            if pairs not in sums:
                # fsum: exact, hence the same number in any order and under any version of Python.
                sums[pairs] = math.fsum([abs((i + 1) / h - (j + 1) / r) for i, j in itertools.chain(fixed, pairs)])
        found = [sums[tuple(pairs)] / len(hypothesis) for pairs in aligned[choose]]
        rows.append(found if repeated else found * widths)
    return rows


def _align(
    places: list[int], free: list[int], near_h: _Contexts, near_r: _Contexts, n: int, choose: _Choice
) -> list[tuple[int, int]]:
    """Pair positions of a word in the hypothesis, from left to right, with free ones in the reference, if any."""
    free = free.copy()
    pairs = []
    for i in places[: len(free)]:
        if len(free) > 1:
            around = near_h[i][n]
            j = choose(i, free, [k for k in free if around & near_r[k][n]])
        else:
            j = free[0]
        free.remove(j)
        pairs.append((i, j))
    return pairs


def _positions(tokens: list[str], shared: Counter[str]) -> dict[str, list[int]]:
    where: dict[str, list[int]] = {word: [] for word in shared}
    for i, token in enumerate(tokens):
        if token in where:
            where[token].append(i)
    return where


def _described_choice(i: int, free: list[int], confirmed: list[int]) -> int:
    """Choice of Han et al. 2013: the nearest free position in the reference with a matching neighbour, else of all.

    Occurrences in the hypothesis are processed from left to right; on ties the earlier position is chosen.
    """
    return min(confirmed or free, key=lambda j: abs(i - j))


def _described_context(side: list[int], i: int, widths: int) -> list[int]:
    """The words around a position, for each n, as an integer with one bit per shared word."""
    found, words = [0], 0
    for n in range(1, widths):
        words |= (side[i - n] if n <= i else 0) | (side[i + n] if i + n < len(side) else 0)
        found.append(words)
    return found


def _released_choice(i: int, free: list[int], confirmed: list[int]) -> int:
    """The choice of hLepor 0.0.4.

    Two faults are reproduced. The left context is `tokens[i - n : i]` even if i < n: Python counts the negative start
    from the end, which usually leaves no left context (see `_released_context`). And the index of the nearest confirmed
    position in the list of confirmed ones is used as an index into the list of all free ones.
    """
    distances = [abs(i - j) for j in confirmed or free]
    return free[distances.index(min(distances))]


def _released_context(side: list[int], i: int, widths: int) -> list[int]:
    """`_described_context` with the faulty left context that `_released_choice` describes."""
    found, left, right = [0], 0, 0
    for n in range(1, widths):
        right |= side[i + n] if i + n < len(side) else 0
        left = left | side[i - n] if n <= i else functools.reduce(operator.or_, side[i - n : i], 0)
        found.append(left | right)
    return found


_DESCRIBED, _RELEASED = (_described_choice, _described_context), (_released_choice, _released_context)
