"""Passes over the segments of a corpus as compiled loops; sums over them stay NumPy's, whose order is its own."""

from __future__ import annotations

from typing import Any

from hpo_envs.tables.extras import jit


@jit
def blend(terms: Any, w0: float, w1: float, w2: float, w3: float, matched: Any, out: Any) -> None:
    """Writes the reciprocals of weighted sums of (4, segments) terms, 0 where nothing matched, see `Basis.write`."""
    t0, t1, t2, t3 = terms[0], terms[1], terms[2], terms[3]
    for i in range(len(out)):
        out[i] = 1.0 / (((t0[i] * w0 + t1[i] * w1) + t2[i] * w2) + t3[i] * w3) if matched[i] else 0.0


@jit
def products(both: Any, average: float, other: Any) -> None:
    """Replaces (2, segments): of numbers in the first row, less an average, the products with others and squares."""
    first, second = both[0], both[1]
    for i in range(len(other)):
        centred = first[i] - average
        first[i], second[i] = centred * other[i], centred * centred
