"""Study of optimizers on live problems: budgets, reference scores, regret; runs are stored in `results.csv`.

    python -m hpo_envs.benchmarks.live.study run --optimisers box-bo,optuna-tpe --seeds 5-24
    python -m hpo_envs.benchmarks.live.study table

A run has a line of `results.csv` for its budget and for each smaller one of `BUDGETS`; stored runs are not repeated.
"""

import argparse
import dataclasses
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits
from tqdm.auto import tqdm

from hpo_envs.benchmarks.live.optimisers import make
from hpo_envs.benchmarks.live.problems import PROBLEMS, Config, LiveProblem
from hpo_envs.tables import screen
from hpo_envs.tables.checks import one_of
from hpo_envs.tables.files import atomic
from hpo_envs.tables.user.space import Points, space_of

RESULTS = Path(__file__).with_name("results.csv")
REFERENCES = Path(__file__).with_name("references.csv")
REPORT = range(5, 25)
"""Seeds of the reported runs; `box-bo` was designed with the seeds before."""
BUDGETS = (40, 12, 100)
"""Budgets at which runs are scored; the first is the default."""
FIRST = 16
"""Number of problems with which `box-bo` was first designed; most later ones are noisy, rugged, large or trees."""


@dataclasses.dataclass(frozen=True)
class Row:
    """A run up to a budget in evaluations: a line of `results.csv`."""

    problem: str
    optimiser: str
    workers: int  # number of parallel evaluations of equal duration
    budget: int
    seed: int  # of optimizer and noise
    final: float  # score without noise of the configuration with the best observed score
    anytime: float  # `final` after each evaluation, averaged over all evaluations
    median_ms: float  # median CPU time of a suggestion and its report, in milliseconds
    worst_ms: float  # longest such time


@dataclasses.dataclass(frozen=True)
class ShortRow:
    """A run of another study; the attributes are as in `Row`, with budgets in the unit of that study."""

    problem: str
    optimiser: str
    budget: int
    seed: int
    final: float


def play(problem: LiveProblem, optimiser: str, workers: int, budget: int, seed: int) -> list[Row]:
    """Run an optimizer (see `make`); return rows for the smaller ones of `BUDGETS` and for its budget, in this order.

    `workers` evaluations are pending when the oldest is reported.
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


def carry_out(path: Path, wanted: Iterable[tuple[Any, ...]], play: Callable[..., list[Any]]) -> None:
    """Carry out the runs that a CSV file of results lacks, with warnings ignored, and append their rows.

    A wanted run is a key: its problem, then the values of the columns after `problem`. `play` gets these as arguments
    and returns the rows of the run, dataclasses, of which those that the file has by then are left out.
    """
    kept = atomic.read_csv(path) if path.exists() else []
    prefixes = {(*row.values(),)[:n] for row in kept for n in range(2, 6)}
    missing = [key for key in wanted if (key[0].name, *map(str, key[1:])) not in prefixes]
    for key in tqdm(missing, unit="run", disable=None):
        with warnings.catch_warnings(), threadpool_limits(1):
            warnings.simplefilter("ignore")
            rows = play(*key)
        kept = atomic.read_csv(path) if path.exists() else []
        known = {(*row.values(),)[: len(key)] for row in kept}
        records = [{k: f"{v:.8g}" if isinstance(v, float) else str(v) for k, v in vars(row).items()} for row in rows]
        atomic.write_csv(path, kept + [r for r in records if (*r.values(),)[: len(key)] not in known])


def load(path: Path = RESULTS) -> pd.DataFrame:
    """Load the runs in a CSV file; without the file, an empty frame with the columns of `results.csv`."""
    return pd.read_csv(path) if path.exists() else pd.DataFrame(columns=[f.name for f in dataclasses.fields(Row)])


def references() -> pd.DataFrame:
    """Load the best known (`best`) and the median score of random configurations (`median`), by problem."""
    return pd.read_csv(REFERENCES, index_col="problem")


def measure_references(problems: Iterable[Any], path: Path) -> None:
    """Update the rows of problems in `references.csv`.

    They have the median score of 256 random configurations, and the best score of these, of the runs in `path` and of
    `KNOWN`.
    """
    runs, rows = load(path), {}
    for problem in problems:
        points = Points(space_of(problem.search_space))
        raw = points.raw(np.random.default_rng(12345).random((256, len(points.space))))
        with threadpool_limits(1):
            scores = [problem.function(points.config(r)) for r in raw]
        found = runs.loc[runs.problem == problem.name, "final"].tolist()
        best = max([*scores, *found, KNOWN.get(problem.name, -np.inf)])
        median = float(np.median(scores))
        rows[problem.name] = {"problem": problem.name, "best": f"{best:.8g}", "median": f"{median:.8g}"}
    atomic.write_csv(REFERENCES, [*({row["problem"]: row for row in atomic.read_csv(REFERENCES)} | rows).values()])


KNOWN = {
    "branin": -0.397887, "hartmann6": 3.32237, "hartmann6-noise": 3.32237, "hartmann6-shifted": 3.32237,
    "hartmann6-misleading": 3.32237, "levy8": 0.0, "ellipsoid16": 3.0, "branin-shifts": -0.397887, "schedule": 0.93,
    "styblinski5-noise": 195.830829, "policy-noise": 100.0, "valleys8": 0.0, "tiles6": -0.00042307786,
    "sparse30": -0.33496207, "mixed44": -0.84607834, "dense40": -1.2843579, "hartmann6-in-60": 3.32237,
    "branches6": 1.0, "training-tree": 0.65,
}  # fmt: skip
"""Known maxima of analytic and simulated problems, or upper bounds of them, by name."""


def regrets(runs: pd.DataFrame, budget: int, seeds: Iterable[int]) -> pd.DataFrame:
    """Return the runs of a budget and seeds, with `final`, and `anytime` if there, as regret clipped to [0, 1].

    The best known score of a problem has regret 0, the median one of random configurations 1.
    """
    known, runs = references(), runs[(runs.budget == budget) & runs.seed.isin([*seeds])]
    best, median = runs.problem.map(known.best), runs.problem.map(known["median"])
    names = [name for name in ("final", "anytime") if name in runs]
    return runs.assign(**{name: ((best - runs[name]) / (best - median)).clip(0.0, 1.0) for name in names})


def table(runs: pd.DataFrame, against: str) -> pd.DataFrame:
    """Return mean regrets by optimizer, best first, and mean paired differences from `against` (`_minus`).

    `runs` are those of `regrets`. Standard errors (`_se`) are for fixed problems: only seeds are random. Without runs a
    ValueError is raised.
    """
    ours = runs[runs.optimiser == against].set_index(["problem", "seed"])
    scores = [name for name in ("final", "anytime") if name in runs]
    rows = []
    for name, group in runs.groupby("optimiser"):
        cells = group.groupby("problem")
        row = {"optimiser": name, "runs": len(group), "problems": len(cells), **cells[scores].mean().mean()}
        row |= {ms: group[ms].median() for ms in ("median_ms", "worst_ms") if ms in group}
        for score in scores:
            both = group.set_index(["problem", "seed"])[score]
            difference = (both - ours[score]).dropna().groupby("problem")
            error = np.sqrt((difference.var() / difference.count()).sum()) / len(difference)
            row |= {f"{score}_minus": difference.mean().mean(), f"{score}_se": error}
        rows.append(row)
    if not rows:
        raise ValueError("results must have runs of this budget and these seeds, got none")
    return pd.DataFrame(rows).sort_values("final").set_index("optimiser")


def command(
    doc: str | None, path: Path, optimisers: Iterable[str], problems: Iterable[Any], budgets: Sequence[int],
    play: Callable[..., list[Any]], parallel: bool = False,
) -> None:  # fmt: skip
    """Run the command line of a study whose rows begin with problem, `optimiser`, workers (`parallel`), budget, seed.

    `doc` is the text of `--help`, and the first of `optimisers` the reference. By default runs have the first of the
    `budgets`, and tables are of all of them; `play`: see `carry_out`.
    """
    names, by_name = [*optimisers], {p.name: p for p in problems}
    groups = {"first": [*by_name][:FIRST], "later": [*by_name][FIRST:]}
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("run", "references", "table"))
    parser.add_argument("--optimisers", default=",".join(names), help="names, separated by commas")
    parser.add_argument("--problems", default=",".join(by_name), help="names, separated by commas; first; later")
    parser.add_argument("--seeds", type=seeds_of, default=REPORT, help="FIRST-LAST")
    parser.add_argument("--budget", type=int, help=f"default of runs: {budgets[0]}")
    if parallel:
        parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--against", default=names[0])
    parser.add_argument("--by-problem", action="store_true")
    given = parser.parse_args()
    chosen = groups.get(given.problems) or [one_of("--problems", p, by_name) for p in given.problems.split(",")]
    workers = (given.workers,) if parallel else ()
    if given.what == "run":
        methods, budget = given.optimisers.split(","), given.budget or budgets[0]
        wanted = [(by_name[p], o, *workers, budget, s) for s in given.seeds for p in chosen for o in methods]
        carry_out(path, wanted, play)
    elif given.what == "references":
        measure_references([by_name[p] for p in chosen], path)
    else:
        runs = load(path)
        runs = runs[runs.problem.isin(chosen) & (runs.workers == given.workers if parallel else True)]
        for budget in [given.budget] if given.budget else budgets:
            some = regrets(runs, budget, given.seeds)
            wide = some.pivot_table(index="problem", columns="optimiser", values="final").round(3)
            shown = wide if given.by_problem else table(some, given.against).round(4)
            print(f"budget {budget}\n{shown.to_string()}")


def seeds_of(text: str) -> range:
    """Parse the seeds in a text `FIRST-LAST` or `SEED`."""
    first, _, last = text.partition("-")
    return range(int(first), int(last or first) + 1)


@screen.on()
def main() -> None:
    """Run the command."""
    command(__doc__, RESULTS, ("box-bo", "optuna-tpe"), PROBLEMS, BUDGETS, play, parallel=True)


if __name__ == "__main__":
    main()
