"""Compares variant `released` with the public hLepor package on the same tokens.

    python -m hpo_envs.benchmarks.papers.cushlepor.package_check export tokens.json
    old/bin/python benchmarks/papers/cushlepor/package_side.py tokens.json scores.npz     # see that file
    python -m hpo_envs.benchmarks.papers.cushlepor.package_check compare tokens.json scores.npz

With `--own` the segments are `own_segments.json`, sentences written for this project, instead of TED en-de; `compare
--own` then writes the golden file that the tests read.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from hpo_envs.benchmarks.papers.cushlepor import text_metrics
from hpo_envs.core import screen
from hpo_envs.tables import hlepor

HERE = Path(__file__).parent
OWN = HERE / "own_segments.json"
GOLDEN = HERE / "package_golden.json"
SUMMARY = HERE / "results" / "package_summary.json"


def vectors(count: int = 20, seed: int = 0) -> np.ndarray:
    """(count, 6) random parameter vectors: weights uniform in [0.1, 15], n in 0..8."""
    rng = np.random.default_rng(seed)
    drawn = rng.uniform(0.1, 15.0, (count, 6))
    drawn[:, 2] = rng.integers(0, hlepor.MAX_N + 1, count)
    return drawn


def segments(own: bool) -> dict[str, Any]:
    """Tokens and texts of hypotheses and references: own sentences, or all of TED en-de in the order of the table."""
    if own:
        pairs = json.loads(OWN.read_text(encoding="utf-8"))
        texts = [[p[side] for p in pairs] for side in ("hypothesis", "reference")]
        tokens = [[text.split() for text in side] for side in texts]
    else:
        texts = list(text_metrics.texts())
        tokens = [[hlepor.tokenize(text) for text in side] for side in texts]
    names = ("hypotheses", "references", "hypothesis_texts", "reference_texts")
    return dict(zip(names, [*tokens, *texts], strict=True))


def export(tokens: Path, own: bool) -> None:
    """Writes tokens and parameter vectors for the package's environment."""
    data = {**segments(own), "vectors": vectors().tolist()}
    tokens.write_text(json.dumps(data), encoding="utf-8")


def compare(tokens: Path, scores: Path) -> dict[str, Any]:
    """Largest difference and speeds; all in one run, on the same tokens."""
    data = json.loads(tokens.read_text(encoding="utf-8"))
    with np.load(scores) as theirs:
        package, from_tokens, from_text = theirs["scores"], theirs["corpus_seconds"], theirs["text_seconds"]
    start = time.process_time()
    statistics = hlepor.collect(data["hypotheses"], data["references"], variant="released")
    basis = hlepor.Basis(statistics)
    preparation = time.process_time() - start
    given = np.array(data["vectors"])
    ours = basis.scores(given)
    seconds = {
        "package_from_text": float(from_text.min()),
        "package_from_tokens": float(np.median(from_tokens)),
        "ours_preparation_from_tokens": preparation,
        "ours_one_setting": _seconds(lambda: basis.scores(given[0]).mean(), 200),
        "ours_a_setting_of_twenty": _seconds(lambda: basis.scores(given).mean(axis=1), 20) / len(given),
    }
    return {
        "command": "python -m hpo_envs.benchmarks.papers.cushlepor.package_check compare tokens.json scores.npz",
        "segments": len(statistics),
        "vectors": len(given),
        "largest_difference": float(np.abs(ours - package).max()),
        "mean_scores": package.mean(axis=1).tolist(),
        "processor_seconds": seconds,
        "speedup": {
            "one setting, package from text": seconds["package_from_text"] / seconds["ours_one_setting"],
            "one setting, package from tokens": seconds["package_from_tokens"] / seconds["ours_one_setting"],
            "twenty settings, package from text": seconds["package_from_text"] / seconds["ours_a_setting_of_twenty"],
        },
    }


def _seconds(call: Callable[[], Any], number: int) -> float:
    """Processor time of a call: the best of seven rounds."""
    rounds = []
    for _ in range(7):
        start = time.process_time()
        for _ in range(number):
            call()
        rounds.append((time.process_time() - start) / number)
    return min(rounds)


@screen.on()
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
