"""`hpo-envs reproduce learned`: trained on all tables but one language's, tested on that one, every one in turn."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from hpo_envs.benchmarks.learned import analysis, sweep, tables
from hpo_envs.tables import store
from hpo_envs.tables.files import atomic

PARTS = ("nmt", "classics", "char", "transfer")


def main(out: Path, *, trials: int | None, jobs: int, seed: int, only: str | None) -> int:
    """Tests the shipped leave-one-out weights on the tables that they have not seen.

    Args:
        out: Folder for the tables.
        trials: Seeds of each cell; default `sweep.TRIALS`.
        jobs: Processes.
        seed: First seed.
        only: One of `PARTS`, or None for all.

    Returns:
        0.
    """
    seeds = list(range(seed, seed + (trials or sweep.TRIALS)))
    installed = not any(store.missing(t) for _, names, _ in tables.FAMILIES.values() for t in names)
    kind = "measured" if installed else "surrogate"
    if not installed:
        print("The measured tables are not installed (hpo-envs fetch): embedded ones stand in for them.")
    if only in (None, "nmt"):
        _part("nmt", sweep.cells("nmthpo", kind, (*sweep.METHODS, "japanese")), seeds, jobs, out)
    if only in (None, "classics"):
        _part("classics", sweep.cells("nmthpo", kind, (*sweep.CLASSICS, "learned")), seeds, jobs, out)
    if only in (None, "char"):
        _part("char", sweep.cells("charhpo", kind), seeds, jobs, out)
    if only in (None, "transfer"):
        _part("transfer", sweep.cells("nmthpo", kind, ("random", "learned", "embedded")), seeds, jobs, out)
    return 0


TITLES = {
    "nmt": "NMT tables, each language pair unseen in training; `japanese` has seen neither direction of Japanese",
    "classics": "NMT tables, other Bayesian optimisation and graph-based search",
    "char": "Character transduction sweeps, each language unseen in training (both tasks, both architectures)",
    "transfer": "Trained on embedded tables of the other pairs (`embedded`) or on measured ones (`learned`)",
}


def _part(name: str, cells: Sequence[sweep.Cell], seeds: list[int], jobs: int, out: Path) -> None:
    regrets = measure(cells, seeds, jobs, name)
    first = cells[0]
    found = analysis.rows(regrets)
    scales = {c.table: sweep.scale(c.family, c.table, c.kind) for c in cells}
    over = analysis.overall(regrets, scales)
    atomic.write_csv(out / f"{name}_tables.csv", [_record(r) for r in found])
    atomic.write_csv(out / f"{name}_overall.csv", over)
    unit = "BLEU" if first.family == "nmthpo" else "% accuracy"
    print(f"\n{TITLES[name]} ({first.kind} tables, {len(seeds)} seeds, {sweep.BUDGET} evaluations)")
    print("* better, x worse than random search: paired Wilcoxon signed-rank test, Holm over tables, p < .05\n")
    print(analysis.format_rows(found, unit))
    print("\nMean over tables; normalised = in units of what random search leaves; difference: learned minus other")
    for record in over:
        print("  " + "  ".join(f"{k} {v}" for k, v in record.items()))


def measure(cells: Sequence[sweep.Cell], seeds: list[int], jobs: int, label: str) -> analysis.Regrets:
    """Regrets of every cell; cells are spread over processes."""
    from tqdm import tqdm

    done: Iterable[Any]
    with ProcessPoolExecutor(jobs) as pool:
        work = [(c, seeds) for c in cells]
        done = pool.map(_regrets, work) if jobs > 1 else map(_regrets, work)
        found = list(tqdm(done, total=len(work), desc=label, unit="cell"))
    return {(c.table, c.method): r for c, r in zip(cells, found, strict=True)}


def _regrets(work: tuple[sweep.Cell, list[int]]) -> Any:
    return sweep.regrets(*work)


def _record(row: analysis.Row) -> dict[str, Any]:
    numbers = {"half": f"{row.half:.4f}", "mean": f"{row.mean:.4f}", "std": f"{row.std:.4f}", "p_holm": f"{row.p:.2g}"}
    return {"table": row.table, "method": row.method, **numbers, "against_random": row.verdict, "trials": row.trials}
