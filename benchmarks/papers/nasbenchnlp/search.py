"""Runs the comparison of section 5: every method of a preset, then the table and figures 10 and 12; and figure 5."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import gymnasium as gym
from tqdm import tqdm

import hpo_envs  # noqa: F401
from hpo_envs.agents import AGENTS
from hpo_envs.benchmarks import runs
from hpo_envs.benchmarks.papers.nasbenchnlp import search_analysis as analysis
from hpo_envs.benchmarks.papers.nasbenchnlp import search_figures as figures
from hpo_envs.benchmarks.papers.nasbenchnlp import search_sweep as sweep
from hpo_envs.benchmarks.study import store
from hpo_envs.tables import store as tables
from hpo_envs.tables.files import atomic

EPOCHS = (5, 10, 25, 50)


def run_method(method: sweep.Method, preset: str, seeds: Sequence[int], dataset: str, table: str) -> list[runs.Run]:
    """All trials of a method."""
    env = {"table": table, "variant": sweep.VARIANT[preset], **method.env}
    spec = f"NASBenchNLP-{dataset}-v0"
    if preset == "sensible":
        atomic: Any = gym.make(spec, table=table).unwrapped
        env["budget"] = atomic.budget * sweep.BUDGET / 20  # the default is 20 full trainings
    return runs.run(method.agent, spec, seeds, env_kwargs=env, **method.hyperparameters)


def compare(
    out: Path, preset: str, seeds: Sequence[int], dataset: str = "wikitext2", table: str = "auto", jobs: int = 1
) -> list[dict[str, Any]]:
    """Figures 10 and 12 of a preset.

    Args:
        out: Folder for the runs, the table and the figures; runs found there are not run again.
        preset: Name in `sweep.PRESETS`.
        seeds: One trial each.
        dataset: Part of the id.
        table: Kind of table.
        jobs: Processes.

    Returns:
        One row per method.
    """
    spec = f"NASBenchNLP-{dataset}-v0"
    replay: Any = gym.make(spec, table=table, budget=None, variant=sweep.VARIANT[preset]).unwrapped
    best = analysis.lowest(replay.table)
    methods = [m for m in sweep.PRESETS[preset] if not _missing(m.agent)]
    folder = out / f"{dataset}-{preset}"
    tasks = [(m, preset, list(seeds), dataset, table, folder) for m in methods]
    traces: dict[str, list[analysis.Trace]] = {}
    with tqdm(total=len(tasks), desc=f"figure 10, {preset}", unit="method") as bar:
        for method, found in _map(_cached, tasks, jobs):
            traces[method.name] = [analysis.trace(run, replay) for run in found]
            bar.update()
    rows = [analysis.summary(m.name, traces[m.name], best, sweep.HOURS) for m in methods]
    kind = replay.table.provenance.kind
    write(folder.with_suffix(".csv"), [{"preset": preset, "table": kind, **row} for row in rows])
    title = f"{dataset} ({kind}), {preset} settings, {len(seeds)} trials"
    figures.plot_regret(traces, best, title, out / f"figure10-{dataset}-{preset}")
    figures.plot_final(traces, best, title, out / f"figure12-{dataset}-{preset}")
    return rows


def figure5(out: Path, dataset: str = "wikitext2", table: str = "auto") -> list[dict[str, Any]]:
    """Rank correlations between epochs, as a table and as figure 5."""
    env: Any = gym.make(f"NASBenchNLP-{dataset}-v0", table=table).unwrapped
    found = env.table
    rows = analysis.epoch_correlations(found, EPOCHS)
    write(out / f"figure5-{dataset}.csv", [{"table": found.provenance.kind, **row} for row in rows])
    figures.plot_ranks(found, EPOCHS, out / f"figure5-{dataset}")
    return rows


def write(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    """Writes a table as CSV."""
    path.parent.mkdir(parents=True, exist_ok=True)
    atomic.write_csv(path, rows)


def show(title: str, rows: Sequence[dict[str, Any]]) -> None:
    """Prints a table."""
    print(f"\n{title}")
    widths = {k: max(len(str(k)), *(len(str(row[k])) for row in rows)) for k in rows[0]}
    print("  ".join(str(k).ljust(w) for k, w in widths.items()))
    for row in rows:
        print("  ".join(str(row[k]).ljust(w) for k, w in widths.items()))


def _cached(task: tuple[Any, ...]) -> tuple[sweep.Method, list[runs.Run]]:
    method, preset, seeds, dataset, table, folder = task
    # A folder for each method: presets run one agent with several settings, which a store would refuse to mix.
    where = folder / f"{method.name.replace(' ', '-').replace(',', '')}-{table}"
    kept = {r.seed for r in store.read(where)} if where.is_dir() else set()
    new = [s for s in seeds if s not in kept]
    if new:
        store.write(run_method(method, preset, new, dataset, table), where)
    return method, [r for r in store.read(where) if r.seed in seeds]


def _map(function: Any, tasks: list[Any], jobs: int) -> Any:
    if jobs == 1:
        return map(function, tasks)
    from multiprocessing import get_context

    pool = get_context("spawn").Pool(jobs)
    return pool.imap(function, tasks)


def _missing(agent: str) -> bool:
    """Whether an agent's extra is not installed; its method is left out then, and said so."""
    extra = AGENTS[agent].extra
    if extra is None:
        return False
    try:
        importlib.import_module(extra)
    except ModuleNotFoundError:
        print(f'{agent} is left out: it needs pip install "hpo_envs[{extra}]"')
        return True
    return False


def _datasets() -> list[tuple[str, str]]:
    """(name, table) of what the figures are drawn for: PTB as in the paper only once its full logs are fetched."""
    found = [("wikitext2", "auto")]
    if not tables.missing("nasbenchnlp/ptb"):
        found.append(("ptb", "measured"))
    else:
        print("PTB is left out: its curves need the full logs, `hpo-envs fetch nasbenchnlp-ptb-logs`")
    return found


def _part5(out: Path, trials: int | None, jobs: int, seed: int) -> None:
    """Figure 5: rank correlation of the validation loss at epochs 5, 10, 25 and 50 with the final test loss."""
    for dataset, table in _datasets():
        show(f"Figure 5: rank correlation with the final test loss, {dataset}", figure5(out, dataset, table))


def _part10(out: Path, trials: int | None, jobs: int, seed: int) -> None:
    """Figures 10 and 12: regret against simulated hours, in both presets."""
    seeds = range(seed, seed + (trials or sweep.TRIALS))
    for dataset, table in _datasets():
        for preset in sweep.PRESETS:
            rows = compare(out, preset, seeds, dataset, table, jobs)
            show(f"Figures 10 and 12: {dataset}, {preset} settings", rows)


PARTS: dict[str, Callable[[Path, int | None, int, int], None]] = {"figure5": _part5, "figure10": _part10}
"""Parts of `hpo-envs reproduce nasbenchnlp`."""
