"""Shared by tests: ids whose tables are installed, and missing packages."""

import contextlib
import importlib.util
import io
import os
import re
import subprocess
import sys
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

import hpo_envs
from hpo_envs.agents import AGENTS
from hpo_envs.families import registry
from hpo_envs.families.registry import FAMILIES, SPECS
from hpo_envs.tables import draws
from hpo_envs.tables.files.folder import data_folder

ROOT = Path(__file__).resolve().parents[1]
"""The checkout, or the folder with `tests`, `docs` and README that an installed package is tested from."""


def first_key(seed: int) -> int:
    """The key of the first episode after `reset(seed=seed)`."""
    return draws.mix(draws.mix(seed, 0), 1)


def sources(suffix: str = ".py") -> dict[str, Path]:
    """Files of the package by path, each once; in a checkout some are links or lie elsewhere."""
    linked = ("agents", "benchmarks", "tables")
    folders = {"": Path(hpo_envs.__file__).parent}
    for name in linked:
        (where,) = importlib.util.find_spec(f"hpo_envs.{name}").submodule_search_locations  # type: ignore[union-attr, misc]
        folders[f"{name}/"] = Path(where).resolve()
    found = {}
    for start, folder in folders.items():
        for path in folder.rglob(f"*{suffix}"):
            inside = path.relative_to(folder)
            if start or inside.parts[0] not in linked:
                found[f"{start}{inside.as_posix()}"] = path
    return dict(sorted(found.items()))


SCRIPTS = ("eng", "ady", "arm", "geo", "gre", "hin", "jpn", "kor")
"""A language of CharMini for each script; tables of the same script differ in numbers only."""

TASKS = ("lstm128", "irnn64", "215m-4b", "moe-1in8-2b")
"""Tasks of TaskSet with few and with many diverged runs, and grids of StepLaw; others differ in numbers only."""


WIDE = "HPO_ENVS_FUZZ" in os.environ
"""Whether contracts run on everything, as in `.ci/nightly`, or on one of each kind."""


def __getattr__(name: str) -> list[str]:
    """`IDS`: ids whose tables are at hand (few of CharMini, TaskSet and StepLaw); `ONE_OF_EACH`: by class, objectives.

    Computed on access, because isolated agents that import this module must not read tables.
    """
    if name in ("IDS", "ONE_OF_EACH"):
        known = [s for s in SPECS.values() if s.kwargs.get("language", SCRIPTS[0]) in SCRIPTS]
        known = [s for s in known if not s.id.startswith(("TaskSet", "StepLaw")) or {*s.kwargs.values()} & {*TASKS}]
        specs = [s for s in known if registry.installed(s)]
        kinds = {(s.vector_entry_point, isinstance(s.kwargs.get("objective"), tuple)): s for s in reversed(specs)}
        return [s.id for s in (specs if name == "IDS" else reversed(kinds.values()))]
    raise AttributeError(name)


needs_upstream = pytest.mark.skipif(not (data_folder() / "nmthpo").is_dir(), reason="needs upstream's files")
"""Mark of tests that compare what ships with upstream's files."""


def missing_extra(agent: str) -> str | None:
    """The extra that an agent needs and that is not installed."""
    return None if AGENTS[agent].installed else AGENTS[agent].extra


def short(spec_id: str) -> dict[str, Any]:
    """Arguments for an episode of a few steps on an id."""
    return dict(FAMILIES[SPECS[spec_id].family].short)


def started(env: Any, seed: int = 0) -> Any:
    """An environment, or several, after `reset(seed=seed)`."""
    env.reset(seed=seed)
    return env


def raises(message: str, error: type[Exception] = ValueError) -> Any:
    """Expect an error with exactly this message."""
    return pytest.raises(error, match=f"^{re.escape(message)}$")


def rejects(match: str, call: Callable[..., Any], *args: Any, error: Any = ValueError, **kwargs: Any) -> None:
    """Assert that a call raises an error whose message matches."""
    with pytest.raises(error, match=match):
        call(*args, **kwargs)


def here_and_elsewhere(
    script: str, monkeypatch: pytest.MonkeyPatch, variables: Mapping[str, str] | None = None
) -> tuple[str, str]:
    """Outputs of a script in this process and in another one with a different hash seed; its argument is the root.

    Args:
        script: The program.
        monkeypatch: Restores what the script changes here.
        variables: Further environment variables of the other process.
    """
    theirs = subprocess.Popen(
        [sys.executable, "-c", script, str(ROOT)],
        env={**os.environ, "PYTHONHASHSEED": "4711", **(variables or {})},
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    monkeypatch.setattr(sys, "argv", ["-c", str(ROOT)])
    monkeypatch.setattr(sys, "path", sys.path[:])
    with contextlib.redirect_stdout(io.StringIO()) as ours, warnings.catch_warnings():
        exec(script, {})
    out, error = theirs.communicate()
    assert theirs.returncode == 0, error
    return ours.getvalue().strip(), out.strip()
