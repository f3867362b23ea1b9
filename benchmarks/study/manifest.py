"""`study.json`: the runs expected in a folder, to detect lost parts, and the commands that requested them.

{"format": 1, "runs": {ID: {AGENT: [[FIRST SEED, LAST SEED], ...]}}, "commands": [COMMAND, ...]}
"""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np

from hpo_envs.benchmarks.runs.loop import MOST_SEEDS
from hpo_envs.tables.checks import regular
from hpo_envs.tables.files import atomic
from hpo_envs.tables.files.lock import locked

NAME, FORMAT = "study.json", 1

MOST_RUNS = 4 * MOST_SEEDS
"""Largest number of runs of a folder."""

LISTED = 3
"""Largest number of pairs of id and agent with missing runs, and of ranges of seeds of each, that a message lists."""

Pairs = Mapping[tuple[str, str], Iterable[int]]
"""(id, agent) -> seeds."""


def note(folder: Path, pairs: Pairs, command: str = "") -> None:
    """Add runs to those expected in a folder, and the command or call that requests them, if given.

    Earlier entries of ids without stored runs are removed, because these runs were deleted on purpose.

    Raises:
        ValueError: The file is damaged or a symbolic link, or would list more than `MOST_RUNS` runs.
        OSError: Writing to the disk fails.
    """
    path = atomic.inside(folder, folder / NAME)
    folder.mkdir(parents=True, exist_ok=True)
    with locked(folder):
        here = {unquote(part.parent.name) for part in folder.glob("*/*.parquet")}
        known = {key: seeds for key, seeds in (read(folder) or {}).items() if key[0] in here}
        for key, seeds in pairs.items():
            known[key] = known.get(key, set()) | {*seeds}
        if (count := sum(map(len, known.values()))) > MOST_RUNS:
            raise ValueError(f"a folder must have at most {MOST_RUNS} runs, got {count}")
        plain: dict[str, dict[str, list[list[int]]]] = {}
        for (env, agent), seeds in sorted(known.items()):
            plain.setdefault(env, {})[agent] = _ranges(seeds)
        asked = [*dict.fromkeys([*commands(folder), *filter(None, [command])])]
        atomic.write(path, json.dumps({"format": FORMAT, "runs": plain, "commands": asked}) + "\n")


def commands(folder: Path) -> list[str]:
    """Return the commands and calls that requested a folder's runs; [] without a file, a `ValueError` if damaged."""
    data = json.loads(regular(folder / NAME).read_text(encoding="utf-8")) if (folder / NAME).exists() else {}
    found = data.get("commands", []) if isinstance(data, dict) else None
    if not isinstance(found, list) or not all(isinstance(command, str) for command in found):
        raise ValueError(f"{folder / NAME} must list commands as strings, got {found!r:.200}")
    return found


def read(folder: Path) -> dict[tuple[str, str], set[int]] | None:
    """Return the seeds expected in a folder by (id, agent); None without a file, a `ValueError` if it is damaged."""
    path = folder / NAME
    if not path.exists():
        return None
    try:
        data = json.loads(regular(path).read_text(encoding="utf-8"))
        if data["format"] != FORMAT:
            raise ValueError(f"format {data['format']!r}")
        listed = [pair for by in data["runs"].values() for ranges in by.values() for pair in ranges]
        if (count := sum(len(_seeds(*pair)) for pair in listed)) > MOST_RUNS:
            raise ValueError(f"{count} runs, more than {MOST_RUNS}")
        return {
            (env, agent): {seed for pair in ranges for seed in _seeds(*pair)}
            for env, by in data["runs"].items()
            for agent, ranges in by.items()
        }
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, OverflowError, MemoryError) as error:
        raise ValueError(f"{path} must list runs in the format of hpo_envs, got {error!r:.200}") from None


def missing(folder: Path, found: Pairs) -> str:
    """Return a sentence on expected runs that `found` lacks, or on a missing `study.json`; empty if complete."""
    wanted = read(folder)
    if wanted is None:
        return f"Whether runs are missing is not known: there is no {NAME} beside them." if found else ""
    return lacking_of(wanted, found)


def lacking_of(wanted: Pairs, found: Pairs) -> str:
    """Return a sentence on the wanted runs that `found` lacks; empty if it has all."""
    lacking = {key: left for key, seeds in wanted.items() if (left := {*seeds} - {*found.get(key, ())})}
    if not lacking:
        return ""
    total, count = (sum(len({*seeds}) for seeds in pairs.values()) for pairs in (wanted, lacking))
    named = []
    for (env, agent), seeds in sorted(lacking.items())[:LISTED]:
        ranges = [f"{first}-{last}" if last > first else f"{first}" for first, last in _ranges(seeds)]
        named.append(f"{agent} on {env}, seeds {', '.join(ranges[:LISTED])}{', ...' * (len(ranges) > LISTED)}")
    named += [f"{len(lacking) - LISTED} more"] * (len(lacking) > LISTED)
    return f"INCOMPLETE: {count} of {total} runs of the study are missing: {'; '.join(named)}."


def _seeds(first: Any, last: Any) -> range:
    if not 0 <= first <= last < first + MOST_SEEDS:
        raise ValueError(f"seeds {first} to {last}")
    return range(first, last + 1)


def _ranges(seeds: Iterable[int]) -> list[list[int]]:
    ordered = np.array(sorted(seeds))
    return [[int(part[0]), int(part[-1])] for part in np.split(ordered, np.flatnonzero(np.diff(ordered) > 1) + 1)]
