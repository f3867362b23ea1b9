"""Time and memory of reading a large file: `python -m hpo_envs.benchmarks.performance.tables.exports [--rows N]`.

A frame of 20 columns (13 floats, 3 ints, 2 choices, score and seconds) is read as a frame, as an Arrow table, from
Parquet and from CSV, each in a process of its own. Memory is the peak beyond what the process held before.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from hpo_envs.core import screen


def frame(rows: int) -> Any:
    """A pandas DataFrame of random runs."""
    import pandas as pd

    rng = np.random.default_rng(0)
    columns: dict[str, Any] = {f"x{j}": rng.uniform(0, 1, rows) for j in range(13)}
    columns |= {f"n{j}": rng.integers(1, 2000, rows) for j in range(3)}
    columns["optimizer"] = np.array(["adam", "sgd", "lion"])[rng.integers(0, 3, rows)]
    columns["schedule"] = np.array(["cosine", "linear"])[rng.integers(0, 2, rows)]
    columns["accuracy"], columns["seconds"] = rng.uniform(0, 1, rows), rng.uniform(1, 9, rows)
    return pd.DataFrame(columns)


def measure(how: str, path: Path) -> None:
    """Reads the file, and prints seconds of processor time and MB beyond what was held before."""
    import pandas as pd
    import pyarrow as pa
    from pyarrow import parquet

    from hpo_envs.tables import user

    given: Any = path.with_suffix(f".{how}")
    user.from_csv  # noqa: B018
    if how == "frame":
        given = pd.read_parquet(path.with_suffix(".parquet"))
    elif how == "arrow":
        given = parquet.read_table(path.with_suffix(".parquet"))
    user.from_frame(frame(100), "accuracy")  # what is imported on the way
    make = user.from_frame if how in ("frame", "arrow") else user.from_csv
    pa.default_memory_pool().release_unused()
    _start_of_peak()
    held, start, clock = _status("VmRSS"), time.process_time(), time.perf_counter()
    table = make(given, "accuracy", cost="seconds")
    spent, wall = time.process_time() - start, time.perf_counter() - clock
    peak = _status("VmHWM")
    print(f"{how:8} {len(table)} rows  {spent:6.1f} s processor  {wall:6.1f} s wall  {peak - held:7.0f} MB")


def _start_of_peak() -> None:
    Path("/proc/self/clear_refs").write_text("5")


def _status(key: str) -> float:
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(key))
    return int(line.split()[1]) * 1024 / 1e6


@screen.on()
def main() -> None:
    """Makes the files and measures each in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--how", help=argparse.SUPPRESS)
    parser.add_argument("--path", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.how:
        measure(args.how, args.path)
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "runs.csv")
        made = frame(args.rows)
        made.to_csv(path, index=False)
        made.to_parquet(path.with_suffix(".parquet"))
        print(
            f"{len(made)} rows x {made.shape[1]} columns: {made.memory_usage(deep=True).sum() / 1e6:.0f} MB as a frame"
        )
        del made
        for how in ("frame", "arrow", "parquet", "csv"):
            words = [sys.executable, "-m", __spec__.name, "--how", how, "--path", str(path)]
            subprocess.run(words, check=True)  # noqa: S603


if __name__ == "__main__":
    main()
