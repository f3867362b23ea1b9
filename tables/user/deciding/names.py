"""Words in column names that suggest a role: time, score and its goal, seed, checkpoint, state, identifier, note."""

import re
from typing import Literal

from hpo_envs.tables.user.deciding.formats import TIME_UNITS

TIMES = set("seconds secs sec minutes mins hours hrs runtime duration elapsed took time walltime wallclock clock "
            "latency taken".split())  # fmt: skip
"""Last words in names of columns with durations."""

LOWER = TIMES | set("loss error err perplexity ppl rmse mse mae mape wer cer ter nll bpb bpc memory vram regret fpr "
                    "fnr fdr brier".split())  # fmt: skip
HIGHER = set("accuracy acc f1 bleu chrf auc auroc precision recall score r2 rouge comet reward em map mrr likelihood "
             "meteor ndcg mcc npv specificity sensitivity iou dice ap".split())  # fmt: skip
TURNED, GAINED = {"neg", "negative", "reduction", "decrease", "drop"}, {"improvement", "gain"}
"""Words in names of scores with the opposite goal, such as `neg_log_loss`; and of scores that are maximised."""

UNCLEAR = {"inverse", "inverted", "inv", "minus", "rank", "gap", "diff", "difference", "delta"}
"""Words that leave the goal of a score open, as `1 -` before it does."""

SIGNED = {"likelihood", "log", "reward", "score", "r2", "mcc"}
"""Words in names of scores that may be negative."""

SPREADS = {"std", "sd", "stderr", "sem", "variance", "var"}
MEASURED = LOWER | HIGHER | SPREADS | {"best", "final", "avg", "bias"}
"""Words in names of measured columns."""

VALIDATED = {"val", "valid", "validation", "dev"}
"""Words in names of scores measured on validation data, by which configurations are selected."""

CHECKED = VALIDATED | {"test", "eval"}
"""Words in names of scores measured on other data than the training data."""

AMBIGUOUS = {"precision", "memory", "vram", "map", "ap", "em"}
"""Words that may also name a hyperparameter, unless the name has one of `CHECKED`."""

IN_SCORES = MEASURED | CHECKED | TURNED | set("train mean max min macro micro balanced top at log rate percent squared "
                                              "root cross entropy byte char word token".split())  # fmt: skip
"""Words in names of scores."""

IDENTIFIERS = r"(run|trial|exp|experiment|(slurm[_ ]?)?(array[_ ]?)?(job|task))?[_ ]?(id|name|number|key|index|idx)|" \
              r"run|trial|exp|experiment|(slurm[_ ]?)?job|uuid|pid|port"  # fmt: skip
"""Pattern of the names of columns that identify runs if their values rarely repeat."""

STAMPS = r"(.*[ _.])?(date|time|ts|timestamp|datetime|created|started|finished|updated|completed|" \
         r"(start|end)[ _]?(time|date))(_(start|complete|at|utc))?"  # fmt: skip
"""Pattern of the names of columns with dates or times."""

NOTES = r"notes?|comments?|remarks?|description|memo|tags?|user(name)?|author|owner|host(name)?|machine|node|" \
        r"gpu_name|url|path|(log|work|out|output|run)_?(dir|path)|artifact_uri|(git[._ ]?)?(commit|sha|hash|branch)|" \
        r"message|error(_message)?|traceback"  # fmt: skip
"""Pattern of the names of columns with notes, people, machines, paths, code versions or messages."""

REPEATS = r"(.*[._/ ])?(random_?)?seed|random_state|repeats?|rep|replicates?|replication|fold|cv_fold|run_seed"
"""Pattern of the names of columns that distinguish runs of one configuration."""

LEVELS = r"_?(epochs?|steps?|iterations?|iter|global_step|updates?|training_iteration|checkpoint|rungs?|resource|" \
         r"n_resources|budget)"  # fmt: skip
"""Pattern of the names of columns that may be the checkpoint of runs with several lines."""

CHECKPOINTS = r"_?(epoch|step|iteration|iter|global_step|training_iteration|checkpoint)"
"""Pattern of the names of columns that are hardly hyperparameters, unlike a number of epochs."""

STATES = ("state", "status", "trial_state", "run_state", "trial_status", "run_status")
"""Names of columns that may be the outcome of runs."""


def words_of(name: str) -> list[str]:
    """The words of a name, in lower case: val, loss and best for `valLoss_best`."""
    return re.findall(r"[a-z0-9]+", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name).lower())


def among(name: str, words: set[str]) -> bool:
    """Return whether a name contains one of some words, also in the plural."""
    return any({word, word.removesuffix("s")} & words for word in words_of(name))


def is_time(name: str) -> bool:
    """Return whether a name denotes a duration."""
    words = words_of(name)
    several = len(words) > 1
    words = words[: words.index("per")] if "per" in words[1:] else words
    before, last = ["", "", *words][-2:]
    unit = last in TIME_UNITS and (len(last) > 1 or name.endswith(")") or before in TIMES)
    return last in TIMES or (several and unit)


def is_score(name: str) -> bool:
    """Return whether a name is that of a score, and not of a hyperparameter with the word, such as `loss_weight`."""
    plain = all(word.isdigit() or among(word, IN_SCORES) for word in words_of(name))
    return plain and (not among(name, AMBIGUOUS) or among(name, CHECKED))


def is_positive(name: str) -> bool:
    """Return whether a name is that of a score that is not negative."""
    return among(name, LOWER | HIGHER) and not among(name, TURNED | GAINED | SIGNED)


def goal_of(name: str) -> Literal["max", "min"] | None:
    """Guess from a score's name whether it is maximised or minimised; None if the name does not tell."""
    low = among(name, LOWER)
    high = among(name, HIGHER - {"score"}) or (not low and among(name, {"score"}))
    minus = re.match(r"\s*1\s*[-−–]", name) and among(" ".join(words_of(name)[1:2]), LOWER | HIGHER)
    if low == high or minus or among(name, UNCLEAR):
        return None
    return "max" if high != among(name, TURNED) or among(name, GAINED) else "min"
