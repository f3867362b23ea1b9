"""What listing, reading, checking and reporting a study costs a run, and the size of its page.

    python -m hpo_envs.benchmarks.performance.tables.large_studies [--runs 20000]

Runs are those of random search on NMTHPO-swen-v0, 20 evaluations each, stored as those of ten agents, the parts of nine
as copies. Printed are microseconds of processor time a run, the size of the page, and the peak of memory after each.
"""

from __future__ import annotations

import argparse
import dataclasses
import hashlib
import io
import json
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyarrow import parquet

from hpo_envs.benchmarks.comparison import summary
from hpo_envs.benchmarks.comparison.replay import Replay
from hpo_envs.benchmarks.comparison.scored import Scores
from hpo_envs.benchmarks.report import page
from hpo_envs.benchmarks.runs import run
from hpo_envs.benchmarks.study.parquet import META
from hpo_envs.benchmarks.study.store import Store
from hpo_envs.core import screen

AGENTS = 10


def make(folder: Path, runs: int, part: int = 1000) -> None:
    """Stores so many runs, at least one of each agent."""
    store, seeds = Store(folder), max(runs // AGENTS, 1)
    for first in range(0, seeds, part):
        some = range(first, min(first + part, seeds))
        made = run("random", "NMTHPO-swen-v0", some, budget=20, env_kwargs={"table": "surrogate", "share": 0.8})
        header = {"agent": "random-0", "algorithm": "random"}
        store.write([dataclasses.replace(r, header={**r.header, **header}) for r in made])
    for path in [*folder.glob("*/*.parquet")]:
        for k in range(1, AGENTS):
            copy(path, f"random-{k}")


def copy(path: Path, agent: str) -> None:
    """Stores the runs of a part as those of another agent."""
    table = parquet.read_table(path)
    meta = json.loads(table.schema.metadata[META])
    name = path.name.replace(meta["header"]["agent"], agent, 1).rpartition("-")[0]
    meta["header"]["agent"] = agent
    sink = io.BytesIO()
    parquet.write_table(table.replace_schema_metadata({META: json.dumps(meta)}), sink, compression="zstd")
    path.with_name(f"{name}-{hashlib.sha256(sink.getvalue()).hexdigest()}.parquet").write_bytes(sink.getvalue())


def measure(folder: Path, runs: int) -> dict[str, float]:
    """Microseconds a run by what is done, megabytes of the page and at the peak."""
    found: dict[str, float] = {}

    def timed(name: str, work: Callable[[], Any]) -> Any:
        start = time.process_time()
        result = work()
        found[name] = 1e6 * (time.process_time() - start) / runs
        found[f"peak after {name}, MB"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        return result

    timed("list", lambda: Store(folder).groups())
    timed("read", lambda: sum(map(len, Store(folder).once())))
    timed("read and replay", lambda: sum(map(len, Store(folder).once(check=Replay()))))
    collected = Scores()

    def collect() -> None:
        for block in Store(folder).once():
            collected.add(block, (block.header["agent"],))

    timed("read and score", collect)
    data = timed("summary", lambda: summary.of_scores(collected))
    found["page, MB"] = len(timed("page", lambda: page.render(data)).encode()) / 1e6
    return found


@screen.on()
def main() -> int:
    """Prints a line for each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=20_000, help="runs (default: %(default)s)")
    runs = parser.parse_args().runs
    with tempfile.TemporaryDirectory() as name:
        make(Path(name), runs)
        for what, value in measure(Path(name), runs).items():
            print(f"{what:32}{value:10.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
