"""Roles of columns (hyperparameter, score, fidelity, repeat, other), inferred with a reason in words."""

import math
import re
from collections.abc import Collection, Mapping, Sequence
from shlex import quote
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from hpo_envs.tables.table import Hyperparameter, Metric
from hpo_envs.tables.user.cells import CHOICES, UNNAMED, Column, Mask, absent, different, numbers, numeric
from hpo_envs.tables.user.outcomes import scorable
from hpo_envs.tables.user.sheet import Schema, Sheet
from hpo_envs.tables.user.space import LOG

FEW = 12
"""Up to so many different numbers count as a grid."""

LOWER = {"loss", "error", "err", "perplexity", "ppl", "rmse", "mse", "mae", "wer", "cer", "nll", "seconds", "time",
         "latency", "runtime", "duration", "memory", "regret", "ter"}  # fmt: skip
HIGHER = {"accuracy", "acc", "f1", "bleu", "chrf", "auc", "auroc", "precision", "recall", "score", "r2", "rouge",
          "comet", "reward", "em", "map", "mrr", "likelihood"}  # fmt: skip

IDENTIFIERS = r"(run|trial|exp|experiment|job)?[_ ]?(id|name|number|key|index|idx)|run|trial|exp|experiment|job|uuid"
"""Names of columns that name the runs, if hardly a value comes twice."""

STAMPS = r"(.*[ _.])?(date|time|timestamp|datetime|created|started|finished|updated|completed|" \
         r"(start|end)[ _]?(time|date))(_(start|complete|at|utc))?"  # fmt: skip
"""Names of columns that say when."""

DATE = r"\d{4}-\d\d-\d\d([ T_]\d\d[:-].*)?|\d\d?[/.]\d\d?[/.]\d{4}.*"
"""Dates, as cells have them."""

NOTES = r"notes?|comments?|remarks?|description|memo|tags?|user(name)?|author|owner|host(name)?|machine|node|" \
        r"gpu_name|url|path|(log|work|out|output|run)_?(dir|path)|artifact_uri|(git[._ ]?)?(commit|sha|hash|branch)|" \
        r"message|error(_message)?|traceback"  # fmt: skip
"""Names of columns of text that is for people."""

REPEATS = r"(.*[._/ ])?(random_?)?seed|random_state|repeats?|rep|replicates?|replication|fold|cv_fold|run_seed"
"""Names of columns that tell runs of one configuration apart."""

LEVELS = r"_?(epochs?|steps?|iterations?|iter|global_step|updates?|training_iteration|checkpoint|rungs?|resource|" \
         r"n_resources|budget)"  # fmt: skip
"""Names of columns that may be the checkpoint of a run with several lines."""

TIMES = r"(.*[_ ])?(seconds|secs?|minutes|mins?|hours|hrs|runtime|duration|elapsed|wall_?(clock|time)|" \
        r"time_taken|took)([_ ].*)?|.*\((s|secs?|min|h)\)"  # fmt: skip
"""Names of columns of how long something took."""

CHECKED = {"val", "valid", "validation", "dev", "test", "eval"}
"""Words of the name of a score that was measured on other data than a model was trained on."""

TAKES = "(--hyperparameters takes it in)"

NAMES = "names the runs, no hyperparameter"


def goal_of(name: str) -> Literal["max", "min"] | None:
    """Guess from its name whether a score is to be high or low."""
    words = set(re.split(r"[^a-z0-9]+", name.lower()))
    low, high = bool(words & LOWER), bool(words & HIGHER)
    return None if low == high else ("min" if low else "max")


def guess_score(sheet: Sheet) -> str:
    """The score of a file, if not given: the tool's, or the only column with the name of a score.

    Raises:
        ValueError: None, or several; one that is the same in all runs is none.
    """
    frame = sheet.frame
    guessed = (n for n in frame if goal_of(n) and n not in sheet.settings)
    measured = [n for n in sheet.scores or guessed if scorable(frame[n])]
    varied = [n for n in measured if pd.Series(numbers(frame[n])).nunique() > 1]
    checked = [n for n in varied if set(re.split(r"[^a-z0-9]+", n.lower())) & CHECKED]
    for some in (varied, checked, [n for n in varied if goal_of(n) == "max"]):
        if len(some) == 1:
            return some[0]
    raise ValueError(f"--score must say which of these columns is the score: {', '.join(measured or frame)}")


def set_scores(sheet: Sheet, schema: Schema) -> None:
    """Guess the score and the goals that the schema lacks.

    Raises:
        ValueError: No score, or no goal that is given or can be inferred from its name.
    """
    score = schema.score = schema.score or (guess_score(sheet),)
    goal = schema.goal or tuple((sheet.recipe.goal if c in sheet.scores else None) or goal_of(c) for c in score)
    if len(goal) != len(score):
        raise ValueError(f"goal must be one for each score ({len(score)}), got {len(goal)}")
    for column, g in zip(score, goal, strict=True):
        if g not in ("max", "min"):
            raise ValueError(f"goal of {column} must be max or min, got {g!r}; its name does not say which (--goal)")
    schema.goal = goal


def assign(sheet: Sheet, schema: Schema, lost: Mask) -> list[str]:
    """Say what every column is, and set the hyperparameters, the level and the repeat in the schema.

    Args:
        sheet: The columns.
        schema: What is known of them; with a score.
        lost: (lines,) which runs have no score.

    Returns:
        The columns that name the runs.
    """
    s, frame = schema, sheet.frame
    taken = {*s.score, s.cost, s.level, s.repeat, s.status, *s.drop}
    why = _reasons(sheet, taken, lost, s.categorical)
    names = [c for c in why if why[c] == NAMES and c not in s.hyperparameters]
    names.sort(key=lambda c: c != sheet.one(sheet.recipe.run))
    chosen = list(s.hyperparameters)
    if not chosen:
        chosen = [c for c in frame if why.get(c) == "" and c != s.level]
        s.level = s.level or _level(sheet, names, chosen, [c for c in frame if c not in taken])
        chosen = [c for c in chosen if c != s.level]
        if s.level and names:
            known = frame[~absent(frame[names[0]])]
            runs = known[names[0]].nunique()
            for column in [c for c in chosen if len(known.drop_duplicates([names[0], c])) > runs]:
                why[column] = "changes from one checkpoint of a run to the next: left out (--cost takes one in)"
                chosen.remove(column)
        if s.repeat is None and not sheet.settings:
            s.repeat = next((c for c in chosen if re.fullmatch(REPEATS, c.lower())), None)
    else:
        why = {c: NAMES if c in names else "no hyperparameter, as asked" for c in why if c not in chosen}
    s.hyperparameters = tuple(c for c in chosen if c != s.repeat)
    why |= dict.fromkeys(s.drop, "left out, as asked")
    why = {c: reason for c, reason in why.items() if reason and c not in (s.level, s.repeat)}
    for reason in dict.fromkeys(why.values()):
        sheet.say(reason, *(c for c in why if why[c] == reason))
    return names


def _reasons(sheet: Sheet, taken: Collection[str | None], lost: Mask, chosen: Collection[str]) -> dict[str, str]:
    """Column that is nothing else -> why it is no hyperparameter; empty if it is one, as those the user chose."""
    frame, run = sheet.frame, sheet.one(sheet.recipe.run)
    found = {c: NAMES if c == run else _reason(sheet, c, lost, chosen) for c in frame if c not in taken}
    # A first column that numbers the lines, whatever it is called.
    first, values = frame.columns[0], numbers(frame.iloc[:, 0])
    counts = len(values) > 5 and bool((np.diff(values) == 1.0).all()) and values[0] in (0.0, 1.0)
    others = any(not why and frame[c].nunique() > 1 for c, why in found.items() if c != first)
    if counts and others and not found.get(first, NAMES) and first not in chosen and NAMES not in found.values():
        found[first] = NAMES
    return found


def _names_runs(sheet: Sheet, column: str) -> bool:
    """Return whether a column is called a name and hardly repeats, or only from one checkpoint to the next."""
    frame = sheet.frame
    if not re.fullmatch(IDENTIFIERS, column.lower().strip()):
        return False
    steps = (n for n, c in frame.items() if re.fullmatch(LEVELS, str(n).lower()) and numeric(c))
    return frame[column].nunique() * 2 > len(frame) or any(not frame.duplicated([column, n]).any() for n in steps)


def _reason(sheet: Sheet, column: str, lost: Mask, chosen: Collection[str]) -> str:
    """See `_reasons`."""
    recipe, cells, low = sheet.recipe, sheet.frame[column], column.lower().strip()
    if column in chosen or column in sheet.settings:
        return ""
    if sheet.settings and column in sheet.scores:
        return "measured, not set"
    if sheet.settings or (recipe.noted and re.fullmatch(recipe.noted, column)):
        return f"{f'bookkeeping of {recipe.tool}' if recipe.tool else 'not among the settings'}, no hyperparameter"
    if _names_runs(sheet, column):
        return NAMES
    words = set(different(cells))
    first = [t for t in cells[:50].dropna() if t in words]
    if column.startswith(UNNAMED):
        return "has no name: left out"
    if re.fullmatch(STAMPS, low) or (first and all(re.fullmatch(DATE, t) for t in first)):
        return f"when, not what: left out {TAKES}"
    empty, goal = absent(cells), goal_of(column)
    full = int((~empty).sum())
    if numeric(cells):
        if re.fullmatch(TIMES, low) or (goal and cells.nunique() * 2 > len(cells)):
            role = "--score" if goal == "max" else "--cost"
            return f"measured, not set: left out ({role} {quote(column)} uses it, --hyperparameters takes it in)"
        if 0 < full < len(cells) and (empty <= lost).all():
            return f"empty only where a run failed, so measured, not set: left out {TAKES}"
        return ""
    if re.fullmatch(NOTES, low):
        return f"a note: left out {TAKES}"
    if len(words) > CHOICES:
        return f"more than {CHOICES} different texts, no choice: left out {TAKES}"
    if first and full == len(words) < len(cells) / 2 and all(" " in t for t in first):
        return f"a remark on a few lines: left out {TAKES}"
    long = sum(len(t) > 40 or "\n" in t for t in first) * 2 > len(first)
    if first and (long or len(set(first)) == len(first) == len(cells) > 5):
        return f"another text for each run: left out {TAKES}"
    return ""


def _level(sheet: Sheet, names: Sequence[str], chosen: Sequence[str], free: Sequence[str]) -> str | None:
    """The column of the checkpoint, if runs have several lines each: by the name of the run, else by configuration."""
    for column in (sheet.one(sheet.recipe.level), *(c for c in free if re.fullmatch(LEVELS, c.lower()))):
        if column is None or not numeric(sheet.frame[column]):
            continue
        # A run that failed before the first checkpoint has none.
        known = sheet.frame[~np.isnan(numbers(sheet.frame[column]))]
        run = names or [c for c in chosen if c != column]
        several = bool(run) and len(known.drop_duplicates(run)) * 3 <= len(known) * 2
        if several and known[column].nunique() > 1 and not known.duplicated([*run, column]).any():
            return column
    return None


def hyperparameter(name: str, column: Column, log: bool | None = None) -> tuple[Hyperparameter, str]:
    """Infer a hyperparameter from a column's values, with the reason.

    Raises:
        ValueError: `log` for numbers that are not all positive.
    """
    if column.choices is not None:
        choices = column.choices
        h = Hyperparameter(name, "categorical", 0.0, float(len(choices) - 1), values=choices)
        alike = len({str(c).lower() for c in choices}) < len(choices)
        return h, described(h) + ("; some differ in upper and lower case only" if alike else "")
    known = column.values[~np.isnan(column.values)]
    low, high, whole = float(known.min()), float(known.max()), column.whole
    grid = np.sort(pd.unique(known)).tolist()
    if log and low <= 0:
        raise ValueError(f"column {name}: must be positive to be logarithmic, got {low:g}")
    logarithmic = low > 0 and high / low >= LOG if log is None else log
    listed = tuple(map(int, grid) if whole else grid) if len(grid) <= FEW and len(grid) < len(known) else ()
    h = Hyperparameter(name, "int" if whole else "float", low, high, logarithmic, listed)
    guessed = f" (spans a factor of {high / low:.3g})" if logarithmic and not log else ""
    return h, described(h) + guessed


def described(h: Hyperparameter) -> str:
    """A hyperparameter in words."""
    if h.kind == "categorical":
        shown = ", ".join(str(c) for c in h.values[:5]) + (", ..." if len(h.values) > 5 else "")
        return f"choice of {len(h.values)}: {shown}"
    listed = f", {len(h.values)} values" if h.values else ""
    return f"{h.kind}, {h.low:g} to {h.high:g}{listed}" + (", logarithmic" if h.log else "")


def metric(
    name: str, values: npt.ArrayLike, goal: Literal["max", "min"], bounds: tuple[float, float] | None
) -> tuple[Metric, str]:
    """Make a metric; bounds are 0 to 1 or 0 to 100 where values fit, else round numbers around them.

    Raises:
        ValueError: Bounds that are not finite and increasing, or values outside them.
    """
    low, high = float(np.min(values)), float(np.max(values))
    if bounds is None:
        b = 1.0 if low >= 0.0 and high <= 1.0 else 100.0
        if low < 0.0 or high > b:
            b = 10.0 ** math.ceil(math.log10(max(-low, high)))
        a = 0.0 if low >= 0.0 else -b
        why = f"bounds {a:g} to {b:g} guessed from its values (--bounds {quote(f'{name}=LOW:HIGH')} says better)"
    else:
        (a, b), why = bounds, "bounds as given"
        if not (math.isfinite(a) and math.isfinite(b) and a < b):
            raise ValueError(f"bounds of {name} must be two finite numbers, low < high, got {a:g} and {b:g}")
        if low < a or high > b:
            raise ValueError(f"bounds of {name} must contain its values, {low:g} to {high:g}, got {a:g} to {b:g}")
    return Metric(name, "", goal, a, b), f"score, {goal}, {low:g} to {high:g}; {why}"


def condition_of(holes: Mask, columns: Mapping[str, Column]) -> tuple[str, tuple[Any, ...]] | None:
    """The choice that explains where a column is empty: (parent, choices with which it is filled), if one does."""
    for parent, column in columns.items() if holes.any() else ():
        if column.choices is None or np.isnan(column.values).any():
            continue
        empty, filled = (set(np.unique(column.values[mask]).tolist()) for mask in (holes, ~holes))
        if not empty & filled:
            return parent, tuple(column.choices[int(i)] for i in sorted(filled))
    return None
