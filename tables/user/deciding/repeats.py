"""Checkpoints, which lines have one configuration, and which of them are one run."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from hpo_envs.tables.user import cells as of_cells
from hpo_envs.tables.user.cells import Floats, Mask, absent, numbers
from hpo_envs.tables.user.deciding.definitions import DecidedSpace
from hpo_envs.tables.user.frame import Decision, Frame
from hpo_envs.tables.user.statement import Statement


def runs(
    frame: Frame,
    stated: Statement,
    names: Sequence[str],
    lines: pd.DataFrame,
    space: DecidedSpace,
    scores: Floats,
    repeat: str | None,
) -> tuple[pd.DataFrame, list[Decision]]:
    """Group lines: equal configurations become repeats.

    Args:
        frame: The lines.
        stated: The complete statement.
        names: Columns that name the runs.
        lines: The `level`, `cost` and `status` of each.
        space: The hyperparameters.
        scores: (lines, metrics).
        repeat: Column that the user says tells runs apart.

    Returns:
        The lines that are kept, with their `row` and `repeat`, and the decisions.

    Raises:
        ValueError: Lines that contradict each other.
    """
    label = repeat or (next(iter(names), stated.repeat) if stated.level else None)
    if stated.level:
        lines["label"] = 0
    if label:  # each line without a label is a run of its own
        cells = frame[label]
        lines["label"] = np.where(absent(cells), len(lines) + np.arange(len(lines)), of_cells.codes(cells))
    lines = lines[space.kept]
    row = np.zeros(len(lines), np.intp)
    for h in space.space:
        code = of_cells.codes(space.values[h.name][lines.index])
        row = pd.factorize(row * (int(code.max(initial=0)) + 1) + code)[0]
    lines, said = _alone(frame, stated, bool(names), lines.assign(row=row), scores)
    repeats, more = _repeats(frame, lines)
    return lines.assign(repeat=repeats), [*said, *more]


def levels(frame: Frame, column: str, lost: Mask) -> Floats:
    """(lines,) the checkpoints in a column.

    Raises:
        ValueError: Cells of runs with a score that are no number.
    """
    of_cells.check_whole(column, frame[column])
    values = numbers(frame[column])
    frame.require(~np.isnan(values) | lost, column, "a number")
    if np.isnan(values).all():
        raise ValueError(f"column {column}: must have a number, got none")
    return np.where(np.isnan(values), np.nanmin(values), values)  # a run without one failed before the first


def _alone(
    frame: Frame, stated: Statement, named: bool, lines: pd.DataFrame, scores: Floats
) -> tuple[pd.DataFrame, list[Decision]]:
    """The lines without those that repeat an earlier one in every cell and are no runs of their own."""
    some = lines.index[lines.duplicated(["row", "level"], keep=False)]
    twice = some[frame.cells.iloc[some].duplicated()]
    if not len(twice):
        return lines, []
    what = f"{len(twice)} line(s), the first {frame.where(twice[0])}, say what another says in every cell"
    outcomes = lines[["row", "level", "cost"]].join(pd.DataFrame(scores).rename(columns=str))
    one = stated.duplicates
    if one is None:
        same = len(outcomes.drop_duplicates()) == len(lines.drop_duplicates(["row", "level"]))
        one = bool(named or stated.repeat) or same
    if one:
        text = f"{what}: one run each, not repeats (a column that tells runs apart says otherwise: --repeat)"
        return lines.drop(twice), [frame.of("ignored", text)]
    return lines, [frame.of("repeat", f"{what}: kept as repeats, like the others of one configuration")]


def _repeats(frame: Frame, lines: pd.DataFrame) -> tuple[of_cells.Index, list[Decision]]:
    """(lines,) which run of its configuration each line is."""
    if "label" not in lines:
        repeat: of_cells.Index = lines.groupby("row").cumcount().to_numpy()
        doubles = int((repeat > 0).sum())
        text = f"{doubles} lines repeat a configuration: kept as repeats, evaluating it again draws one of them"
        return repeat, [frame.of("repeat", text)] if doubles else []
    place = lines[["row", "level", "label"]]
    for again in place.index[place.duplicated()][:1]:
        before = place.index[(place == place.loc[again]).all(axis=1)][0]
        raise ValueError(
            f"{frame.where(again)}: must be another configuration than {frame.where(before)}, or a run of "
            "its own: name the column that distinguishes the runs of one configuration with --repeat"
        )
    heads = lines[~lines.duplicated(["row", "label"])]
    run = lines.groupby(["row", "label"], sort=False).ngroup()
    return np.asarray(heads.groupby("row").cumcount().to_numpy()[run]), []
