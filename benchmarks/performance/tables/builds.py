"""What building the measured tables of each data set costs, and reading them again.

    HPO_ENVS_DATA=/path/to/files python -m hpo_envs.benchmarks.performance.tables.builds

Each data set is loaded twice, in a new process each time, with a cache folder that was empty at first. Printed are
seconds of processor time without those of the imports.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time

from hpo_envs.core import screen
from hpo_envs.tables import catalogue, store


def measure(dataset: str) -> tuple[int, float]:
    """Number of tables that a data set has installed, and seconds that loading them takes."""
    names = [name for name in store.names(dataset) if "measured" in store.kinds(name) and not store.missing(name)]
    start = time.process_time()
    for name in names:
        store.load(name, "measured")
    return len(names), time.process_time() - start


@screen.on()
def main(given: list[str]) -> None:
    """Prints a line for each data set."""
    if given:
        print(*measure(given[0]))
        return
    for dataset in catalogue.DATASETS:
        with tempfile.TemporaryDirectory() as cache:
            words, env = [sys.executable, "-m", __spec__.name, dataset], {**os.environ, "HPO_ENVS_CACHE": cache}
            lines = [subprocess.check_output(words, env=env, text=True).split() for _ in range(2)]  # noqa: S603
        (tables, first), (_, again) = lines
        print(f"{dataset:14}{tables:>4} tables  first {float(first):6.2f} s  cached {float(again):6.2f} s")


if __name__ == "__main__":
    main(sys.argv[1:])
