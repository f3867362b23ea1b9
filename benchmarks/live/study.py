"""Study of optimizers on live problems: default budgets, references, regret; runs are lines of `results.csv`.

    python -m hpo_envs.benchmarks.live.study run --optimizers box-bo,optuna-tpe --seeds 5-24
    python -m hpo_envs.benchmarks.live.study table

A run is one line of `results.csv`; stored runs are not repeated.
"""

import argparse
import dataclasses
import time
import warnings
from collections import deque
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits
from tqdm.auto import tqdm

from hpo_envs.benchmarks.live.optimisers import make
from hpo_envs.benchmarks.live.problems import PROBLEMS, Config, LiveProblem
from hpo_envs.tables import screen
from hpo_envs.tables.files import atomic
from hpo_envs.tables.user.points import Points
from hpo_envs.tables.user.space import space_of

RESULTS = Path(__file__).with_name("results.csv")
REFERENCES = Path(__file__).with_name("references.csv")
DESIGN, REPORT = range(5), range(5, 25)
"""Seeds that design choices were made on, and those that are reported."""
BUDGETS = (40, 100)
RANDOM = 256
"""Random configurations whose median has regret 1."""


@dataclasses.dataclass(frozen=True)
class Row:
    """One run, as in `results.csv`.

    Attributes:
        problem: Name of the problem.
        optimiser: Name of the optimizer.
        workers: Number of parallel evaluations of equal duration.
        budget: Number of evaluations.
        seed: Seed of optimizer and noise.
        final: Score without noise of the configuration with the best observed score.
        anytime: `final` after each evaluation, averaged over all evaluations.
        median_ms: Median CPU time of a suggestion.
        worst_ms: Longest CPU time of a suggestion.
    """

    problem: str
    optimiser: str
    workers: int
    budget: int
    seed: int
    final: float
    anytime: float
    median_ms: float
    worst_ms: float


def play(problem: LiveProblem, optimiser: str, seed: int, budget: int, workers: int = 1) -> list[Row]:
    """Run an optimizer; return a row per reached budget in `BUDGETS`.

    Args:
        problem: The problem.
        optimiser: See `make`.
        seed: Seed of optimizer and noise.
        budget: Number of evaluations.
        workers: Number of pending evaluations before the oldest is reported.
    """
    chosen = make(optimiser, problem, seed, budget)
    pending: deque[tuple[int, Any, Config]] = deque()
    observed, true, seconds = np.empty(budget), np.empty(budget), []
    for t in range(budget + workers - 1):
        if t < budget:
            start = time.process_time()
            handle, config = chosen.ask()
            seconds.append(time.process_time() - start)
            pending.append((t, handle, config))
        if t >= workers - 1:
            k, handle, config = pending.popleft()
            observed[k], true[k] = problem.observed(config, seed, k)
            start = time.process_time()
            chosen.tell(handle, float(observed[k]))
            seconds[min(k, len(seconds) - 1)] += time.process_time() - start
    incumbent = true[[int(np.argmax(observed[: t + 1])) for t in range(budget)]]
    rows = []
    for b in sorted({budget, *(b for b in BUDGETS if b < budget)}):
        ms = 1e3 * np.array(seconds[:b])
        scores = float(incumbent[b - 1]), float(incumbent[:b].mean())
        rows.append(Row(problem.name, optimiser, workers, b, seed, *scores, float(np.median(ms)), float(ms.max())))
    return rows


def run(optimisers: Iterable[str], names: Iterable[str], seeds: Iterable[int], budget: int, workers: int) -> None:
    """Run the missing runs of `results.csv`, seed by seed."""
    known = {run[:5] for run in load().itertuples(index=False, name=None)}
    wanted = [
        (p, o, seed)
        for seed in seeds
        for p in PROBLEMS
        if p.name in {*names}
        for o in optimisers
        if (p.name, o, workers, budget, seed) not in known
    ]
    for problem, optimiser, seed in tqdm(wanted, unit="run", disable=None):
        with warnings.catch_warnings(), threadpool_limits(1):
            warnings.simplefilter("ignore")
            rows = play(problem, optimiser, seed, budget, workers)
        records = [
            {k: f"{v:.8g}" if isinstance(v, float) else v for k, v in dataclasses.asdict(row).items()}
            for row in rows
            if dataclasses.astuple(row)[:5] not in known
        ]
        kept = atomic.read_csv(RESULTS) if RESULTS.exists() else []
        atomic.write_csv(RESULTS, [*kept, *records])


def load() -> pd.DataFrame:
    """The runs in `results.csv`; empty without the file."""
    return pd.read_csv(RESULTS) if RESULTS.exists() else pd.DataFrame(columns=[f.name for f in dataclasses.fields(Row)])


def references() -> pd.DataFrame:
    """Best known score and median of random configurations by problem."""
    return pd.read_csv(REFERENCES, index_col="problem")


def measure_references() -> None:
    """Write `references.csv`: median score of random configurations, and the best score of these and of all runs."""
    runs, rows = load(), []
    for problem in PROBLEMS:
        points = Points(space_of(problem.search_space))
        raw = points.raw(np.random.default_rng(12345).random((RANDOM, len(points.space))))
        with threadpool_limits(1):
            scores = [problem.function(points.config(r)) for r in raw]
        best = max(max(scores), runs.loc[runs.problem == problem.name, "final"].max() if len(runs) else -np.inf)
        best = max(best, KNOWN.get(problem.name, -np.inf))
        rows.append({"problem": problem.name, "best": f"{best:.8g}", "median": f"{np.median(scores):.8g}"})
    atomic.write_csv(REFERENCES, rows)


KNOWN = {
    "branin": -0.397887,
    "hartmann6": 3.32237,
    "hartmann6-noise": 3.32237,
    "levy8": 0.0,
    "ellipsoid16": 3.0,
    "branin-shifts": -0.397887,
    "schedule": 0.93,
    "styblinski5-noise": 195.830829,
    "policy-noise": 100.0,
    "valleys8": 0.0,
    "tiles6": -0.00042307786,
    "sparse30": -0.33496207,
    "mixed44": -0.84607834,
    "dense40": -1.2843579,
    "hartmann6-in-60": 3.32237,
    "branches6": 1.0,
    "training-tree": 0.65,
}
"""Maxima of the analytic problems."""


def regrets(budget: int, workers: int, seeds: Iterable[int]) -> pd.DataFrame:
    """Runs with `final` and `anytime` as regret: 0 at the best known score, 1 at the median random configuration."""
    runs, known = load(), references()
    runs = runs[(runs.budget == budget) & (runs.workers == workers) & runs.seed.isin([*seeds])]
    best, median = runs.problem.map(known.best), runs.problem.map(known["median"])
    scaled = {name: ((best - runs[name]) / (best - median)).clip(0.0, 1.0) for name in ("final", "anytime")}
    return runs.assign(**scaled)


def table(budget: int, workers: int, seeds: Iterable[int], against: str) -> pd.DataFrame:
    """Mean regret by optimizer, and paired differences with one of them.

    Intervals are on fixed problems: only seeds are random.

    Args:
        budget: Number of evaluations.
        workers: Number of parallel evaluations.
        seeds: Seeds to include.
        against: Reference optimizer of the differences.

    Raises:
        ValueError: There are no such runs.
    """
    runs = regrets(budget, workers, seeds)
    ours = runs[runs.optimiser == against].set_index(["problem", "seed"])
    rows = []
    for name, group in runs.groupby("optimiser"):
        cells = group.groupby("problem")
        means = cells[["final", "anytime"]].mean().mean()
        row = {"optimiser": name, "runs": len(group), "problems": len(cells), "final": means.final}
        row |= {"anytime": means.anytime, "median_ms": group.median_ms.median(), "worst_ms": group.worst_ms.median()}
        for score in ("final", "anytime"):
            both = group.set_index(["problem", "seed"])[score]
            difference = (both - ours[score]).dropna().groupby("problem")
            error = np.sqrt((difference.var() / difference.count()).sum()) / len(difference)
            row |= {f"{score}_minus": difference.mean().mean(), f"{score}_se": error}
        rows.append(row)
    if not rows:
        raise ValueError(f"results must have runs of {budget} evaluations with workers={workers}, got none")
    return pd.DataFrame(rows).sort_values("final").set_index("optimiser")


def _seeds(text: str) -> range:
    first, _, last = text.partition("-")
    return range(int(first), int(last or first) + 1)


@screen.on()
def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m hpo_envs.benchmarks.live.study", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    runs = commands.add_parser("run", help="carry out runs that results.csv lacks")
    runs.add_argument("--optimisers", required=True, help="names, separated by commas")
    runs.add_argument("--problems", default=",".join(p.name for p in PROBLEMS))
    runs.add_argument("--seeds", type=_seeds, default=REPORT, help="FIRST-LAST")
    runs.add_argument("--budget", type=int, default=BUDGETS[0])
    runs.add_argument("--workers", type=int, default=1)
    commands.add_parser("references", help="measure best known and median scores again")
    shown = commands.add_parser("table", help="regret by optimiser, with paired differences")
    shown.add_argument("--budget", type=int, default=BUDGETS[0])
    shown.add_argument("--workers", type=int, default=1)
    shown.add_argument("--seeds", type=_seeds, default=REPORT)
    shown.add_argument("--against", default="box-bo")
    shown.add_argument("--by-problem", action="store_true")
    given = parser.parse_args()
    if given.command == "run":
        run(given.optimisers.split(","), given.problems.split(","), given.seeds, given.budget, given.workers)
    elif given.command == "references":
        measure_references()
    elif given.by_problem:
        rows = regrets(given.budget, given.workers, given.seeds)
        print(rows.pivot_table(index="problem", columns="optimiser", values="final").round(3).to_string())
    else:
        print(table(given.budget, given.workers, given.seeds, given.against).round(4).to_string())


if __name__ == "__main__":
    main()
