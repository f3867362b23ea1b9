"""The suite's own comparison: every reference agent on every environment that it fits, on the measured tables.

    python -m hpo_envs.benchmarks.leaderboard run --runs runs/ --jobs 2
    python -m hpo_envs.benchmarks.leaderboard publish --runs runs/

`run` continues where it stopped. `publish` writes what is committed: the scores (`benchmarks/leaderboard.json`, no
evaluations), the picture and the page in `docs/`, and the table in `README.md`.
"""

from __future__ import annotations

import argparse
import json
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import gymnasium as gym

from hpo_envs.agents import AGENTS, Problem
from hpo_envs.benchmarks import plots, report, runs, store, summary
from hpo_envs.benchmarks.report import words
from hpo_envs.registry import SPECS, Spec
from hpo_envs.tables import store as tables

SUMMARY = Path(__file__).with_name("leaderboard.json")

EXTERNAL = ("optuna",)
"""Extras whose agents are slow wrappers of other libraries: they get `--external-seeds`."""

BATCH = 20
"""Seeds of one task: what an interruption loses at most."""

BEGIN, END = "<!-- leaderboard: python -m hpo_envs.benchmarks.leaderboard publish -->", "<!-- end -->"

Task = tuple[str, str, tuple[int, ...]]
"""(id, agent, seeds)."""


def stage_of(spec: Spec, problem: Problem) -> str:
    """What kind of action an environment takes, in the words of `Entry.supports`."""
    if spec.family == "FIESTA":
        return "arms"
    if problem.mutate is not None:
        return "cells"
    if problem.levels is not None:
        return "levels"
    return {"Discrete": "rows", "MultiDiscrete": "grid", "Box": "box"}[type(problem.action_space).__name__]


def fits(name: str, spec: Spec, problem: Problem) -> bool:
    """Whether an agent can work on a problem."""
    supports, stage = AGENTS[name].supports, stage_of(spec, problem)
    if "features" in supports and problem.features is None and stage != "grid":
        return False
    if problem.objectives > 1:
        # Those made for several objectives alone name nothing else; they work on rows.
        return "objectives" in supports and (stage in supports or (stage == "rows" and supports == ("objectives",)))
    return stage in supports


def plan(only: Sequence[str] = ()) -> Iterator[tuple[str, str]]:
    """(id, agent) of everything that fits, aliases left out, and ids whose measured table is not installed.

    Args:
        only: Parts of ids or families; all if empty.
    """
    for spec in SPECS.values():
        if only and not any(text.lower() in f"{spec.family} {spec.id}".lower() for text in only):
            continue
        if arguments(spec) and any(tables.missing(t) for t in spec.tables):
            warnings.warn(f"{spec.id} is left out: its measured table is not installed", stacklevel=2)
            continue
        envs = gym.make_vec(spec.id, num_envs=1, **arguments(spec))
        problem = runs.problem_of(envs)
        envs.close()
        for name, entry in AGENTS.items():
            if entry.alias_of is None and fits(name, spec, problem):
                yield spec.id, name


def arguments(spec: Spec) -> dict[str, Any]:
    """The measured table wherever something was measured."""
    measured = not spec.surrogate_only and all(tables.measurable(t) for t in spec.tables)
    return {"table": "measured"} if measured else {}


def tasks(folder: Path, seeds: int, external: int, only: Sequence[str]) -> list[Task]:
    """What is still to be run."""
    have, found = store.Store(folder), []
    for env, name in plan(only):
        wanted = external if AGENTS[name].extra in EXTERNAL else seeds
        missing = sorted(set(range(wanted)) - have.seeds(env, name))
        found += [(env, name, tuple(missing[k : k + BATCH])) for k in range(0, len(missing), BATCH)]
    return found


def perform(task: Task, folder: Path) -> tuple[str, str, int, int, float]:
    """Runs and stores one task; returns id, agent, seeds, evaluations and seconds of CPU."""
    import time

    env, name, seeds = task
    start = time.process_time()
    done = runs.run(name, env, seeds, env_kwargs=arguments(SPECS[env]))
    store.write(done, folder)
    return env, name, len(seeds), sum(map(len, done)), time.process_time() - start


def run_all(folder: Path, todo: Sequence[Task], jobs: int, times: Path | None = None) -> None:
    """Runs tasks in processes; a failed one is named and left out."""
    from concurrent.futures import ProcessPoolExecutor, as_completed
    from multiprocessing import get_context

    from tqdm import tqdm

    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        futures = {pool.submit(perform, task, folder): task for task in todo}
        for future in tqdm(as_completed(futures), total=len(futures), unit=" tasks"):
            try:
                record = future.result()
            except Exception as error:
                env, name, _ = futures[future]
                tqdm.write(f"{name} on {env}: {type(error).__name__}: {error}")
                continue
            if times:
                with times.open("a", encoding="utf-8") as stream:
                    stream.write(",".join(str(round(v, 3) if isinstance(v, float) else v) for v in record) + "\n")


def markdown(found: Mapping[str, Any]) -> str:
    """The leaderboard as a table, for the README."""
    lines = ["| environments | lowest regret | mean [95 % interval] | random search | not told apart from it |"]
    lines.append("|---|---|---|---|---|")
    for t in found["tracks"]:
        if len(t["ranking"]) < 2:
            continue
        leader = t["ranking"][0]
        base = next((words.number(r["mean"][0]) for r in t["ranking"] if r["agent"] == "random"), "")
        pairs = [(r["agent"], words.against(t, leader["agent"], r["agent"])) for r in t["ranking"][1:]]
        ties = [f"`{a}`" for a, p in pairs if p and p["verdict"] == "tie"]
        shown = ", ".join(ties) if len(ties) < 6 else f"{', '.join(ties[:4])} and {len(ties) - 4} more"
        name = f"{t['name']} ({len(t['environments'])}{', at the end' if t['score'] == 'final' else ''})"
        lines.append(
            f"| {name} | `{leader['agent']}` | {words.interval(leader['mean'])} | {base} | {shown or 'none'} |"
        )
    return "\n".join(lines)


def _thin(panel: Mapping[str, Any], points: int = 20) -> dict[str, Any]:
    """A panel with fewer points and without bands, which are most of the file; `run` makes them again."""
    keep = sorted({round(i * (len(panel["x"]) - 1) / (points - 1)) for i in range(points)})
    agents = {a: [[band[0][i] for i in keep]] for a, band in panel["agents"].items()}
    return {"x": [panel["x"][i] for i in keep], "agents": agents}


def publish(folder: Path, root: Path) -> None:
    """Writes scores, picture, page and the README's table below the root of the repository."""
    command = "python -m hpo_envs.benchmarks.leaderboard run --runs runs/ --jobs 2"
    title = "hpo_envs leaderboard"
    found = summary.of_runs(store.read(folder), title=title, command=command, with_fronts=False)
    found["curves"] = {env: {k: _thin(p) for k, p in panels.items()} for env, panels in found["curves"].items()}
    SUMMARY.write_text(json.dumps(found, separators=(",", ":")) + "\n", encoding="utf-8")
    plots.overview(found, root / "docs" / "leaderboard")
    page = root / "docs" / "leaderboard.html"
    page.write_text(report.render(found, citations=summary.citations(found)), encoding="utf-8")
    readme = root / "README.md"
    text = readme.read_text(encoding="utf-8")
    if BEGIN not in text or END not in text:
        raise ValueError(f"README.md must have the lines {BEGIN!r} and {END!r}, got none")
    inside = f"{BEGIN}\n{markdown(found)}\n{END}"
    readme.write_text(re.sub(f"{re.escape(BEGIN)}.*?{re.escape(END)}", lambda _: inside, text, flags=re.S), "utf-8")


def main(argv: Sequence[str] | None = None) -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("run", "publish"))
    parser.add_argument("--runs", type=Path, default=Path("runs"), help="folder of runs (default: %(default)s)")
    parser.add_argument("--seeds", type=int, default=100, help="seeds of our agents (default: %(default)s)")
    parser.add_argument("--external-seeds", type=int, default=20, help="seeds of others' (default: %(default)s)")
    parser.add_argument("--only", nargs="*", default=[], help="parts of ids or families (default: all)")
    parser.add_argument("--jobs", type=int, default=1, help="processes (default: %(default)s)")
    parser.add_argument("--times", type=Path, help="append id, agent, seeds, evaluations, CPU seconds to this CSV file")
    parser.add_argument("--root", type=Path, default=Path(), help="of the repository, for publish")
    args = parser.parse_args(argv)
    if args.what == "publish":
        publish(args.runs, args.root)
    else:
        todo = tasks(args.runs, args.seeds, args.external_seeds, args.only)
        run_all(args.runs, todo, args.jobs, args.times)


if __name__ == "__main__":
    main()
