"""Studies of Optuna as frames: an object, or a storage (SQLite database or journal)."""

import contextlib
import dataclasses
import re
import sqlite3
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from hpo_envs.tables.checks import extra_module
from hpo_envs.tables.files.unpacked import content_of
from hpo_envs.tables.table import Hyperparameter
from hpo_envs.tables.user.frame import Frame, of_frame
from hpo_envs.tables.user.space import space_of

OTHER = """
SELECT name FROM sqlite_master
WHERE NOT (sql LIKE 'CREATE TABLE %' OR sql LIKE 'CREATE INDEX %' OR sql LIKE 'CREATE UNIQUE INDEX %')
UNION ALL SELECT m.name FROM sqlite_master m, pragma_table_xinfo(m.name) c WHERE m.type = 'table' AND c.hidden > 0
"""
"""Query for views, triggers, virtual tables, and tables with computed columns, which may need any time and memory."""


def of_study(study: Any, bounds: Mapping[str, tuple[float, float]] | None = None) -> Frame:
    """Return the frame of the finished trials of an `optuna.Study`, without Optuna; ValueError if none is complete."""
    trials = [t for t in study.get_trials(deepcopy=False) if t.state.is_finished()]
    if not any(t.state.name == "COMPLETE" for t in trials):
        raise ValueError(f"study must have a complete trial, got none among {len(trials)} finished trials")
    goals = ["min" if d.name == "MINIMIZE" else "max" for d in study.directions]
    metrics = [f"value_{i}" for i in range(len(goals))] if len(goals) > 1 else ["value"]
    metrics = list(study.metric_names or metrics)
    space: dict[str, Any] = {}
    rows: list[dict[str, Any]] = []
    for t in trials:
        for n, d in t.distributions.items():
            if hasattr(d, "choices") != hasattr(space.get(n, d), "choices"):
                raise ValueError(f"parameter {n} must be choices or numbers in all trials, got {d} in trial {t.number}")
        space |= t.distributions
        values = t.values or [None] * len(goals)  # those of a pruned one are its last report
        seconds = t.duration.total_seconds() if t.duration is not None else 0.0
        rows.append({f"values_{m}": v for m, v in zip(metrics, values, strict=True)})
        rows[-1] |= {f"params_{k}": str(v) for k, v in t.params.items()}
        rows[-1] |= {"number": f"trial-{t.number}", "state": t.state.name, "duration": max(seconds, 0.0)}
    known = {
        "score": [f"values_{m}" for m in metrics],
        "goal": goals,
        "status": "state",
        "bounds": {f"values_{k}": v for k, v in (bounds or {}).items()},
        "space": [_axis(f"params_{n}", d, [t.params[n] for t in trials if n in t.params]) for n, d in space.items()],
    }
    frame, source = pd.DataFrame(rows, dtype=object), f"Optuna study {study.study_name}"
    return of_frame(frame, source, lines=[t.number for t in trials], unit="trial", known=known)


def _axis(name: str, distribution: Any, values: list[Any]) -> Hyperparameter:
    """Define a parameter; a range covers the values of all trials, and so does a list, which has at most 12 values."""
    if hasattr(distribution, "choices"):
        plain = (bool, int, float, str)
        distribution = {"choices": [c if isinstance(c, plain) else str(c) for c in distribution.choices]}
    (h,) = space_of({name: distribution})
    if h.kind == "categorical":
        return h
    low, high = float(min(h.low, *values)), float(max(h.high, *values))
    listed = h.values if all(v in h.values for v in values) and len(h.values) <= 12 else ()
    return dataclasses.replace(h, low=low, high=high, values=listed)


def is_storage(content: bytes) -> bool:
    """Return whether bytes are a database or journal of Optuna."""
    journal = re.match(rb'\s*\{"op_code": ?\d+, ?"worker_id"', content) is not None
    return journal or (content.startswith(b"SQLite format 3\0") and b"trial_params" in content)


def of_storage(path: Path, content: bytes) -> Frame:
    """Return the frame of the only study in an Optuna storage, read from a copy because Optuna would write to it.

    Raises:
        ValueError: There is not exactly one study, it has no complete trial, or the file is damaged or has views.
        ModuleNotFoundError: Optuna is not installed.
    """
    optuna = extra_module("optuna", "optuna", "studies")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        copy = Path(folder) / "study"
        copy.write_bytes(content)
        try:
            if content.startswith(b"SQLite"):
                for side in ("-wal", "-journal"):  # what SQLite has not yet written to the file, or must undo
                    if (beside := path.with_name(path.name + side)).is_file():
                        copy.with_name(copy.name + side).write_bytes(content_of(beside))
                with contextlib.closing(sqlite3.connect(copy)) as database:
                    if other := database.execute(OTHER).fetchone():
                        raise ValueError(f"{other[0]}, which is not a plain table")
                storage: Any = f"sqlite:///{copy.as_posix()}"
            else:
                storage = optuna.storages.JournalStorage(optuna.storages.journal.JournalFileBackend(str(copy)))
            names = optuna.get_all_study_names(storage)
            study = optuna.load_study(study_name=names[0], storage=storage) if len(names) == 1 else None
        except Exception as error:  # the data base's own, as many as there are data bases
            reason = str(error).partition("\n")[0]
            raise ValueError(f"{path} must be a readable Optuna storage, got {reason}") from error
        if study is None:
            found = ", ".join(names) or "none"
            raise ValueError(f"{path} must have one study, got {found} (hpo-envs table from-optuna)")
        try:
            return of_study(study)
        except ValueError:
            raise
        except Exception as error:  # the storage is read only now
            raise ValueError(f"{path} must be a readable Optuna storage, got {error!r}") from error
