"""Roles of columns (hyperparameter, score, fidelity, repeat, other), with the reason and whether it is certain.

Values decide. Where only a name or only values say that a column was measured, it is a question.
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import replace
from shlex import quote
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd

from hpo_envs.tables.user.cells import CHOICES, UNNAMED, Mask, absent, codes, different, numbers, numeric
from hpo_envs.tables.user.deciding import relations
from hpo_envs.tables.user.deciding.formats import TIME_UNITS
from hpo_envs.tables.user.deciding.outcomes import scorable
from hpo_envs.tables.user.frame import Decision, Frame
from hpo_envs.tables.user.statement import Statement

LOWER = {"loss", "error", "err", "perplexity", "ppl", "rmse", "mse", "mae", "wer", "cer", "nll", "seconds", "time",
         "latency", "runtime", "duration", "memory", "vram", "regret", "ter", "fpr", "fnr", "fdr", "mape", "bpb",
         "bpc"}  # fmt: skip
HIGHER = {"accuracy", "acc", "f1", "bleu", "chrf", "auc", "auroc", "precision", "recall", "score", "r2", "rouge",
          "comet", "reward", "em", "map", "mrr", "likelihood", "meteor", "ndcg", "mcc", "npv", "specificity",
          "sensitivity", "iou", "dice", "ap"}  # fmt: skip
SPREADS = {"std", "sd", "stderr", "sem", "variance"}
MEASURED = {*SPREADS, "best", "final", "avg", "seconds", "secs", "sec", "minutes", "mins", "hours", "hrs", "elapsed",
            "took", "walltime", "wallclock", "var", "bias"}  # fmt: skip
"""Words of names that outcomes have."""

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

TIMES = {"seconds", "secs", "sec", "minutes", "mins", "hours", "hrs", "runtime", "duration", "elapsed", "took", "time",
         "walltime", "wallclock", "clock", "latency", "taken"}  # fmt: skip
"""Last words of the names of columns of how long something took."""

CHECKED = {"val", "valid", "validation", "dev", "test", "eval"}
"""Words of the name of a score that was measured on other data than a model was trained on."""

TAKES = "(--hyperparameters takes it in)"

GAPS = 0.1
"""Largest part of runs with a checkpoint missing before their last, of which the first is an error."""

NAMES = "names the runs, no hyperparameter"


TAKE = "--hyperparameters"


class Roles(NamedTuple):
    """Roles of the columns of a frame.

    Attributes:
        stated: The statement, with the hyperparameters, the level and the repeat.
        names: Columns that name the runs.
        said: The decisions.
    """

    stated: Statement
    names: list[str]
    said: list[Decision]


class Why(NamedTuple):
    """Reason why a column is not a hyperparameter; with an option if that is uncertain."""

    text: str
    option: str = ""


def words_of(name: str) -> list[str]:
    """The words of a name, in lower case: `valLoss_best` has val, loss, best."""
    return re.findall(r"[a-z0-9]+", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name).lower())


def is_time(name: str) -> bool:
    """Return whether a name is that of a duration."""
    rate = words_of(name)
    words = rate[: rate.index("per")] if "per" in rate[1:] else rate
    unit = len(rate) > 1 and words[-1] in TIME_UNITS
    telling = unit and (len(words[-1]) > 1 or name.endswith(")") or (len(words) > 1 and words[-2] in TIMES))
    return bool(telling or {*words[-1:]} & TIMES)


def goal_of(name: str) -> Literal["max", "min"] | None:
    """Guess from its name whether a score is maximised or minimised."""
    words = {form for word in words_of(name) for form in (word, word.removesuffix("s"))}
    low, high = bool(words & LOWER), bool(words & HIGHER)
    return None if low == high else ("min" if low else "max")


def guess_score(frame: Frame) -> str:
    """The score of a file, if not given: the tool's, or the only column with the name of a score.

    Raises:
        ValueError: None, or several; one that is the same in all runs is none.
    """
    guessed = (n for n in frame.cells if goal_of(n) and n not in frame.settings)
    measured = [n for n in frame.scores or guessed if scorable(frame[n])]
    for others in (is_time, lambda n: SPREADS & {*words_of(n)}):
        measured = [n for n in measured if not others(n)] or measured
    varied = [n for n in measured if pd.Series(numbers(frame[n])).nunique() > 1]
    checked = [n for n in varied if {*words_of(n)} & CHECKED]
    for some in (varied, checked, [n for n in varied if goal_of(n) == "max"]):
        if len(some) == 1:
            return some[0]
    free = [n for n in frame.cells if scorable(frame[n]) and n not in frame.settings and frame[n].nunique() > 1]
    shown = ", ".join(measured or free or frame.cells)
    raise ValueError(f"--score must name the score among these columns: {shown}")


def scored(frame: Frame, stated: Statement) -> Statement:
    """A statement with score and goals, guessed where they are missing.

    Raises:
        ValueError: No score, or no goal that is given or can be inferred from its name.
    """
    score = stated.score or (guess_score(frame),)
    goal = stated.goal or tuple((frame.recipe.goal if c in frame.scores else None) or goal_of(c) for c in score)
    if len(goal) != len(score):
        raise ValueError(f"goal must be one for each score ({len(score)}), got {len(goal)}")
    for column, g in zip(score, goal, strict=True):
        if g not in ("max", "min"):
            raise ValueError(f"goal of {column} must be max or min, got {g!r}; its name does not say which (--goal)")
    return replace(stated, score=score, goal=goal)


def assign(frame: Frame, stated: Statement, lost: Mask, units: dict[str, str]) -> Roles:
    """Decide the role of every column.

    Args:
        frame: The columns.
        stated: What is known of them; with a score, and the columns of cost and status.
        lost: (lines,) which runs have none.
        units: Column -> unit of its numbers.
    """
    s = stated
    taken = {*s.score, s.cost, s.level, s.repeat, s.status, *s.drop}
    why = _reasons(frame, taken, lost, s.categorical, units)
    names = [c for c in why if why[c].text == NAMES and c not in s.hyperparameters]
    names.sort(key=lambda c: c != frame.one(frame.recipe.run))
    said: list[Decision] = []
    chosen, level, repeat = list(s.hyperparameters), s.level, s.repeat or frame.one(frame.recipe.repeat)
    if not chosen:
        chosen = [c for c in frame.cells if c in why and not why[c].text and c not in (level, repeat)]
        steps = None if level else _level(frame, names, chosen, [c for c in frame.cells if c not in taken])
        if steps and not steps[1]:
            why[steps[0]] = Why("")
            chosen = [*chosen, *({steps[0]} - {*chosen})]
        elif steps:
            level = steps[0]
        chosen = [c for c in chosen if c != level]
        if level and names:
            known = frame.cells[~absent(frame[names[0]])]
            runs = known[names[0]].nunique()
            for column in [c for c in chosen if len(known.drop_duplicates([names[0], c])) > runs]:
                why[column] = Why("changes from one checkpoint of a run to the next: left out (--cost takes one in)")
                chosen.remove(column)
        if repeat is None and not frame.settings:
            repeat = next((c for c in chosen if re.fullmatch(REPEATS, c.lower())), None)
        if not frame.settings:
            kept = [c for c in chosen if c != repeat and c not in s.categorical]
            seemingly = _seemingly_measured(frame, kept, s.score[0], names[0] if level and names else None)
            measured = {c for c, (_, rather) in seemingly.items() if rather}
            if not any(frame[c].nunique() > 1 for c in kept if c not in measured):
                measured = set()
            for c, (by, _) in seemingly.items():
                option = f"--drop {quote(c)} or {TAKE}"
                if c in measured:
                    why[c] = Why(f"{by}, so it seems to be measured, not set: left out", option)
                    chosen.remove(c)
                else:
                    said.append(frame.of("hyperparameter", f"{by}: taken nevertheless", c, option=option))
    else:
        why = {c: Why(NAMES if c in names else "no hyperparameter, as asked") for c in why if c not in chosen}
    why |= dict.fromkeys(s.drop, Why("left out, as asked"))
    why = {c: reason for c, reason in why.items() if reason.text and c not in (level, repeat)}
    for reason in dict.fromkeys(why.values()):
        columns = [c for c in why if why[c] == reason]
        said.append(
            frame.of("name" if reason.text == NAMES else "ignored", reason.text, *columns, option=reason.option)
        )
    if repeat is not None:
        how = "" if s.repeat else f" {TAKES}"
        said.append(frame.of("repeat", f"tells runs of one configuration apart{how}", repeat))
    hyperparameters = tuple(c for c in chosen if c != repeat)
    return Roles(replace(s, hyperparameters=hyperparameters, level=level, repeat=repeat), names, said)


def _reasons(
    frame: Frame, taken: Collection[str | None], lost: Mask, chosen: Collection[str], units: dict[str, str]
) -> dict[str, Why]:
    """Column that is nothing else -> why it is no hyperparameter; empty if it is one, as those the user chose."""
    run, found = frame.one(frame.recipe.run), {}
    for c in frame.cells:
        if c not in taken:
            found[c] = Why(NAMES) if c == run else _reason(frame, c, lost, chosen, units.get(c, ""))
    # A first column that numbers the lines, whatever it is called.
    first, values = frame.cells.columns[0], numbers(frame.cells.iloc[:, 0])
    counts = len(values) > 5 and bool((np.diff(values) == 1.0).all()) and values[0] in (0.0, 1.0)
    others = any(not why.text and frame[c].nunique() > 1 for c, why in found.items() if c != first)
    if (
        counts
        and others
        and not found.get(first, Why(NAMES)).text
        and first not in chosen
        and Why(NAMES) not in found.values()
    ):
        found[first] = Why(NAMES)
    return found


def _names_runs(frame: Frame, column: str) -> bool:
    """Return whether a column is called a name and hardly repeats, or only from one checkpoint to the next."""
    if not re.fullmatch(IDENTIFIERS, column.lower().strip()):
        return False
    cells = frame.cells
    steps = (n for n, c in cells.items() if re.fullmatch(LEVELS, str(n).lower()) and numeric(c))
    return cells[column].nunique() * 2 > len(cells) or any(not cells.duplicated([column, n]).any() for n in steps)


def _reason(frame: Frame, column: str, lost: Mask, chosen: Collection[str], unit: str) -> Why:
    """See `_reasons`."""
    recipe, cells, low = frame.recipe, frame[column], column.lower().strip()
    if column in chosen or column in frame.settings:
        return Why("")
    if frame.settings and column in frame.scores:
        return Why("measured, not set")
    if frame.settings or (recipe.noted and re.fullmatch(recipe.noted, column)):
        return Why(f"{f'bookkeeping of {recipe.tool}' if recipe.tool else 'not among the settings'}, no hyperparameter")
    if _names_runs(frame, column):
        return Why(NAMES)
    words, empty = set(different(cells)), absent(cells)
    first = [t for t in cells[:50].dropna() if t in words]
    rare = cells.nunique() * 2 > int((~empty).sum())
    asked = "" if rare else f"--drop {quote(column)} or {TAKE}"
    if column.startswith(UNNAMED):
        return Why("has no name: left out")
    if first and all(re.fullmatch(DATE, t) for t in first):
        return Why(f"when, not what: left out {TAKES}")
    if re.fullmatch(STAMPS, low) and not (numeric(cells) and np.nanmax(numbers(cells), initial=0) < 1e8):  # seconds
        return Why(f"when, not what: left out {TAKES}", asked)
    if numeric(cells):
        return _measured(frame, column, lost, unit)
    if re.fullmatch(NOTES, low):
        long = max(map(len, words), default=0) > 20
        return Why(f"a note: left out {TAKES}", "" if long or len(words) < 2 else asked)
    if len(words) > CHOICES:
        return Why(f"more than {CHOICES} different texts, no choice: left out {TAKES}")
    if first and int((~empty).sum()) == len(words) < len(cells) / 2 and all(" " in t for t in first):
        return Why(f"a remark on a few lines: left out {TAKES}")
    long = sum(len(t) > 40 or "\n" in t for t in first) * 2 > len(first)
    if first and (long or len(words) == int((~empty).sum()) > max(5, len(cells) / 2)):
        return Why(f"another text for each run: left out {TAKES}")
    return Why("")


def _measured(frame: Frame, column: str, lost: Mask, unit: str) -> Why:
    """Why a column of numbers was measured: it is called so, and its values are no grid; else a question, or set."""
    cells, words = frame[column], {*words_of(column)}
    empty, distinct = absent(cells), cells.nunique()
    full = int((~empty).sum())
    goal, took = goal_of(column), is_time(column)
    telling = LOWER | HIGHER | MEASURED
    called = took or bool((words | {w.removesuffix("s") for w in words}) & telling)
    fractions = distinct > relations.GRID and bool((numbers(cells) % 1 > 0).any())
    rare = distinct * 2 > full or (called and fractions)  # a score of many runs may repeat, but is no grid
    quantity = unit in TIME_UNITS or unit.endswith("B") or unit in ("%", "bytes")
    if distinct * 2 > full > 5 and re.fullmatch(LEVELS, column.rpartition("/")[2].lower()):
        return Why("where a run ended, so it seems to be measured, not set: left out", f"--drop or {TAKE}")
    if not (called or quantity) or not (rare or took or distinct > relations.GRID):
        failed = 0 < full < len(cells) and (empty <= lost).all()
        return Why(f"empty only where a run failed, so measured, not set: left out {TAKES}" if failed else "")
    role = "--score" if goal == "max" else "--cost"
    how = f"({role} {quote(column)} uses it, {TAKE} takes it in)"
    return Why(f"measured, not set: left out {how}", "" if rare else f"{role} {quote(column)}, --drop or {TAKE}")


def _seemingly_measured(
    frame: Frame, columns: Sequence[str], score: str, run: str | None
) -> dict[str, tuple[str, bool]]:
    """See `relations.dependent`; of runs with several lines, the first."""
    cells = frame.cells if run is None else frame.cells.drop_duplicates(run)
    cells = cells.iloc[:: len(cells) // relations.LINES + 1]
    values = {c: numbers(cells[c]) if numeric(cells[c]) else codes(cells[c]).astype(float) for c in columns}
    return relations.dependent(values, [c for c in columns if numeric(cells[c])], numbers(cells[score]))


def _level(frame: Frame, names: Sequence[str], chosen: Sequence[str], free: Sequence[str]) -> tuple[str, bool] | None:
    """The column of the checkpoint, if runs have several lines each: by the name of the run, else by configuration.

    With it, whether runs have all checkpoints before their last: where a tenth has not, as with Hyperband, each line is
    an evaluation of its own.
    """
    for column in (frame.one(frame.recipe.level), *(c for c in free if re.fullmatch(LEVELS, c.lower()))):
        if column is None or not numeric(frame[column]):
            continue
        # A run that failed before the first checkpoint has none.
        known = frame.cells[~np.isnan(numbers(frame[column]))]
        run = names or [c for c in chosen if c != column]
        if not run or known[column].nunique() < 2 or known.duplicated([*run, column]).any():
            continue
        seen = known.assign(place=pd.factorize(numbers(known[column]), sort=True)[0]).groupby(
            [*run], dropna=False, observed=True
        )
        gaps = float((seen["place"].max() + 1 > seen["place"].nunique()).mean())
        whole = gaps <= GAPS
        if len(seen) <= len(known) * (0.67 if whole else 0.9):
            return column, whole
    return None
