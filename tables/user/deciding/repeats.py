"""Lines of one configuration: checkpoints, repeats (seeds), and duplicate lines, left out or kept as repeats."""

import numpy as np
import pandas as pd

from hpo_envs.tables.user import cells as of_cells
from hpo_envs.tables.user.cells import Floats, Index, Mask, absent, numbers
from hpo_envs.tables.user.frame import Decision, Frame
from hpo_envs.tables.user.statement import NO_COST, Decisions


def grouped(found: Decisions) -> Decisions:
    """Group lines: lines of one run are its checkpoints, runs of equal configurations are repeats.

    Raises:
        ValueError: Two lines have the same configuration, run and checkpoint, or checkpoints are not numbers.
    """
    frame, stated, lines = found.frame, found.stated, found.lines
    at = lines.index
    lost: Mask = np.asarray(np.isnan(found.scores).all(axis=1))
    levels, counted = _levels(frame, stated.level, lost) if stated.level else (np.ones(len(frame)), [])
    lines = lines.assign(level=levels[at])
    lines = lines if "cost" in lines else lines.assign(cost=lines["level"])
    label = found.given.repeat or (next(iter(found.names), stated.repeat) if stated.level else None)
    if label:  # each line without a label is a run of its own
        own = np.where(absent(frame[label]), len(frame) + np.arange(len(frame)), of_cells.codes(frame[label]))
        lines = lines.assign(label=own[at])
    elif stated.level:
        lines = lines.assign(label=0)
    row = np.zeros(len(lines), np.intp)
    for values in found.values.values():
        code = of_cells.codes(values[at])
        row = pd.factorize(row * (int(code.max(initial=0)) + 1) + code)[0]
    lines, said = _alone(found, lines.assign(row=row))
    repeats, more = _repeats(frame, lines)
    more += _summed(found, lines.assign(repeat=repeats)) if stated.level and found.cost_unit else []
    unit = found.cost_unit or stated.level or NO_COST
    return found.add(*counted, *said, *more, lines=lines.assign(repeat=repeats), cost_unit=unit)


def _summed(found: Decisions, lines: pd.DataFrame) -> list[Decision]:
    """A question if the costs at all checkpoints of a run are equal; a doubt if they rise by at most a fifth."""
    runs = lines.groupby(["row", "repeat"])[["level", "cost"]]
    low, high = runs.min(), runs.max()
    several = (high["level"] > low["level"]) & (high["cost"] > 0)  # checkpoints may be free
    most = np.where(high["level"] >= 2 * low["level"], 1.2, 1.0) * low["cost"]
    if not several.any() or (high["cost"] > most)[several].any():
        return []
    column = found.stated.cost or found.cost_unit
    text, option = "must be the cost since the start of the run", f"sums in the file or --cost {NO_COST}"
    if (high["cost"] == low["cost"])[several].all():
        return [Decision("question", (), f"column {column}: {text}, got the same at each checkpoint ({option})")]
    text = "hardly rises from checkpoint to checkpoint, as if it was the cost of one, not since the start of the run"
    return [found.frame.of("cost", text, column, option=option)]


def _levels(frame: Frame, column: str, lost: Mask) -> tuple[Floats, list[Decision]]:
    """(lines,) checkpoints in a column, and a decision if they are counted from 0 and thus one step more.

    It is the smallest where a run without a score has none.
    """
    of_cells.check_whole(column, frame[column])
    values = numbers(frame[column])
    frame.require(~np.isnan(values) | lost, column, "a number")
    if np.isnan(values).all():
        raise ValueError(f"column {column}: must have at least one number, got none")
    values = np.where(np.isnan(values), np.nanmin(values), values)  # a run without one failed before the first
    first, *rest = np.unique(values).tolist()
    if first > 0:
        return values, []
    more = (rest[0] - first if rest else 1.0) - first
    text = f"counted from {first:g}: each is taken as {more:g} more, as training up to the first has a cost"
    return values + more, [frame.of("level", text, column)]


def _alone(found: Decisions, lines: pd.DataFrame) -> tuple[pd.DataFrame, list[Decision]]:
    """The lines without exact copies of earlier ones, unless these are repeats, and a decision if there are copies."""
    frame, stated = found.frame, found.stated
    some = lines.index[lines.duplicated(["row", "level"], keep=False)]
    twice = some[frame.cells.iloc[some].duplicated()]
    if not len(twice):
        return lines, []
    what = f"{len(twice)} line(s), the first {frame.where(twice[0])}, say what another says in every cell"
    outcomes = lines[["row", "level", "cost"]].join(pd.DataFrame(found.scores).rename(columns=str))
    one = stated.duplicates
    if one is None:
        same = len(outcomes.drop_duplicates()) == len(lines.drop_duplicates(["row", "level"]))
        one = bool(found.names or stated.repeat) or same
    if one:
        text = f"{what}: one run each, not repeats (a column that tells runs apart says otherwise: --repeat)"
        return lines.drop(twice), [frame.of("ignored", text)]
    return lines, [frame.of("repeat", f"{what}: kept as repeats, like the others of one configuration")]


def _repeats(frame: Frame, lines: pd.DataFrame) -> tuple[Index, list[Decision]]:
    """(lines,) index of each line's run among the runs of its configuration, and a decision if there are repeats."""
    if "label" not in lines:
        repeat: Index = lines.groupby("row").cumcount().to_numpy()
        doubles = int((repeat > 0).sum())
        text = f"{doubles} lines repeat a configuration: kept as repeats, evaluating it again draws one of them"
        return repeat, [frame.of("repeat", text)] if doubles else []
    place = lines[["row", "level", "label"]]
    for again in place.index[place.duplicated()][:1]:
        before = place.index[(place == place.loc[again]).all(axis=1)][0]
        raise ValueError(
            f"{frame.where(again)}: must not repeat the configuration of {frame.where(before)} "
            "unless --repeat names the column that distinguishes the runs of one configuration"
        )
    heads = lines[~lines.duplicated(["row", "label"])]
    run = lines.groupby(["row", "label"], sort=False).ngroup()
    return np.asarray(heads.groupby("row").cumcount().to_numpy()[run]), []
