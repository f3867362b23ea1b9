"""`from_csv`, `from_frame`, `from_study`: a file, folder, frame or Optuna study as a table, and their options."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from hpo_envs.tables.table import Table
from hpo_envs.tables.user.assembly import LABELS, build
from hpo_envs.tables.user.deciding.decisions import decide
from hpo_envs.tables.user.frame import Frame, of_frame
from hpo_envs.tables.user.reading import files, studies, tools

Goal = Literal["max", "min"]


def read(source: Any, max_bytes: int | None = None) -> Frame:
    """Read a file of runs, a folder of them, a DataFrame, an Arrow table or an Optuna study, and recognise its tool.

    Raises:
        ValueError: It is none of these, or too large; lines are named.
        OSError: It cannot be read.
    """
    if hasattr(source, "get_trials"):
        return tools.recognised(studies.of_study(source))
    if not isinstance(source, (str, Path)):
        return tools.recognised(of_frame(source, "DataFrame"))
    return tools.recognised(files.of_path(Path(source), max_bytes))


def from_csv(
    path: str | Path,
    score: str | Sequence[str] | None = None,
    goal: Goal | Sequence[Goal] | None = None,
    *,
    max_bytes: int | None = None,
    **options: Any,
) -> Table:
    """Build a table from a file of runs: CSV, TSV, Parquet, Arrow, JSON, JSON lines, an Optuna storage, or a folder.

    It is `build(decide(read(path)))`. Exports of many tools are recognised by their columns or files. In others, what
    is not a score, cost, level or repeat is a hyperparameter, unless it names the runs, is a time, a note or a
    measurement; its kind, range, scale and condition are decided from its values. A column of mappings becomes a column
    for each key. An empty score, `OOM` or `failed` is a failed run, `nan`, `inf` or `diverged` a diverged one; of
    `86.7 ± 0.3` the value counts. Lines with the same configuration are repeats, lines that are equal in every cell one
    run. The table is known by its name until the process ends; `hpo_envs.tables.user.save` keeps it.

    Args:
        path: The file or folder.
        score: Column(s) of the metric(s), the first is rewarded; default: the tool's, or the only one called so that
            varies.
        goal: `max` or `min`, for each; guessed from the name where it is telling.
        max_bytes: Largest size of a file, unpacked; default: 2 GB, compressed ones 50 times theirs or 10 MB.
        **options: What `Statement` has, and what `build` takes beside the decisions; the default name is the file's.

    Raises:
        ValueError: Something is wrong with the arguments or with the file; lines and columns are named.
        OSError: The file cannot be read.
    """
    name = re.sub(r"[^A-Za-z0-9]+", "-", Path(path).name.partition(".")[0]).strip("-")
    options = {**options, "name": options.get("name") or name or "mine"}
    return _table_of(read(path, max_bytes), score=score, goal=goal, **options)


def from_frame(
    frame: Any, score: str | Sequence[str] | None = None, goal: Goal | Sequence[Goal] | None = None, **options: Any
) -> Table:
    """Build a table from a pandas DataFrame or an Arrow table, one run per row, see `from_csv`."""
    made = tools.recognised(of_frame(frame, options.pop("source", "DataFrame")))
    return _table_of(made, score=score, goal=goal, **options)


def from_study(
    study: Any, name: str | None = None, *, bounds: Mapping[str, tuple[float, float]] | None = None, **options: Any
) -> Table:
    """Build a table from an `optuna.Study`.

    Hyperparameters are as the study defines them (range, logarithm, choices); one that some trials lack is
    conditional on the choice that explains when. Complete trials are runs; a pruned one has its last report and the
    status `truncated`, a failed one the status `failed`; running and waiting ones are left out. Costs are the
    trials' seconds. Metrics are named as in `study.metric_names`, else `value` or `value_0`, `value_1`, ...

    Args:
        study: The study.
        name: Of the table; default: the study's name.
        bounds: Metric -> (lowest, highest) value by its definition; default: guessed from its values.
        **options: See `from_csv`.

    Raises:
        ValueError: No finished trial, or parameters missing for no visible reason.
    """
    frame = tools.recognised(studies.of_study(study, bounds))
    return _table_of(frame, name="-".join(re.findall(r"[A-Za-z0-9]+", name or study.study_name)), **options)


def _table_of(frame: Frame, **options: Any) -> Table:
    labels = (options.pop(key, default) for key, default in zip(LABELS, build.__defaults__ or (), strict=True))
    name, licence, citation, explain = labels  # no tuple of arguments may hold the decisions: they take memory
    return build(decide(frame, **options), name, licence, citation, explain)
