"""Compares variant `released` with the public hLepor package on the same tokens.

    python -m hpo_envs.benchmarks.cushlepor.package_check export tokens.json
    old/bin/python benchmarks/cushlepor/package_side.py tokens.json scores.npz     # see that file
    python -m hpo_envs.benchmarks.cushlepor.package_check compare tokens.json scores.npz

With `--own` the segments are `own_segments.json`, sentences written for this project, instead of TED en-de; `compare
--own` then writes the golden file that the tests read.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np

from hpo_envs.tables import hlepor, store
from hpo_envs.tables.builders import cushlepor, cushlepor_text

HERE = Path(__file__).parent
OWN = HERE / "own_segments.json"
GOLDEN = HERE / "package_golden.json"
SUMMARY = HERE / "package_summary.json"


def vectors(count: int = 20, seed: int = 0) -> np.ndarray:
    """(count, 6) random parameter vectors: weights uniform in [0.1, 15], n in 0..8."""
    rng = np.random.default_rng(seed)
    drawn = rng.uniform(0.1, 15.0, (count, 6))
    drawn[:, 2] = rng.integers(0, hlepor.MAX_N + 1, count)
    return drawn


def segments(own: bool) -> tuple[list[list[str]], list[list[str]]]:
    """Tokens of hypotheses and references: own sentences, or every TED en-de segment in the order of the table."""
    if own:
        pairs = json.loads(OWN.read_text(encoding="utf-8"))
        return [p["hypothesis"].split() for p in pairs], [p["reference"].split() for p in pairs]
    spans, scores = cushlepor.files("cushlepor/ted-ende")
    parsed = cushlepor_text.parse(store.read(spans), store.read(scores), spans, scores)
    return [hlepor.tokenize(s.hypothesis) for s in parsed], [hlepor.tokenize(s.reference) for s in parsed]


def export(tokens: Path, own: bool) -> None:
    """Writes tokens and parameter vectors for the package's environment."""
    hypotheses, references = segments(own)
    data = {"hypotheses": hypotheses, "references": references, "vectors": vectors().tolist()}
    tokens.write_text(json.dumps(data), encoding="utf-8")


def compare(tokens: Path, scores: Path) -> dict[str, Any]:
    """Largest difference and speeds; all in one run, on the same tokens."""
    data = json.loads(tokens.read_text(encoding="utf-8"))
    with np.load(scores) as theirs:
        package, corpus_seconds = theirs["scores"], theirs["corpus_seconds"]
    start = time.perf_counter()
    statistics = hlepor.collect(data["hypotheses"], data["references"], variant="released")
    basis = hlepor.Basis(statistics)
    prepared = time.perf_counter() - start
    given = np.array(data["vectors"])
    ours = basis.scores(given)
    one, repeats = given[0], 1000
    start = time.perf_counter()
    for _ in range(repeats):
        basis.scores(one).mean()
    single = (time.perf_counter() - start) / repeats
    many = np.repeat(given, 5, axis=0)
    start = time.perf_counter()
    for _ in range(20):
        basis.scores(many).mean(axis=1)
    batch = (time.perf_counter() - start) / 20 / len(many)
    package_seconds = float(np.median(corpus_seconds))
    return {
        "segments": len(statistics),
        "vectors": len(given),
        "largest_difference": float(np.abs(ours - package).max()),
        "mean_scores": package.mean(axis=1).tolist(),
        "seconds": {
            "package_corpus": package_seconds,
            "ours_preparation": prepared,
            "ours_corpus": single,
            "ours_corpus_in_a_batch": batch,
        },
        "speedup": {"single": package_seconds / single, "batch": package_seconds / batch},
    }


def main() -> None:
    """Command line, see the module's docstring."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=("export", "compare"))
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE")
    parser.add_argument("--own", action="store_true", help="own sentences instead of TED en-de")
    args = parser.parse_args()
    if args.action == "export":
        export(args.files[0], args.own)
        return
    found = compare(*args.files)
    print(json.dumps(found, indent=1))
    if args.own:
        with np.load(args.files[1]) as theirs:
            golden = {"vectors": vectors().tolist(), "scores": np.round(theirs["scores"], 15).tolist()}
        GOLDEN.write_text(json.dumps(golden) + "\n", encoding="utf-8")
    else:
        SUMMARY.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
