"""How much sooner four workers are done: a function that sleeps, tuned with one worker, four threads, four processes.

    python -m hpo_envs.benchmarks.performance.sleeping --seconds 1 --evaluations 40

Wall time of the whole call, start of the workers and suggestions included. Four workers can be four times as fast in
theory, and more in practice, where what the agent takes for a suggestion is spent while others sleep.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping
from typing import Any

import hpo_envs
from hpo_envs.benchmarks.performance import trials
from hpo_envs.core import screen

WAYS = ((1, "serial"), (4, "threads"), (4, "processes"))


def sleep(config: Mapping[str, Any]) -> float:
    """Sleeps as long as its hyperparameter says; the less the better."""
    time.sleep(config["seconds"])
    return float(-config["seconds"])


def compare(seconds: float, evaluations: int) -> Iterator[dict[str, Any]]:
    """Wall seconds of each way, and how many times shorter than with one worker that is."""
    space = {"seconds": (0.95 * seconds, 1.05 * seconds)}
    alone = 0.0
    for workers, executor in WAYS:
        start = time.perf_counter()
        given: dict[str, Any] = {"workers": workers, "executor": executor, "progress": False}
        tuned = hpo_envs.tune(sleep, space, budget=evaluations, **given)
        took = time.perf_counter() - start
        alone = alone or took
        facts = {"workers": workers, "executor": executor, "evaluations": len(tuned)}
        yield facts | {"wall seconds": round(took, 1), "times shorter": round(alone / took, 2)}


@screen.on()
def main() -> int:
    """Prints a line a way."""
    parser = trials.parser(
        __doc__, seconds=(1.0, "how long an evaluation sleeps, give or take 5 %%"), evaluations=(40, "how many")
    )
    for facts in compare(**vars(parser.parse_args())):
        print(facts, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
