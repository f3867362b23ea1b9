"""A file, frame or study of runs as a Table: what is guessed is explained, errors name the line."""

import dataclasses
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from shlex import quote
from typing import Any, Literal

import numpy as np
import pandas as pd

from hpo_envs.tables.table import LOST, Hyperparameter, Table
from hpo_envs.tables.user import assemble, files, outcomes, roles, trackers
from hpo_envs.tables.user import cells as of_cells
from hpo_envs.tables.user.assemble import Runs
from hpo_envs.tables.user.cells import Column, absent, is_text, missing
from hpo_envs.tables.user.sheet import NO_COST, Schema, Sheet, count, of_frame, schema_of
from hpo_envs.tables.user.space import space_of

Goal = Literal["max", "min"]


def from_csv(
    path: str | Path,
    score: str | Sequence[str] | None = None,
    goal: Goal | Sequence[Goal] | None = None,
    *,
    max_bytes: int | None = None,
    **options: Any,
) -> Table:
    """Build a table from a file of runs: CSV, TSV, Parquet, Arrow, JSON, JSON lines, or a folder of JSON.

    Exports of Optuna, MLflow, Weights & Biases, Ray Tune, Syne Tune and scikit-learn are recognised by their columns.
    In others, what is not a score, cost, level or repeat is a hyperparameter, unless it names the runs, is a time, a
    note or a measurement; its kind, range, scale and condition are guessed from its values. A column of mappings
    becomes a column for each key. An empty score, `OOM` or `failed` is a failed run, `nan`, `inf` or `diverged` a
    diverged one; of `86.7 ± 0.3` the value counts. Lines with the same configuration are repeats, lines that are equal
    in every cell one run. The table is known by its name until the process ends; `hpo_envs.tables.user.save` keeps it.

    Args:
        path: The file or folder.
        score: Column(s) of the metric(s), the first is rewarded; default: the tool's, or the only one called so that
            varies.
        goal: `max` or `min`, for each; guessed from the name where it is telling.
        max_bytes: Largest size of a file, unpacked; default: 2 GB, compressed ones 50 times theirs or 10 MB.
        **options: What `Schema` has, `name` (of the table; default: the file's), `licence` and `citation` of the data,
            `explain` (called with each decision, in words).

    Raises:
        ValueError: Something is wrong with the arguments or with the file; lines and columns are named.
        OSError: The file cannot be read.
    """
    path = Path(path)
    results, known = trackers.metadata(path)
    sheet = trackers.read(files.of_path(results, max_bytes))
    if options.get("name") is None:
        options["name"] = re.sub(r"[^A-Za-z0-9]+", "-", path.name.partition(".")[0]).strip("-") or "mine"
    if not score:
        score, goal = known.get("score"), goal or known.get("goal")
    if known.get("level") in [*sheet.frame]:
        options["level"] = options.get("level") or known["level"]
    return table_of(sheet, score=score, goal=goal, **options)


def from_frame(
    frame: Any, score: str | Sequence[str] | None = None, goal: Goal | Sequence[Goal] | None = None, **options: Any
) -> Table:
    """Build a table from a pandas DataFrame or an Arrow table, one run per row, see `from_csv`."""
    sheet = trackers.read(of_frame(frame, options.pop("source", "DataFrame")))
    return table_of(sheet, score=score, goal=goal, **options)


def from_study(
    study: Any,
    name: str | None = None,
    *,
    bounds: Mapping[str, tuple[float, float]] | None = None,
    explain: Callable[[str], None] = lambda text: None,
) -> Table:
    """Build a table from an `optuna.Study`; it is the object, so that nothing here depends on Optuna.

    Hyperparameters are as the study defines them (range, logarithm, choices); one that some trials lack is
    conditional on the choice that explains when. Complete trials are runs; a pruned one has its last report and the
    status `truncated`, a failed one the status `failed`; running and waiting ones are left out. Costs are the
    trials' seconds. Metrics are named as in `study.metric_names`, else `value` or `value_0`, `value_1`, ...

    Args:
        study: The study.
        name: Of the table; default: the study's name.
        bounds: Metric -> (lowest, highest) value by its definition; default: guessed from its values.
        explain: Called with each decision, in words.

    Raises:
        ValueError: No finished trial, or parameters missing for no visible reason.
    """
    trials = [t for t in study.get_trials(deepcopy=False) if t.state.is_finished()]
    if not any(t.state.name == "COMPLETE" for t in trials):
        raise ValueError(f"study must have a complete trial, got {len(trials)} finished ones")
    goals = ["min" if d.name == "MINIMIZE" else "max" for d in study.directions]
    metrics = [f"value_{i}" for i in range(len(goals))] if len(goals) > 1 else ["value"]
    metrics = list(study.metric_names or metrics)
    space: dict[str, Any] = {}
    rows: list[dict[str, Any]] = []
    for t in trials:
        space |= t.distributions
        values = t.values or [None] * len(goals)  # those of a pruned one are its last report
        seconds = t.duration.total_seconds() if t.duration is not None else 0.0
        rows.append({f"values_{m}": v for m, v in zip(metrics, values, strict=True)})
        rows[-1] |= {f"params_{k}": str(v) for k, v in t.params.items()}
        rows[-1] |= {"number": f"trial-{t.number}", "state": t.state.name, "duration": max(seconds, 0.0)}
    frame, source = pd.DataFrame(rows, dtype=object), f"Optuna study {study.study_name}"
    sheet = of_frame(frame, source, unit="trial", lines=[t.number for t in trials])
    return table_of(
        trackers.read(sheet),
        name="-".join(re.findall(r"[A-Za-z0-9]+", name or study.study_name)),
        explain=explain,
        score=[f"values_{m}" for m in metrics],
        goal=goals,
        status="state",
        bounds={f"values_{k}": v for k, v in (bounds or {}).items()},
        space=[_axis(f"params_{n}", d, [t.params[n] for t in trials if n in t.params]) for n, d in space.items()],
    )


def _axis(name: str, distribution: Any, values: list[Any]) -> Hyperparameter:
    """The definition of a parameter; its range has all trials, those of an earlier, wider one, too."""
    if hasattr(distribution, "choices"):
        plain = (bool, int, float, str)
        distribution = {"choices": [c if isinstance(c, plain) else str(c) for c in distribution.choices]}
    (h,) = space_of({name: distribution})
    if h.kind == "categorical":
        return h
    low, high = float(min(h.low, *values)), float(max(h.high, *values))
    listed = h.values if all(v in h.values for v in values) and len(h.values) <= roles.FEW else ()
    return dataclasses.replace(h, low=low, high=high, values=listed)


def table_of(
    sheet: Sheet,
    *,
    name: str = "mine",
    licence: str = "not stated",
    citation: str = "",
    explain: Callable[[str], None] = lambda text: None,
    **options: Any,
) -> Table:
    """Build a table from an export.

    Args:
        sheet: Its columns.
        name: Of the table; see `from_csv`, as all that follow.
        licence: Of the data.
        citation: Of the data.
        explain: Called with each decision, in words.
        **options: Fields of a `Schema`.
    """
    sheet.explain = explain
    if sheet.recipe.tool:
        sheet.say(f"read as an export of {sheet.recipe.tool}")
    try:
        return assemble.table_of(_runs(sheet, schema_of(options, sheet)), name, licence, citation)
    except ValueError as error:
        text = str(error)
        raise ValueError(text if text.startswith(sheet.source) else f"{sheet.source}: {text}") from None


def _runs(sheet: Sheet, s: Schema) -> Runs:
    """The runs that a sheet lists; its schema is filled in.

    Raises:
        ValueError: Cells or arguments that are wrong; lines and columns are named.
    """
    _clean(sheet)
    roles.set_scores(sheet, s)
    for name, value in s.fill.items():
        old = of_cells.as_text(sheet.frame[name])
        holes = of_cells.each(old, lambda t: missing(t) or t.lower() == "none", True)
        cells = of_cells.text(np.where(holes, str(value), old.astype(object)), old.index)
        sheet.frame = sheet.frame.assign(**{name: cells})
        sheet.say(f"{count(int(holes.sum()), 'cell')} without a value filled with {value}", name)
    scores, status = outcomes.ended(sheet, s)
    cost, unit = outcomes.costs(sheet, s, status)
    repeat, several = s.repeat, "" if s.level else "; runs have several lines each"
    names = roles.assign(sheet, s, np.isin(status, LOST))
    columns = _columns(sheet, s)
    lines = pd.DataFrame({"status": status, "level": 1.0})
    if s.level:
        lines["level"] = outcomes.levels(sheet, s.level, status, several)
    lines["cost"] = lines["level"] if cost is None else cost
    if s.repeat is not None:
        sheet.say(f"tells runs of one configuration apart{'' if repeat else f' {roles.TAKES}'}", s.repeat)
    if s.level and not repeat:
        repeat = next(iter(names), s.repeat)
    if s.level:
        lines["label"] = 0
    if repeat:  # each line without a label is a run of its own
        cells = sheet.frame[repeat]
        lines["label"] = np.where(absent(cells), len(lines) + np.arange(len(lines)), of_cells.codes(cells))
    metrics = []
    for column, goal, values in zip(s.score, s.goal, scores.T, strict=True):
        metric, text = roles.metric(column, values[~np.isnan(values)], goal, s.bounds.get(column))
        sheet.say(text, column)
        metrics.append(metric)
    return Runs(sheet, s, columns, tuple(metrics), scores, lines, unit or s.level or NO_COST, names)


def _clean(sheet: Sheet) -> None:
    """Leave out repeated headers; read decimal commas, percent signs and uncertainties of whole columns."""
    if all(is_text(cells) for _, cells in sheet.frame.items()):
        again = np.logical_and.reduce([(cells == name).to_numpy() for name, cells in sheet.frame.items()])
        if again.any():
            lines, first = count(int(again.sum()), "line"), sheet.where(int(np.argmax(again)))
            sheet.say(f"{lines} with the header again, the first {first}: left out")
            sheet.frame = sheet.frame[~again]
    for name, cells in sheet.frame.items():
        plain, note = of_cells.respelled(cells, lambda text: outcomes.meaning(text) is not None)
        if note:
            sheet.frame = sheet.frame.assign(**{str(name): plain})
            sheet.say(note, str(name))


def _columns(sheet: Sheet, s: Schema) -> dict[str, Column]:
    """The hyperparameters with their values."""
    frame, fixed, columns = sheet.frame, {h.name: h for h in s.space}, {}
    for name in s.hyperparameters:
        if name in fixed:
            columns[name], bad, rule = of_cells.within(frame[name], fixed[name])
        else:
            columns[name], bad = of_cells.column(name, frame[name], name in s.categorical)
            rule = f"a number like {len(frame) - int(bad.sum())} others (or --categorical {quote(name)})"
        sheet.require(~bad, name, rule)
    return columns
