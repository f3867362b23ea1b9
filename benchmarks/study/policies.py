"""Files of trained policies as a study sees them: what they were trained on, and where they fit. Nothing is run.

`hpo_envs.integrations.sb3.save_policy` writes them, `hpo_envs.integrations.policy` runs them.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gymnasium.spaces import Discrete

from hpo_envs.agents import Problem
from hpo_envs.agents.encoding import decode_space
from hpo_envs.tables.catalogue import overlap

RECORD = "hpo_envs.json"
"""The entry of the archive that holds the record."""

MOST_BYTES = 1 << 30
"""Maximum size of an unpacked entry."""


def read(file: str) -> tuple[dict[str, Any], str]:
    """The record of a file, and the sha256 of the file. Nothing of it is run.

    Raises:
        ValueError: No such file, or none that `save_policy` wrote.
    """
    return opened(file)[:2]


def arguments(file: str) -> dict[str, Any]:
    """Hyperparameters of `hpo_envs.integrations.policy:TrainedPolicy`: a file, and the sha256 of what is in it.

    Raises:
        ValueError: No file of `save_policy`.
    """
    return {"file": str(Path(file).resolve()), "sha256": read(file)[1]}


def fits(problem: Problem, file: str, seen: bool = True, **others: Any) -> bool:
    """Return whether a file's policy can run on a problem, one that it has seen only if it may."""
    return unfit(problem, read(file)[0], seen) is None


def unfit(problem: Problem, record: Mapping[str, Any], seen: bool) -> str | None:
    """Requirement that a policy's environment violates; None if it fits."""
    both = overlap(record["trained_on"], problem.excluded)
    if both and not seen:
        return f"on languages that it was not trained on, or with seen=True, got {', '.join(both)}"
    trained, now = decode_space(record["action_space"]), problem.action_space
    if by_number(record) and problem.index is not None:
        assert problem.base is not None
        rows = trained.n if isinstance(trained, Discrete) else trained.nvec[0]  # type: ignore[attr-defined]
        same = rows == len(problem.base)
    else:
        same = trained == now
    return None if same else f"where actions are those that it was trained on, {trained}, got {now}"


def by_number(record: Mapping[str, Any]) -> bool:
    """Return whether actions are the table's rows."""
    return not record["shuffle"] and record["kind"] in ("rows", "fidelity")


def opened(file: str) -> tuple[dict[str, Any], str, zipfile.ZipFile]:
    """The record of a file, the sha256 of the file, and the archive that it is."""
    try:
        data = Path(file).read_bytes()
        archive = zipfile.ZipFile(io.BytesIO(data))
        record = json.loads(entry(archive, RECORD))
        if record["format"] != 1:
            raise ValueError(f"format {record['format']}")
    except (OSError, zipfile.BadZipFile, KeyError, TypeError, ValueError) as error:
        raise ValueError(
            f"policy must be a file that hpo_envs.integrations.sb3.save_policy wrote, which records the wrappers, "
            f"got {file} ({error})"
        ) from None
    return record, hashlib.sha256(data).hexdigest(), archive


def entry(archive: zipfile.ZipFile, name: str) -> bytes:
    """Content of an entry of an archive.

    Raises:
        ValueError: Too much.
    """
    if (size := archive.getinfo(name).file_size) > MOST_BYTES:
        raise ValueError(f"{name} must have at most {MOST_BYTES} bytes, got {size}")
    return archive.read(name)
