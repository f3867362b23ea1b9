"""Makes the embedded CushLEPOR tables: segments of an invented language, scored by planted parameters.

    python -m hpo_envs.tables.datasets.cushlepor.fit          # writes tables/datasets/cushlepor/cushlepor.npz

No upstream text or score is in it. References are words drawn by Zipf's law; a draft translation keeps, replaces,
drops, adds and moves words; each system revises the draft. The segments go through the same alignment as real text.
The human score is hLEPOR (variant `released`) under `PLANTED`, plus the severity of a rater who marks a document of
one system, plus noise, put on the MQM scale: most segments have no error, the others whole points. The constants below
were chosen so that a few moments agree with the measured table (lengths, share of matched words, position differences,
share of segments without error, correlation of the default setting with the human score); `summary` prints them.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hpo_envs.tables import hlepor, store
from hpo_envs.tables.datasets.cushlepor import build
from hpo_envs.tables.datasets.cushlepor.model import FILE, PLANTED, THIRDS, scale, sources
from hpo_envs.tables.datasets.cushlepor.names import DOCUMENTS, SYSTEMS, TABLES, TED, shape
from hpo_envs.tables.table import Table

SEED = 20211
SIGNAL = 0.2
"""Share of the standard deviation of the latent human score that is the planted metric."""

RATER = 0.35
"""Standard deviation of the severity of a rater, latent units."""

WITHOUT_ERROR = 0.59
"""Share of segments without error in the measured table."""

POINTS = 3.3
"""Mean of the exponential that gives a segment with errors its points above one."""

PSQM_SHAPE = 0.25
"""The embedded pSQM label of a segment is (share of segments that are worse) to this power, times 6: 4.8 on average.
The measured labels were not at hand."""

WORDS = 4000


def make(seed: int = SEED) -> dict[str, npt.NDArray[Any]]:
    """The integers that the embedded table consists of.

    Returns:
        `lengths` (3, rows) hypothesis, reference, matches; `paper`, `relative`, `released` (rows, n): NPD times the
        hypothesis length, for the last two also times both lengths, which are integers; and for each table, by the
        second part of its name, its labels: MQM points, or thirds of pSQM.
    """
    rng = np.random.default_rng(seed)
    count = sum(DOCUMENTS[TED[0]].values())
    zipf = 1.0 / np.arange(1, WORDS + 1, dtype=np.float64) ** np.float64(1.05)
    zipf = np.cumsum(zipf / zipf.sum())
    references = [_draw(rng, n, zipf) for n in _lengths(rng, count)]
    drafts = [_revise(rng, r, rng.beta(2.6, 4.0), 0.012, zipf) for r in references]
    pairs = [
        (_revise(rng, draft, 0.10, 0.004, zipf), reference)
        for _ in range(SYSTEMS)
        for draft, reference in zip(drafts, references, strict=True)
    ]
    hypotheses, targets = ([[str(w) for w in p[side]] for p in pairs] for side in (0, 1))
    collected = hlepor.collect_variants(hypotheses, targets)
    s = collected["released"]
    planted = hlepor.segment_scores(s, PLANTED)
    result: dict[str, npt.NDArray[Any]] = {
        "lengths": np.stack([s.hypothesis_length, s.reference_length, s.matches]).astype(np.int16)
    }
    result[TED[0].partition("/")[2]] = _points(rng, planted, TED[0]).astype(np.uint8)
    for variant, statistics in collected.items():
        result[variant] = np.rint(statistics.npd * scale(variant, s.hypothesis_length, s.reference_length)).astype(
            np.int32
        )
    for i, name in enumerate(TABLES[1:], start=1):
        fresh = np.random.default_rng((seed, i))
        result[name.partition("/")[2]] = _points(fresh, planted[sources(name)], name).astype(np.uint8)
    return result


def _lengths(rng: np.random.Generator, count: int) -> npt.NDArray[np.int64]:
    """Lengths of references, tokens: log-normal as in the measured table (log mean 2.69, deviation 0.64)."""
    return np.clip(np.rint(np.exp(rng.normal(2.69, 0.64, count))), 2, 80).astype(np.int64)


def _draw(rng: np.random.Generator, count: int, cumulative: npt.NDArray[np.float64]) -> list[int]:
    """Words by their cumulative probabilities."""
    return np.minimum(np.searchsorted(cumulative, rng.random(count)), WORDS - 1).tolist()


def _revise(
    rng: np.random.Generator, words: list[int], rate: float, moves: float, zipf: npt.NDArray[np.float64]
) -> list[int]:
    """Replaces, drops and adds words at `rate`, then moves a phrase `moves` times a word on average."""
    result: list[int] = []
    fresh = iter(_draw(rng, 2 * len(words) + 2, zipf))
    # Some translations are wordier than others: how edits split into replacing, adding and dropping varies.
    replaced, dropped = rng.uniform(0.45, 1.0), rng.uniform(0.0, 0.3)
    for word, u in zip(words, rng.random(len(words)), strict=True):
        if u < replaced * rate:
            result.append(next(fresh))
        elif u < rate:
            result += [word, next(fresh)]
        elif u > (1.0 + dropped) * rate:
            result.append(word)
    if not result:
        result = [next(fresh)]
    for _ in range(rng.poisson(moves * len(result))):
        start, size = int(rng.integers(len(result))), int(rng.integers(1, 5))
        phrase = result[start : start + size]
        del result[start : start + size]
        at = max(start + int(rng.integers(-6, 7)), 0)
        result[at:at] = phrase
    return result


def _points(rng: np.random.Generator, planted: npt.NDArray[np.float64], name: str) -> npt.NDArray[np.float64]:
    """Labels whose ranks are those of a latent score: MQM points, 0 for the best segments; or thirds of pSQM."""
    systems, documents = shape(name)
    document = np.repeat(np.arange(len(documents)), list(documents.values()))
    severity = rng.normal(0.0, RATER, (systems, len(documents)))[:, document].reshape(-1)
    latent = SIGNAL * (planted - planted.mean()) / planted.std() + severity
    latent += np.sqrt(1.0 - SIGNAL**2) * rng.normal(size=len(planted))
    order = np.argsort(-latent, kind="stable")
    points = np.zeros(len(latent))
    if name.endswith("-psqm"):
        points[order] = np.floor(THIRDS * (1.0 - np.arange(len(order)) / len(order)) ** PSQM_SHAPE + 0.5)
        return points
    erring = order[int(WITHOUT_ERROR * len(latent)) :]
    points[erring] = np.minimum(1 + np.floor(np.sort(rng.exponential(POINTS, len(erring)))), 25)
    return points


def summary(table: Table) -> dict[str, float]:
    """Moments to compare an embedded table with the measured one."""
    values = table.values[:, 0, 0, :]
    s = build.statistics(table)
    human, train = values[:, 0], table.configs[:, 3] == 0
    quantities = {
        "log_length_ratio": np.log(s.hypothesis_length / s.reference_length),
        "precision": s.matches / s.hypothesis_length,
        "npd": s.npd[:, 2],
        "human": human,
    }
    found = {"reference_length": float(s.reference_length.mean())}
    for name, x in quantities.items():
        found |= {name: float(x.mean()), f"{name}_sd": float(x.std())}
    for name, setting in (("default", hlepor.PRESETS["default"]), ("planted", PLANTED)):
        score = hlepor.segment_scores(s, setting)
        for split, rows in (("train", train), ("held_out", ~train)):
            found[f"pearson_{name}_{split}"] = float(np.corrcoef(score[rows], human[rows])[0, 1])
    return found


def main() -> None:
    """Writes the file and prints the summary."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=FILE, help="where to write (default: %(default)s)")
    args = parser.parse_args()
    arrays: dict[str, Any] = make()
    np.savez_compressed(args.out, **arrays)
    for key, value in summary(store.load(TABLES[0])).items():
        print(f"{key:28} {value:.4f}")
    print(f"{args.out}: {args.out.stat().st_size / 1024:.0f} KiB")


if __name__ == "__main__":
    main()
