"""Users' own tables: a CSV or DataFrame of configurations and scores, or an Optuna study.

`from_csv`, `from_frame` and `from_study` infer the schema and say in `table.provenance.notes` what they inferred;
`save` installs a table below the data folder, where every process finds it as `user/NAME`. `user/example` is a small
synthetic table that is always there.
"""

from __future__ import annotations

import dataclasses
import os
import re
import tempfile
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from hpo_envs.tables import built, store
from hpo_envs.tables.table import STATUSES, Hyperparameter, Metric, Provenance, Table, feature_matrix, nearest

Goal = Literal["max", "min"]

LOG_RATIO = 100.0
"""A positive number that spans at least this ratio is taken to be on a logarithmic scale."""

MAX_CHOICES = 100
"""Texts with more distinct values than this are no categorical hyperparameter but names or notes."""


def folder() -> Path:
    """Where users' tables are installed: `user` below the data folder."""
    return store.data_folder() / "user"


def __getattr__(name: str) -> Any:
    """`NAMES` changes when a table is saved, so it is looked up each time."""
    if name == "NAMES":
        found = sorted(p.stem for p in folder().glob("*.npz")) if folder().is_dir() else []
        return ("user/example", *(f"user/{n}" for n in found if n != "example"))
    raise AttributeError(name)


def files(name: str) -> tuple[str, ...]:
    """No upstream file describes a user's table."""
    return ()


def build(name: str, read: Callable[[str], bytes]) -> Table:
    """Never called: there are no upstream files."""
    raise ValueError(f"table {name} is a user's own, nothing upstream describes it")


def embedded(name: str) -> Table:
    """The installed table, or the example."""
    if name == "user/example":
        return example()
    path = folder() / f"{name.partition('/')[2]}.npz"
    try:
        return built.unpack(path.read_bytes())
    except (ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile) as error:
        raise store.CorruptFile(f"{path} must be a table that `hpo-envs table` wrote, got {error}") from None


def save(table: Table) -> Path:
    """Installs a table named `user/NAME`; an older one of that name is replaced, as a whole or not at all.

    Raises:
        ValueError: The name is not of that form.
        OSError: The folder cannot be written.
    """
    short = _short(table.name)
    folder().mkdir(parents=True, exist_ok=True)
    path = folder() / f"{short}.npz"
    handle, temporary = tempfile.mkstemp(dir=path.parent, suffix=".part")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(built.pack(table))
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    store.forget()
    return path


def from_csv(path: Path | str, **kwargs: Any) -> Table:
    """Reads a CSV with a header line; see `from_frame`.

    Raises:
        ValueError: The file is no CSV with a header, or breaks a rule of `from_frame`.
        FileNotFoundError: No such file.
    """
    import pandas as pd

    try:
        frame = pd.read_csv(path, keep_default_na=True)
    except (pd.errors.ParserError, pd.errors.EmptyDataError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} must be a CSV file with a header line: {error}") from None
    kwargs.setdefault("name", Path(path).stem)
    return from_frame(frame, **kwargs)


def from_frame(
    frame: Any,
    *,
    score: str,
    goal: Goal = "max",
    name: str = "mine",
    cost: str | None = None,
    metrics: Sequence[str] = (),
    drop: Sequence[str] = (),
    bounds: tuple[float, float] | None = None,
) -> Table:
    """Makes a table of a DataFrame with one row per evaluation.

    Every column that is not a score, a cost, a further metric or dropped is a hyperparameter: whole numbers, numbers
    or texts; numbers that span a ratio of 100 or more are taken to be on a logarithmic scale. Rows with the same
    configuration are repeats of one row. A missing score is a run that failed.

    Args:
        frame: The evaluations.
        score: Column of the rewarded metric.
        goal: Whether a high (`"max"`) or a low score (`"min"`) is good.
        name: Name of the table, letters, digits, `.`, `_` and `-`.
        cost: Column of what an evaluation costs (seconds, say); default: each costs 1.
        metrics: Further columns that are measured and not chosen; lower is taken to be better.
        drop: Columns to leave out.
        bounds: Lowest and highest possible score by definition; default: a margin around the scores seen.

    Raises:
        ValueError: A column or a cell breaks a rule; the message names column, row (as in the file, the header being
            row 1), rule and value.
    """
    columns = [str(c) for c in frame.columns]
    for argument, wanted in (
        ("score", [score]),
        ("cost", [cost] if cost else []),
        ("metrics", metrics),
        ("drop", drop),
    ):
        for column in wanted:
            if column not in columns:
                raise ValueError(f"{argument} must be a column of the table, got {column!r}{nearest(column, columns)}")
    if goal not in ("max", "min"):
        raise ValueError(f"goal must be max or min, got {goal!r}")
    if len(frame) == 0:
        raise ValueError("the table must have at least one row, got none")
    frame = frame.set_axis(columns, axis=1)
    measured = [score, *(m for m in metrics if m != score)]
    notes: list[str] = []
    space, codes = _space(frame, [c for c in columns if c not in {*measured, cost, *drop}], notes)
    keys, row_of = _rows(space, codes)
    repeat_of = _repeats(row_of)
    shape = (len(keys), int(repeat_of.max()) + 1)
    values = np.full((*shape, 1, len(measured)), np.nan)
    spent = np.full((*shape, 1), np.nan)
    numbers = np.column_stack([_numbers(frame, c, missing=True) for c in measured])
    # A failed run has no score; its other metrics are not believed either.
    failed = np.isnan(numbers[:, 0])
    numbers[failed] = np.nan
    order = np.lexsort((repeat_of, failed, row_of))
    repeat_of[order] = _repeats(row_of[order])
    values[row_of, repeat_of, 0] = numbers
    costs = np.ones(len(frame)) if cost is None else _numbers(frame, cost, missing=False, least=0.0)
    spent[row_of, repeat_of, 0] = costs
    status = np.zeros(shape, np.uint8)
    status[row_of, repeat_of] = np.where(failed, STATUSES.index("failed"), STATUSES.index("ok"))
    if failed.all():
        raise ValueError(f"column {score!r} must have at least one number, got none")
    notes.append(f"{len(frame)} evaluations of {len(keys)} configurations, {int(failed.sum())} without a score.")
    configs = codes[np.unique(row_of, return_index=True)[1]]
    feature_names, features = feature_matrix(space, configs)
    described = [_metric(c, goal if c == score else "min", values[..., j], bounds if c == score else None)
                 for j, c in enumerate(measured)]  # fmt: skip
    return Table(
        name=f"user/{_short('user/' + name)}",
        keys=keys,
        space=space,
        configs=configs,
        feature_names=feature_names,
        features=features,
        metrics=tuple(described),
        values=values,
        cost=spent,
        cost_unit=cost or "evaluations",
        status=status,
        provenance=Provenance("measured", "user", "", "the user's", "the user's own table", notes=tuple(notes)),
    )


def from_study(study: Any, *, name: str = "study", **kwargs: Any) -> Table:
    """Makes a table of the finished trials of an Optuna study with one objective.

    Raises:
        ValueError: Several objectives, or no finished trial.
    """
    import pandas as pd

    if len(study.directions) != 1:
        raise ValueError(f"study must have one objective, got {len(study.directions)}")
    trials = [t for t in study.trials if t.state.is_finished()]
    if not trials:
        raise ValueError("study must have at least one finished trial, got none")
    records = [
        {**t.params, "score": t.value, "seconds": t.duration.total_seconds() if t.duration else 0.0} for t in trials
    ]
    goal: Goal = "max" if study.directions[0].name == "MAXIMIZE" else "min"
    return from_frame(pd.DataFrame(records), score="score", goal=goal, cost="seconds", name=name, **kwargs)


def example() -> Table:
    """A synthetic table of 96 configurations of three hyperparameters: a bowl with a ridge, no measurement."""
    import itertools

    grid = list(itertools.product((1e-4, 3e-4, 1e-3, 3e-3), (1, 2, 3, 4, 6, 8), ("relu", "tanh"), (0.0, 0.3)))
    space = (
        Hyperparameter("learning_rate", "float", 1e-4, 3e-3, True, (1e-4, 3e-4, 1e-3, 3e-3)),
        Hyperparameter("layers", "int", 1, 8, False, (1, 2, 3, 4, 6, 8)),
        Hyperparameter("activation", "categorical", 0, 1, False, ("relu", "tanh")),
        Hyperparameter("dropout", "float", 0.0, 0.3, False, (0.0, 0.3)),
    )
    configs = np.array([[lr, layers, ("relu", "tanh").index(a), drop] for lr, layers, a, drop in grid])
    names, features = feature_matrix(space, configs)
    lr, depth, relu, drop = features[:, 0], features[:, 1], features[:, 2], features[:, -1]
    accuracy = 0.9 - 0.5 * (lr - 0.6) ** 2 - 0.3 * (depth - 0.4) ** 2 + 0.02 * relu - 0.05 * drop * (1 - depth)
    return Table(
        name="user/example",
        keys=tuple("-".join(str(v) for v in cell) for cell in grid),
        space=space,
        configs=configs,
        feature_names=names,
        features=features,
        metrics=(Metric("accuracy", "", "max", 0.0, 1.0, "A made-up accuracy."),),
        values=np.round(accuracy, 4)[:, None, None, None],
        cost=(10.0 + 20.0 * depth)[:, None, None],
        cost_unit="seconds",
        provenance=Provenance(
            "surrogate", "none", "0" * 40, "MIT", "synthetic example of hpo_envs", notes=("Synthetic: a formula.",)
        ),
    )


def _space(frame: Any, columns: list[str], notes: list[str]) -> tuple[tuple[Hyperparameter, ...], npt.NDArray[Any]]:
    """The hyperparameters and the (evaluations, H) raw values."""
    space, codes = [], []
    for column in columns:
        data = frame[column]
        if data.isna().any():
            row = int(np.flatnonzero(data.isna())[0]) + 2
            raise ValueError(f"column {column!r}, row {row}: a hyperparameter must have a value, got nothing")
        kind = data.dtype.kind
        if kind in "iuf":
            h, x = _number(column, np.asarray(data, dtype=np.float64))
        else:
            h, x = _categorical(column, [str(v) for v in data])
        if h.low == h.high:
            notes.append(f"{column} is always {h.natural(h.low)!r} and was left out.")
            continue
        scale = " on a logarithmic scale" if h.log else ""
        extent = f"{len(h.values)} choices" if h.kind == "categorical" else f"{h.low:g} to {h.high:g}{scale}"
        notes.append(f"{column} is {h.kind}: {extent}.")
        space.append(h)
        codes.append(x)
    if not space:
        raise ValueError("the table must have a column that is a hyperparameter and varies, got none")
    return tuple(space), np.column_stack(codes)


def _number(name: str, x: npt.NDArray[np.float64]) -> tuple[Hyperparameter, npt.NDArray[np.float64]]:
    if not np.isfinite(x).all():
        row = int(np.flatnonzero(~np.isfinite(x))[0]) + 2
        raise ValueError(f"column {name!r}, row {row}: must be finite, got {x[row - 2]}")
    low, high = float(x.min()), float(x.max())
    whole = bool((x == np.round(x)).all())
    log = low > 0 and high / low >= LOG_RATIO
    return Hyperparameter(name, "int" if whole else "float", low, high, log), x


def _categorical(name: str, texts: list[str]) -> tuple[Hyperparameter, npt.NDArray[np.float64]]:
    choices = sorted(set(texts))
    if len(choices) > MAX_CHOICES:
        raise ValueError(
            f"column {name!r} must be numbers or at most {MAX_CHOICES} different texts, got {len(choices)}: name it in "
            "drop (--drop) if it is no hyperparameter"
        )
    code = {c: i for i, c in enumerate(choices)}
    h = Hyperparameter(name, "categorical", 0, len(choices) - 1, False, tuple(choices))
    return h, np.array([code[t] for t in texts], dtype=np.float64)


def _numbers(frame: Any, column: str, missing: bool, least: float = -np.inf) -> npt.NDArray[np.float64]:
    """(evaluations,) float64 of a column that must be numeric."""
    import pandas as pd

    numbers = pd.to_numeric(frame[column], errors="coerce").to_numpy(dtype=np.float64)
    given = frame[column].notna().to_numpy()
    bad = (given & ~np.isfinite(numbers)) | (~given if not missing else False) | (numbers < least)
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        rule = "must be a finite number" + ("" if np.isinf(least) else f" >= {least:g}")
        raise ValueError(f"column {column!r}, row {row + 2}: {rule}, got {_shown(frame[column].iloc[row])}")
    return numbers


def _shown(value: Any) -> str:
    return repr(value) if isinstance(value, str) else f"{value}"


def _rows(space: Sequence[Hyperparameter], codes: npt.NDArray[Any]) -> tuple[tuple[str, ...], npt.NDArray[np.intp]]:
    """Keys of the distinct configurations in the order they first appear, and the row of each evaluation."""
    seen: dict[tuple[float, ...], int] = {}
    row_of = np.array([seen.setdefault(tuple(code), len(seen)) for code in codes.tolist()], dtype=np.intp)
    keys = tuple(",".join(f"{h.name}={h.natural(v)}" for h, v in zip(space, c, strict=True)) for c in seen)
    return keys, row_of


def _repeats(row_of: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
    """How often each evaluation's row was met before it."""
    count: dict[int, int] = {}
    out = np.empty(len(row_of), np.intp)
    for i, row in enumerate(row_of.tolist()):
        out[i] = count.get(row, 0)
        count[row] = int(out[i]) + 1
    return out


def _metric(name: str, goal: Goal, values: npt.NDArray[Any], bounds: tuple[float, float] | None) -> Metric:
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    if bounds is None:
        margin = max(high - low, abs(high), 1e-9)
        return Metric(name, "", goal, low - margin, high + margin)
    if not (np.isfinite(bounds).all() and bounds[0] <= low and high <= bounds[1] and bounds[0] < bounds[1]):
        raise ValueError(f"bounds must enclose the scores, {low} to {high}, got {bounds}")
    return Metric(name, "", goal, float(bounds[0]), float(bounds[1]))


def _short(name: str) -> str:
    short = name.removeprefix("user/")
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", short) or short == "example":
        raise ValueError(f"name must be letters, digits, '.', '_' and '-', and not 'example', got {short!r}")
    return short


def renamed(table: Table, name: str) -> Table:
    """The same table under another name."""
    fresh = dataclasses.replace(table.provenance, sha256="")
    return dataclasses.replace(table, name=f"user/{_short(name)}", provenance=fresh)
