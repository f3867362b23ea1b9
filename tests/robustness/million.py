"""A study of a million runs: seconds and memory of planning, storing, scoring and its page, and how they grow.

    python tests/robustness/million.py [--sizes 10000 100000 1000000]
    python tests/robustness/million.py --search --sizes 10000    # a search by `tune`: running, loading, its page

The runs are copies of some real ones under other ids, agents and seeds. Each size has its own process.
"""

import argparse
import dataclasses
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from hpo_envs.benchmarks import run
from hpo_envs.benchmarks.comparison import summary
from hpo_envs.benchmarks.comparison.scored import Scores
from hpo_envs.benchmarks.report import page
from hpo_envs.benchmarks.study import plan
from hpo_envs.benchmarks.study.store import Store
from hpo_envs.families.registry import SPECS
from hpo_envs.tuning import load, tune

IDS = [name for name in SPECS if name.startswith("CharHPO-")][:20]
AGENTS = [f"agent-{i}" for i in range(25)]
BUDGET, COPIED = 20, 200


def timed(function: Callable[[], object]) -> float:
    """CPU seconds of a call, independent of other processes."""
    start = time.process_time()
    function()
    return time.process_time() - start


def measure(size: int, folder: Path) -> dict[str, float]:
    """CPU seconds of each step, bytes on disk and in memory."""
    seeds = range(size // (len(IDS) * len(AGENTS)))
    planned = [plan.PlannedRuns(e, a, tuple(seeds), BUDGET, 0.01, True) for e in IDS for a in AGENTS]
    real, store, scores = run("random", IDS[0], range(min(len(seeds), COPIED)), budget=BUDGET), Store(folder), Scores()
    summaries: list[dict[str, Any]] = []

    def fill() -> None:
        for env in IDS:
            for k, agent in enumerate(AGENTS):
                headers = [r.header | {"env": env, "agent": agent} for r in real]
                # Agents must differ: an agent's runs begin at another copy.
                some = [(seed, (seed + k) % len(real)) for seed in seeds]
                store.add([
                    dataclasses.replace(real[i], seed=seed, header=headers[i] | {"seed": seed}) for seed, i in some
                ])  # fmt: skip

    def score() -> None:
        for k, block in enumerate(Store(folder).once()):
            scores.add(block, (k,))
        summaries.append(summary.whole(scores, *summary.parts(scores), {"title": "Comparison", "command": ""}))

    found = {"plan": timed(lambda: plan.part(planned, 3, 100)), "store": timed(fill), "score": timed(score)}
    found["page"] = timed(lambda: page.render(summaries[0]))
    size_on_disk = sum(p.stat().st_size for p in folder.rglob("*.parquet"))
    return {**found, "MB": size_on_disk / 1e6, "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3}


def searched(size: int, folder: Path) -> dict[str, float]:
    """CPU seconds of a search, of loading it and of its page, and bytes."""
    space = {"x": (0.0, 1.0), "rate": (1e-5, 1.0, "log"), "kind": ["a", "b"], "depth": (1, 9)}

    def train(config: dict[str, Any]) -> float:
        return float(config["x"] + (config["kind"] == "a") - 0.1 * abs(config["depth"] - 4))

    given: dict[str, Any] = {"agent": "random", "candidates": size, "budget": size, "out": folder, "progress": False}
    found = {"tune": timed(lambda: tune(train, space, **given)), "load": timed(lambda: load(folder))}
    found["page"] = timed(load(folder).report)
    size_on_disk = sum(p.stat().st_size for p in folder.iterdir() if p.is_file())
    return {**found, "MB": size_on_disk / 1e6, "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3}


def main() -> int:
    """Print a line for each size, and the exponents between the first and the last."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--search", action="store_true", help="a search instead of a study")
    parser.add_argument("--one", action="store_true", help="measure in this process, and print JSON")
    args = parser.parse_args()
    if args.one:
        with tempfile.TemporaryDirectory() as folder:
            print(json.dumps((searched if args.search else measure)(args.sizes[0], Path(folder))))
        return 0
    found = []
    for size in args.sizes:
        command = [sys.executable, __file__, "--one", "--sizes", str(size), *["--search"] * args.search]
        done = subprocess.run(command, check=True, capture_output=True)
        found.append(json.loads(done.stdout))
        print(f"{size}: " + ", ".join(f"{name} {value:.3g}" for name, value in found[-1].items()), flush=True)
    if len(args.sizes) == 1:
        return 0
    growth = np.log(args.sizes[-1] / args.sizes[0])
    slopes = {name: np.log(found[-1][name] / found[0][name]) / growth for name in found[0]}
    print("exponents: " + ", ".join(f"{name} {value:.2f}" for name, value in slopes.items()))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
