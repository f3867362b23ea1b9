"""Runs, one after the other: which lines of a file are one configuration, which its repeats, which one run twice."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from hpo_envs.tables import draws
from hpo_envs.tables.table import BLOCK, Hyperparameter, Metric
from hpo_envs.tables.user.infer import Column

Floats = npt.NDArray[np.float64]
Index = npt.NDArray[np.intp]
Hashes = npt.NDArray[np.uint64]
Mask = npt.NDArray[np.bool_]

Say = Callable[[str, str], None]
"""Called with a column ("" for the whole) and what was decided of it."""


@dataclass
class Runs:
    """What was measured, one entry a line.

    Attributes:
        where: What to call a line in an error ("line 7", "trial 12").
        columns: Hyperparameter -> its values.
        scores: (lines, metrics) float64, NaN = the run failed before it had one.
        metrics: The metrics, in that order.
        cost: (lines,) what each line cost, cumulative within a run; None if nothing was recorded.
        cost_unit: Its unit.
        level: (lines,) checkpoint of each line, None if each is a whole run.
        level_unit: Its unit.
        repeat: (lines,) codes that tell runs of one configuration apart, None if nothing does.
        status: (lines,) uint8, index into `STATUSES`.
        keys: Name of each line; used where every configuration has one line.
        fixed: Hyperparameters whose definition is known; others are guessed.
        log: Hyperparameter -> whether it is logarithmic, where the user said so.
        twice: (n,) which of some lines are equal to an earlier one in every cell; None: equal lines are several runs.
        duplicates: Whether lines that agree are one run; None: unless configurations are seen to be repeated.
    """

    where: Callable[[int], str]
    columns: dict[str, Column]
    scores: Floats
    metrics: tuple[Metric, ...]
    cost: Floats | None
    cost_unit: str
    level: Floats | None
    level_unit: str
    repeat: Index | None
    status: npt.NDArray[np.uint8]
    keys: Sequence[str] | None
    fixed: dict[str, Hyperparameter]
    log: dict[str, bool]
    twice: Callable[[Index], Mask] | None = None
    duplicates: bool | None = None


def rows(runs: Runs, lines: Index, names: Sequence[str], say: Say) -> tuple[Index, Index, Index, Hashes]:
    """Lines without exact duplicates, the row of each, and of each row the first line and the hash.

    Args:
        runs: The lines of a file.
        lines: Those that are looked at.
        names: The hyperparameters, in their order.
        say: Told what becomes of duplicates.
    """
    hashes = np.zeros(len(lines), np.uint64)
    for start in range(0, len(lines), BLOCK):
        part = slice(start, start + BLOCK)
        for name in names:
            empty = np.isnan(runs.columns[name].values[lines[part]])
            hashes[part] = draws.mix_many(hashes[part], empty.astype(np.uint64))
        for name in names:
            hashes[part] = draws.mix_many(hashes[part], stored(runs, name, lines[part]).view(np.uint64))
    row, first = _codes(hashes)
    if len(first) < len(lines) and any(
        (values != values[first[row]]).any() for values in (stored(runs, name, lines) for name in names)
    ):
        raw = np.column_stack([stored(runs, name, lines) for name in names])  # two with one hash
        row, first = _codes(np.unique(raw, axis=0, return_inverse=True)[1])
    if len(first) < len(lines) and runs.twice is not None:
        twice = _duplicates(runs, lines, row, say)
        if twice.any():
            lines, hashes = lines[~twice], hashes[~twice]
            row, first = _codes(row[~twice])
    return lines, row, lines[first], hashes[first]


def stored(runs: Runs, name: str, lines: Index) -> Floats:
    """(lines,) numbers that a table has for a hyperparameter: 0 where there is none, and no -0."""
    values = runs.columns[name].values[lines]
    return np.where(np.isnan(values), 0.0, values) + 0.0


def _codes(values: npt.NDArray[Any]) -> tuple[Index, Index]:
    """(n,) codes of values in the order of their first appearance, and the index of that of each code."""
    row = pd.factorize(values)[0]
    first = np.flatnonzero(np.maximum.accumulate(row) > np.concatenate([[-1], np.maximum.accumulate(row)[:-1]]))
    return row, first


def _duplicates(runs: Runs, lines: Index, row: Index, say: Say) -> Mask:
    """(lines,) which repeat an earlier line in every cell and are no runs of their own."""
    assert runs.twice is not None
    level = np.zeros(len(row)) if runs.level is None else runs.level[lines]
    place = pd.DataFrame({"row": row, "level": level})
    some = np.flatnonzero(place.duplicated(keep=False))
    twice = np.zeros(len(lines), bool)
    twice[some] = runs.twice(lines[some])
    if not twice.any():
        return twice
    what = (
        f"{int(twice.sum())} line(s), the first {runs.where(lines[np.argmax(twice)])}, say what another says in every "
        "cell"
    )
    cost = [] if runs.cost is None else [runs.cost[lines]]
    outcome = place.assign(**{str(j): v for j, v in enumerate([*runs.scores[lines].T, *cost])})
    differ = len(outcome.drop_duplicates()) > len(place.drop_duplicates())
    if differ if runs.duplicates is None else not runs.duplicates:
        say("", f"{what}: kept as repeats, like the others of one configuration")
        return np.zeros(len(lines), bool)
    say("", f"{what}: one run each, not repeats (a column that tells runs apart says otherwise: --repeat)")
    return twice


def repeats(runs: Runs, lines: Index, row: Index, say: Say) -> Index:
    """(lines,) which run of its configuration each line is."""
    if runs.repeat is None and runs.level is None:
        repeat = _place(row)
        if doubles := int((repeat > 0).sum()):
            say("", f"{doubles} lines repeat a configuration: kept as repeats, evaluating it again draws one of them")
        return repeat
    label = runs.repeat[lines] if runs.repeat is not None else np.zeros(len(row), np.intp)
    pair, first = _codes(row * (int(label.max()) + 1) + label)
    level = np.unique(runs.level[lines], return_inverse=True)[1] if runs.level is not None else np.zeros(len(row), int)
    once, at = _codes(pair * (int(level.max()) + 1) + level)
    if len(at) < len(row):
        again = int(np.setdiff1d(np.arange(len(row)), at)[0])
        raise ValueError(
            f"{runs.where(lines[again])}: must be another configuration than {runs.where(lines[at[once[again]]])}, or "
            "a run of its own: name the column that tells the runs of one configuration apart with --repeat"
        )
    return _place(row[first])[pair]


def _place(row: Index) -> Index:
    """(n,) how many equal rows come before each."""
    return pd.Series(row).groupby(row, sort=False).cumcount().to_numpy()
