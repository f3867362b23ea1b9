"""The frozen track hpo_envs-2026, and its archive: reference runs in one file, to rank new agents against.

    python -m hpo_envs.benchmarks.comparison.archive run --runs track/ --jobs 2        # every run of the track
    python -m hpo_envs.benchmarks.comparison.archive run --runs track/ --agents optuna,smac   # and of other packages
    python -m hpo_envs.benchmarks.comparison.archive build --runs track/ --out hpo_envs-2026.zip
    hpo-envs compare --archive hpo_envs-2026.zip --agents my_agents:Mine

The study of the track and its table of runs are next to this file; the archive with all evaluations is a release asset.
"""

import argparse
import contextlib
import dataclasses
import functools
import io
import json
import re
import sys
import tempfile
import tomllib
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from hpo_envs.benchmarks.comparison.comparison import Comparison
from hpo_envs.benchmarks.runs import executors
from hpo_envs.benchmarks.study import flat, manifest, parquet
from hpo_envs.benchmarks.study.scheduler import conduct, progress
from hpo_envs.benchmarks.study.store import Store
from hpo_envs.benchmarks.study.study import SLOW_SEEDS, Study, entrants, from_data, from_file
from hpo_envs.tables import screen
from hpo_envs.tables.checks import naming, regular
from hpo_envs.tables.files import atomic, unpacked

TRACK = Path(__file__).with_name("hpo_envs-2026.toml")
RUNS = TRACK.with_suffix(".parquet")
"""File of the table `runs` of the archive."""

STUDY = "study.toml"

UNPACKED = 2**27
"""Largest size in bytes of an archive, and of its unpacked files together."""

_PART = re.compile(rf"\w[\w.%~-]{{0,199}}/[\w.%~-]{{1,120}}-\d{{1,19}}-\d{{1,19}}-{parquet.ENDING}", re.ASCII)


def build(runs: Path, track: Path = TRACK) -> tuple[bytes, bytes]:
    """Return the archive of the runs in a folder with the study file `track`, and its table `runs`, both as bytes.

    Raises:
        ValueError: Runs are missing or not those of the track, or their replay gives other results.
    """
    comparison = Comparison.load(runs)
    if comparison.missing:
        raise ValueError(f"an archive must have all runs of its track, got {comparison.missing}")
    wanted = {e.id for e in from_file(track).environments}
    if wanted != (found := {block.header["env"] for block in comparison.blocks()}):
        raise ValueError(f"runs must be on the environments of {track}, got {min(wanted ^ found)} in one")
    expected = json.dumps(json.loads((runs / manifest.NAME).read_bytes()) | {"commands": []}).encode()
    sink = io.BytesIO()
    parts = {path.relative_to(runs).as_posix(): path.read_bytes() for path in sorted(runs.glob("*/*.parquet"))}
    with zipfile.ZipFile(sink, "w") as file:
        for name, data in {STUDY: track.read_bytes(), **parts, manifest.NAME: expected}.items():
            file.writestr(zipfile.ZipInfo(name, (2026, 1, 1, 0, 0, 0)), data)  # same runs, same bytes
    return sink.getvalue(), parquet.bytes_of(flat.runs(comparison.blocks()))


@contextlib.contextmanager
def opened(path: Path) -> Iterator[tuple[Study, Path]]:
    """Context of an archive's study (with `random` for its agents) and folder of its runs; `ValueError` if damaged."""
    with tempfile.TemporaryDirectory(prefix="hpo-envs-archive-") as name:
        try:
            content = regular(path, UNPACKED).read_bytes()
            files = unpacked.members(content, UNPACKED, lambda stream, size: stream.read(size))
            if STUDY not in files or not (parts := [file for file in files if _PART.fullmatch(file)]):
                raise ValueError("no study or no runs")
            study = from_data(tomllib.loads(files[STUDY].decode()) | {"agents": "random"})  # its own are not imported
        except (RecursionError, ValueError) as error:
            raise ValueError(f"{path} must be an archive of runs (python -m {__name__} build), got {error}") from None
        for file in (*parts, *({manifest.NAME} & files.keys())):
            (Path(name) / file).parent.mkdir(exist_ok=True)
            with naming(Path(name) / file):
                (Path(name) / file).write_bytes(files[file])
        yield study, Path(name)


def challenge(path: Path, agents: Sequence[str], isolate: bool | str = False) -> Study:
    """Return the study of an archive with other agents, which must be new to it; see `opened` and `entrants`.

    Raises:
        ValueError: No agent of the archive has runs of some seeds of the study.
    """
    with opened(path) as (study, folder):
        own = tuple(entrant for name in agents for entrant in entrants(name, isolate))
        archived = {unquote(p.name.rsplit("-", 3)[0]) for p in folder.glob("*/*.parquet")}
        if both := {e.name for e in own} & archived:
            raise ValueError(f"--agents must be new to the archive, got {', '.join(sorted(both))}")
        store, wanted = Store(folder), {*(study.seeds[:SLOW_SEEDS] if study.by_cost else study.seeds)}
        with _naming(path, folder):
            found = [set[int]().union(*(store.seeds(e.id, a) for a in archived)) for e in study.environments]
            if missing := sum(len(wanted - seeds) for seeds in found):
                raise ValueError(f"{missing} of {len(wanted) * len(found)} seeds of its study have no run")
        return dataclasses.replace(study, agents=own)


@contextlib.contextmanager
def _naming(path: Path, folder: Path) -> Iterator[None]:
    """Name an archive, instead of the folder of its files, in a `ValueError` of the block."""
    try:
        yield
    except ValueError as error:
        said = str(error).replace(str(folder), str(path))
        raise ValueError(f"{path} must have runs that can be compared with these: {said}") from None


def rank(comparison: Comparison, path: Path, *given: Any, **how: Any) -> Comparison:
    """Run a comparison, unless it has run, add an archive's replayed runs and its sentences, and return it.

    Other arguments are those of `Comparison.run`. Runs that cannot be compared with the archive are not made; errors
    are those of `run` and `load`.
    """
    with opened(path) as (_, folder):
        named = functools.partial(_naming, path, folder)
        with named():
            archived = Comparison.load(folder)
        if comparison.outcome is None:
            comparison.run(*given, check=named()(archived.check), **how)
        with named():
            for block in archived.blocks():
                comparison.add(block)
    for name in ("missing", "checked"):
        setattr(comparison, name, " ".join(filter(None, [getattr(comparison, name), getattr(archived, name)])))
    return comparison


@screen.on()
def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; return 1 if an agent failed, else 0."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("run", "build"))
    parser.add_argument("--track", type=Path, default=TRACK, help="study file (default: the frozen track)")
    parser.add_argument("--runs", type=Path, default=Path("track"), help="folder of runs (default: %(default)s)")
    parser.add_argument("--agents", help="other agents, separated by commas (default: those of the track)")
    parser.add_argument("--jobs", type=int, default=1, help="processes (default: %(default)s)")
    default = Path(f"{TRACK.stem}.zip")
    parser.add_argument("--out", type=Path, default=default, help="the archive (default: %(default)s)")
    parser.add_argument("--table", type=Path, help="also write the table of its runs")
    args = parser.parse_args(argv)
    if args.what == "run":
        study = from_file(args.track)
        if args.agents:
            others = tuple(e for a in args.agents.split(",") for e in entrants(a, False))
            study = dataclasses.replace(study, agents=others)
        with executors.of_jobs(args.jobs) as executor, progress() as watch:
            errors = conduct(study, args.runs, executor, watch=watch).errors
        for (env, agent), error in errors.items():
            print(f"{agent} on {env}: {error.strip().splitlines()[-1]}", file=sys.stderr)
        return int(bool(errors))
    archive, table = build(args.runs, args.track)
    atomic.write_all({args.out: archive} | ({args.table: table} if args.table else {}))
    print(f"{args.out}: {len(archive) / 1e6:.1f} MB; its table of runs has {len(table) / 1e6:.1f} MB")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
