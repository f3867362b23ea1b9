"""Leaderboard: studies of the suite's agents, and of external ones, on the ids that they support; committed scores.

    python -m hpo_envs.benchmarks.leaderboard run --runs runs/ --jobs 2
    python -m hpo_envs.benchmarks.leaderboard publish --runs runs/

`run` resumes after an interruption. `publish` writes the committed scores (`benchmarks/leaderboard.json.gz`, without
evaluations), to which `python -m hpo_envs.benchmarks.tasks.verdict publish` adds the verdict across task groups.
`hpo-envs report` makes a page of them.
"""

import argparse
import contextlib
import dataclasses
import datetime
import fnmatch
import gzip
import json
import time
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hpo_envs.agents import AGENTS
from hpo_envs.benchmarks.comparison.comparison import Comparison
from hpo_envs.benchmarks.runs import executors, run, transfer
from hpo_envs.benchmarks.study.scheduler import conduct, progress
from hpo_envs.benchmarks.study.study import POLICY, SEEDS, SLOW_SEEDS, SUBSAMPLE, Entrant, Environment, Study, entrants
from hpo_envs.families.registry import FAMILIES, SPECS, installed
from hpo_envs.tables import screen
from hpo_envs.tables import store as tables
from hpo_envs.tables.checks import nearest
from hpo_envs.tables.files import atomic

SUMMARY = Path(__file__).with_name("leaderboard.json.gz")

BESIDE = ("random", "bo", "bo-spread", "freeze-thaw", "asha", "hyperband")
"""Agents of the transfer track that need no source tasks: baselines of the agents that need them."""

TRAINED = "learned-policy"
"""The agent with trained weights that is also ranked without source tasks."""


def environments(only: Sequence[str] = ()) -> list[list[Environment]]:
    """Return one list of environments per setting of the leaderboard, without ids of users' tables.

    Ids whose tables are not installed cause a warning and are left out. The first list has the ids with the first
    arguments of their family (`leaderboard`), the second those of families with second arguments, and so on. `only` are
    families or ids, with wildcards, case-insensitive; all if empty.

    Raises:
        ValueError: An entry matches no family or id.
    """
    names = {name.lower() for spec in SPECS.values() for name in (spec.family, spec.id)}
    for text in only:
        if not fnmatch.filter(names, text.lower()):
            known = sorted({spec.family for spec in SPECS.values()})
            raise ValueError(
                f"--only must be families or ids ({', '.join(known)}, ...), got {text!r}{nearest(text, known)}"
            )
    found: list[list[Environment]] = []
    for spec in SPECS.values():
        family = FAMILIES[spec.family]
        if family.user_levels:  # they answer from a user's table
            continue
        if only and not any(fnmatch.filter((spec.family.lower(), spec.id.lower()), text.lower()) for text in only):
            continue
        if not installed(spec):
            warnings.warn(f"{spec.id} is excluded: run `{tables.command(spec.tables)}`", stacklevel=2)
            continue
        found.extend([] for _ in range(len(family.leaderboard) - len(found)))
        for group, arguments in zip(found, family.leaderboard, strict=False):
            group.append(Environment(spec.id, dict(arguments)))
    return found


def studies(seeds: int, only: Sequence[str] = (), others: Sequence[str] = ()) -> list[tuple[str, Study]]:
    """Return (name of its folder, study) for each study with environments; "" is the common folder.

    Every seed is a replication; agents that take more than a second per run have fewer. Agents that learn from
    source tasks have a separate study with these. `only` is that of `environments`; `others` are external agents:
    registered ones, which have a separate study, as their packages may be missing; or `module:factory` or
    `policy:FILE`, each of which runs in a separate process.

    Raises:
        ValueError: See `environments`; or an entry of `others` is an agent of the suite, or not valid.
    """
    every = tuple(range(seeds))
    if ours := [n for n in others if n in AGENTS and AGENTS[n].entrant]:
        raise ValueError(f"agents must be external, got {', '.join(ours)}, which the leaderboard already has")
    external = [c for n in others if n in AGENTS for c in entrants(n, isolated=False)]
    alone = [c for n in others if n not in AGENTS for c in entrants(n, isolated=True)]
    policy = [Entrant(TRAINED, TRAINED), *(c for c in alone if c.algorithm == POLICY)]
    agents = [Entrant(n, n) for n, e in AGENTS.items() if e.entrant and not e.unseen]
    agents += [c for c in alone if c not in policy]
    learning = [Entrant(n, n) for n, e in AGENTS.items() if n in BESIDE or e.sources or e.unseen]
    groups: list[tuple[str, Sequence[Environment], Sequence[Entrant]]] = []
    for k, envs in enumerate(settings := environments(only), 1):
        folder = f"setting-{k}" if k > 1 else ""
        groups += [(folder, envs, agents), *((folder, unseen(c, envs), [c]) for c in policy)]
        groups += [(f"guests-{k}", envs, external)] if external else []
    groups += [("transfer", with_sources(envs), learning) for envs in settings[:1]]
    return [
        (name, Study(tuple(envs), tuple(who), every, SUBSAMPLE, by_cost=True)) for name, envs, who in groups if envs
    ]


def with_sources(envs: Sequence[Environment]) -> list[Environment]:
    """Return copies, with `transfer="family"`, of those environments that have source tasks."""
    found = []
    for e in (dataclasses.replace(e, transfer=transfer.FAMILY) for e in envs):
        with contextlib.suppress(ValueError):  # no split by language, or no table is left
            e.problem()
            found.append(e)
    return found


def unseen(agent: Entrant, envs: Sequence[Environment]) -> list[Environment]:
    """Return the environments that an agent supports, without kinds (classes) that have one with train/test overlap.

    An agent that runs on only some environments of a kind would split the kind into two rankings.
    """
    found, spoiled = [], set()
    for e in envs:
        problem, kind = e.problem(), SPECS[e.id].entry_point
        if agent.fits(problem, seen=True):
            found.append((e, kind))
            if not agent.fits(problem, seen=False):
                spoiled.add(kind)
    return [e for e, kind in found if kind not in spoiled]


def run_all(folder: Path, planned: Sequence[tuple[str, Study]], jobs: int) -> int:
    """Run the missing runs of the studies and print errors; return how many pairs of agent and environment failed."""
    failed = 0
    with executors.of_jobs(jobs) as executor:
        for name, study in planned:
            with progress() as watch:
                outcome = conduct(study, folder / name, executor, watch=watch)
            for (env, name), error in outcome.errors.items():
                print(f"{name} on {env}: {error.strip().splitlines()[-1]}")
            failed += len(outcome.errors)
    return failed


def _thin(panel: Mapping[str, Any], bands: int) -> dict[str, Any]:
    """Return a panel with at most 20 points per curve: the means, and the first `bands` of their bounds."""
    keep = sorted({round(i * (len(panel["x"]) - 1) / 19) for i in range(20)})
    agents = {a: [[line[i] for i in keep] for line in lines[: 1 + bands]] for a, lines in panel["agents"].items()}
    return {"x": [panel["x"][i] for i in keep], "agents": agents}


def thinned(found: Mapping[str, Any]) -> dict[str, Any]:
    """Return a summary with fewer points per curve, and without intervals of the curves of single environments.

    Degenerate tracks, which the page only lists, have neither curves nor pairs.
    """
    curves = {env: {k: _thin(p, 0) for k, p in panels.items()} for env, panels in found["curves"].items()}
    none: dict[str, Any] = {"curves": {}, "pairs": []}
    tracks = [{**t, **(none if t.get("flat") else {"curves": {k: _thin(p, 2) for k, p in t["curves"].items()}})}
              for t in found["tracks"]]  # fmt: skip
    return {**found, "curves": curves, "tracks": tracks}


def seconds_of(header: Mapping[str, Any]) -> float | None:
    """Run an agent twice; return the mean CPU seconds per evaluation, with its suggestion, of the second run.

    The result is None, without runs, if the agent is isolated or not registered, or its package is missing.
    """
    if header.get("isolated") or header["agent"] not in AGENTS or not AGENTS[header["agent"]].installed:
        return None
    drawn_rows = {k: header[k] for k in ("subsample", "shuffle")} if header["subsample"] < 1 else {}
    given = {**drawn_rows, **header["env_kwargs"]}
    helped = transfer.FAMILY if header.get("transfer") else None
    for seed in (0, 1):  # the first loads modules and tables
        begun = time.process_time()
        (made,) = run(header["agent"], header["env"], [seed], env_kwargs=given, transfer=helped)
        spent = time.process_time() - begun
    return spent / max(len(made.rewards), 1)


def without_doubles(found: dict[str, Any]) -> dict[str, Any]:
    """Move duplicates of random search from each track's `ranking` to its `doubles` (names); return the summary."""
    for t in found["tracks"]:
        t["doubles"] = [
            r["agent"] for r in t["ranking"] if r["random"] == len(t["environments"]) and r["agent"] != "random"
        ]
        t["ranking"] = [r for r in t["ranking"] if r["agent"] not in t["doubles"]]
    return found


def publish(folder: Path, only: Sequence[str] = ()) -> None:
    """Write the committed scores from a folder of runs; print which runs are missing.

    Raises:
        ValueError: There are no runs on an id (of those that `only` selects, see `environments`), the replay of runs
            gives other results, or they cannot be compared.
    """
    command = "python -m hpo_envs.benchmarks.leaderboard run --runs runs/ --jobs 2"
    command += f" --only {' '.join(only)}" if only else ""
    parts = (sorted(folder.glob(kind)) for kind in ("setting-*", "transfer", "guests-*"))
    folders = [folder, *(where for part in parts for where in part)]
    comparison = Comparison.load(*folders)
    if comparison.missing:
        print(comparison.missing)
    found = thinned(comparison.summary("hpo_envs leaderboard", command, with_fronts=False))
    have = {e["id"] for e in found["environments"]}
    if lacking := [e.id for e in environments(only)[0] if e.id not in have]:
        raise ValueError(f"runs must be on all ids, or all of --only, got none on {len(lacking)}: {lacking[0]}, ...")
    registered = {a["name"]: AGENTS[a["name"]] for a in found["agents"] if a["name"] in AGENTS}
    external = sorted(n for n, e in registered.items() if not (e.entrant or e.sources or e.unseen))
    found["command"] += f" --agents {' '.join(external)}" if external else ""
    found["versions"]["published"] = datetime.datetime.now(datetime.UTC).date().isoformat()
    for t in found["tracks"]:
        for r in t["ranking"]:
            r["seconds"] = seconds_of(comparison.header(t["environments"][0], r["agent"]))
    text = json.dumps(without_doubles(found), separators=(",", ":"))
    atomic.write_all({SUMMARY: gzip.compress(text.encode(), mtime=0)})


@screen.on()
def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; return 1 if an agent failed, else 0."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("run", "publish"))
    parser.add_argument("--runs", type=Path, default=Path("runs"), help="folder of runs (default: %(default)s)")
    parser.add_argument("--seeds", type=int, default=SEEDS, help=f"seeds, of slow agents at most {SLOW_SEEDS}")
    parser.add_argument("--only", nargs="*", default=[], help="families or ids, with wildcards (default: all)")
    others = "other people's: smac, botorch, ...; or module:factory or policy:FILE, each in a process of its own"
    parser.add_argument("--agents", nargs="*", default=[], help=others)
    parser.add_argument("--jobs", type=int, default=1, help="processes (default: %(default)s)")
    args = parser.parse_args(argv)
    if args.what == "run":
        return int(run_all(args.runs, studies(args.seeds, args.only, args.agents), args.jobs) > 0)
    publish(args.runs, args.only)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
