"""`from_csv`, `from_frame`, `from_study`: a file, folder, frame or Optuna study as a table, and their options."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from hpo_envs.tables.checks import shown
from hpo_envs.tables.table import Table
from hpo_envs.tables.user.assembly import LABELS, build
from hpo_envs.tables.user.deciding.decisions import decide
from hpo_envs.tables.user.frame import Frame, of_frame
from hpo_envs.tables.user.reading import files, studies, tools

Goal = Literal["max", "min"]


def read(source: Any, max_bytes: int | None = None) -> Frame:
    """Read a file of runs, a folder of them, a DataFrame, an Arrow table or an Optuna study, and recognise its tool.

    Raises:
        ValueError: The source or a file is of another kind, too large or invalid; lines are named.
        OSError: The file cannot be read.
        ModuleNotFoundError: The file is an Optuna storage, and Optuna is not installed.
    """
    if max_bytes is not None and max_bytes < 1:
        raise ValueError(f"max_bytes must be at least 1, got {max_bytes}")
    if isinstance(source, str) and not source:  # the current folder, as a path
        raise ValueError("source must be a path, got an empty text")
    if hasattr(source, "get_trials"):
        return tools.recognised(studies.of_study(source))
    if isinstance(source, (str, Path)):
        return tools.recognised(files.of_path(Path(source), max_bytes))
    if not hasattr(source, "columns"):
        raise ValueError(f"source must be a path, a DataFrame, an Arrow table or an Optuna study, got {shown(source)}")
    return tools.recognised(of_frame(source, "DataFrame"))


def from_csv(
    path: str | Path, score: str | Sequence[str] | None = None, goal: Goal | Sequence[Goal] | None = None, *,
    max_bytes: int | None = None, **options: Any,
) -> Table:  # fmt: skip
    """Build a table from a file of runs: CSV, TSV, Parquet, Arrow, JSON, JSON lines, an Optuna storage, or a folder.

    Equivalent to `build(decide(read(path)))`. Exports of many tools are recognised by their columns or files. In other
    files a column is a hyperparameter unless it is a score, cost, level, repeat, name of the runs, time, note or
    measurement, is constant, or follows from others; its kind, range, scale and condition are decided from its values.
    A column of mappings becomes a column for each key. An empty score, `OOM` or `failed` is a failed run; `nan`, `inf`,
    a number beyond ±1e30 or `diverged` a diverged one; of `86.7 ± 0.3` the value is used. Lines with the same
    configuration are repeats, or checkpoints if a column is the level; for lines that are equal in every cell see
    `Statement.duplicates`. The table is known by its name until the process ends; `hpo_envs.tables.user.save` keeps it.

    Args:
        path: The file or folder.
        score: Column(s) of the metric(s), the first of which is rewarded; default: guessed from the tool, or from names
            and values (validation scores are preferred); an error if it is unclear.
        goal: `max` or `min`, one for each score; default: the tool's, or guessed from the name.
        max_bytes: Largest size of an unpacked file; default: 2 GB, for a compressed file at most 50 times its size or
            10 MB, whichever is more.
        **options: Fields of `Statement`, and arguments of `build` besides the decisions; the default name is the
            file's.

    Raises:
        ValueError: An argument or the file is invalid; lines and columns are named.
        OSError: The file cannot be read.
        ModuleNotFoundError: The file is an Optuna storage, and Optuna is not installed.
    """
    if not isinstance(path, (str, Path)):
        raise ValueError(f"path must be that of a file or folder, got {shown(path)}")
    name = re.sub(r"[^A-Za-z0-9]+", "-", Path(path).name.partition(".")[0]).strip("-")
    options = {**options, "name": options.get("name") or name or "mine"}
    return _table_of(read(path, max_bytes), score=score, goal=goal, **options)


def from_frame(
    frame: Any, score: str | Sequence[str] | None = None, goal: Goal | Sequence[Goal] | None = None, **options: Any
) -> Table:
    """Build a table from a pandas DataFrame or an Arrow table, one run or checkpoint per row, see `from_csv`."""
    made = tools.recognised(of_frame(frame, options.pop("source", "DataFrame")))
    return _table_of(made, score=score, goal=goal, **options)


def from_study(
    study: Any, name: str | None = None, *, bounds: Mapping[str, tuple[float, float]] | None = None, **options: Any
) -> Table:
    """Build a table from an `optuna.Study`.

    Hyperparameters are defined as in the study (range, logarithm, choices); one that some trials lack is conditional on
    the choice that explains it. Complete trials are runs; a pruned one has its last report and the status `truncated`,
    one that failed or was pruned before a report the status `failed`; running and waiting ones are left out. Costs are
    the trials' seconds. Metrics are named as in `study.metric_names`, else `value` or `value_0`, `value_1`, ...

    Args:
        study: The study.
        name: Name of the table; default: the study's name.
        bounds: Metric -> (lowest, highest) possible value; default: guessed from its values.
        **options: See `from_csv`.

    Raises:
        ValueError: No trial is complete, over a fifth of the trials lack a parameter without explanation, or an
            argument is invalid.
    """
    if not hasattr(study, "get_trials"):
        raise ValueError(f"study must be an optuna.Study, got {shown(study)}")
    frame = tools.recognised(studies.of_study(study, bounds))
    return _table_of(frame, name="-".join(re.findall(r"[A-Za-z0-9]+", name or study.study_name)), **options)


def _table_of(frame: Frame, **options: Any) -> Table:
    labels = (options.pop(key, default) for key, default in zip(LABELS, build.__defaults__ or (), strict=True))
    name, licence, citation, explain = labels  # no tuple of arguments may hold the decisions: they take memory
    return build(decide(frame, **options), name, licence, citation, explain)
