"""What names of columns suggest, and the score, for which a name may decide; for other roles, see `roles`."""

import re
from dataclasses import replace
from typing import Literal

import numpy as np

from hpo_envs.tables.user.cells import numbers, scorable
from hpo_envs.tables.user.deciding.formats import TIME_UNITS
from hpo_envs.tables.user.frame import Frame
from hpo_envs.tables.user.statement import Statement

TIMES = set("seconds secs sec minutes mins hours hrs runtime duration elapsed took time walltime wallclock clock "
            "latency taken".split())  # fmt: skip
"""Last words of the names of columns of how long something took."""

LOWER = TIMES | set("loss error err perplexity ppl rmse mse mae mape wer cer ter nll bpb bpc memory vram regret fpr "
                    "fnr fdr".split())  # fmt: skip
HIGHER = set("accuracy acc f1 bleu chrf auc auroc precision recall score r2 rouge comet reward em map mrr likelihood "
             "meteor ndcg mcc npv specificity sensitivity iou dice ap".split())  # fmt: skip
SPREADS = {"std", "sd", "stderr", "sem", "variance", "var"}
MEASURED = LOWER | HIGHER | SPREADS | {"best", "final", "avg", "bias"}
"""Words of names that outcomes have."""

CHECKED = {"val", "valid", "validation", "dev", "test", "eval"}
"""Words of the name of a score that was measured on other data than a model was trained on."""

IDENTIFIERS = r"(run|trial|exp|experiment|job)?[_ ]?(id|name|number|key|index|idx)|run|trial|exp|experiment|job|uuid"
"""Names of columns that name the runs, if hardly a value comes twice."""

STAMPS = r"(.*[ _.])?(date|time|timestamp|datetime|created|started|finished|updated|completed|" \
         r"(start|end)[ _]?(time|date))(_(start|complete|at|utc))?"  # fmt: skip
"""Names of columns that say when."""

NOTES = r"notes?|comments?|remarks?|description|memo|tags?|user(name)?|author|owner|host(name)?|machine|node|" \
        r"gpu_name|url|path|(log|work|out|output|run)_?(dir|path)|artifact_uri|(git[._ ]?)?(commit|sha|hash|branch)|" \
        r"message|error(_message)?|traceback"  # fmt: skip
"""Names of columns of text that is for people."""

REPEATS = r"(.*[._/ ])?(random_?)?seed|random_state|repeats?|rep|replicates?|replication|fold|cv_fold|run_seed"
"""Names of columns that tell runs of one configuration apart."""

LEVELS = r"_?(epochs?|steps?|iterations?|iter|global_step|updates?|training_iteration|checkpoint|rungs?|resource|" \
         r"n_resources|budget)"  # fmt: skip
"""Names of columns that may be the checkpoint of a run with several lines."""


def words_of(name: str) -> list[str]:
    """The words of a name, in lower case: `valLoss_best` has val, loss, best."""
    return re.findall(r"[a-z0-9]+", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name).lower())


def among(name: str, words: set[str]) -> bool:
    """Whether a name has one of some words, perhaps in the plural."""
    return any({word, word.removesuffix("s")} & words for word in words_of(name))


def is_time(name: str) -> bool:
    """Return whether a name is that of a duration."""
    words = words_of(name)
    several = len(words) > 1
    words = words[: words.index("per")] if "per" in words[1:] else words
    last, before = ["", "", *words][-1], ["", "", *words][-2]
    return last in TIMES or (
        several and last in TIME_UNITS and (len(last) > 1 or name.endswith(")") or before in TIMES)
    )


def goal_of(name: str) -> Literal["max", "min"] | None:
    """Guess from its name whether a score is maximised or minimised."""
    low, high = among(name, LOWER), among(name, HIGHER)
    return None if low == high else ("min" if low else "max")


def guess_score(frame: Frame) -> str:
    """The score of a file, if not given: the tool's, or the only column with the name of a score.

    Raises:
        ValueError: None, or several; one that is the same in all runs is none.
    """
    free = [n for n in frame.cells if n not in frame.settings and scorable(frame[n])]
    measured = [n for n in free if n in (frame.scores or free) and (frame.scores or goal_of(n))]
    for others in (is_time, lambda n: among(n, SPREADS)):
        measured = [n for n in measured if not others(n)] or measured
    varied = [n for n in measured if len(np.unique(numbers(frame[n])[~np.isnan(numbers(frame[n]))])) > 1]
    checked = [n for n in varied if among(n, CHECKED)]
    for some in (varied, checked, [n for n in varied if goal_of(n) == "max"]):
        if len(some) == 1:
            return str(some[0])
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
