"""Counts of predictions, from which scores follow; spans of tags, shapes of words, resamples of the training set."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hpo_envs.families.training.record import key_of
from hpo_envs.tables import draws

SHARE = 0.8
"""Share of the training set that a repeat of a deterministic model sees."""


@dataclass(frozen=True)
class PredictionCounts:
    """Results at a fidelity: counts of predictions, and CPU seconds.

    Attributes:
        correct: Number of correct predictions on the validation set: texts, tokens, spans or forms.
        predicted: Number of predictions on the validation set.
        gold: Number of gold items in the validation set.
        test_correct: `correct` on the test set.
        test_predicted: `predicted` on the test set.
        test_gold: `gold` on the test set.
        seconds: Seconds of training, including the features of the texts.
        inference: Seconds of predictions on the validation set, including the features of its texts.
    """

    correct: int
    predicted: int
    gold: int
    test_correct: int
    test_predicted: int
    test_gold: int
    seconds: float
    inference: float


def evaluated(
    predict: Callable[[str], Any],
    count: Callable[[str, Any], tuple[int, int, int]],
    seconds: float,
    features: float = 0,
) -> PredictionCounts:
    """Evaluate a model on the validation and the test set; measure the CPU time of predictions on the validation set.

    Args:
        predict: Function from `validation` or `test` to predictions.
        count: Function from the part and its predictions to `counts`.
        seconds: Seconds of training.
        features: Seconds that the features of the validation set took.
    """
    start = time.process_time()
    predicted = predict("validation")
    inference = time.process_time() - start + features
    return PredictionCounts(*count("validation", predicted), *count("test", predict("test")), seconds, inference)


def resample(task: str, repeat: int, count: int) -> npt.NDArray[np.int64]:
    """Return the indices of a repeat's training examples, 80 % of all, in an order whose prefixes are smaller sets."""
    key = np.array([key_of("resample", task, repeat)], np.uint64)
    order = np.argsort(draws.sequence(key, count), kind="stable")
    return order[: round(SHARE * count)]


def counts(predicted: Sequence[Any], gold: Sequence[Any], unit: str) -> tuple[int, int, int]:
    """Return the numbers of correct predictions, of predictions and of gold items.

    Args:
        predicted: Predicted class or form of each example, or its tags.
        gold: Gold class or form of each example, or its tags.
        unit: See `TextTask.unit`.
    """
    if unit in ("texts", "forms"):
        return sum(p == g for p, g in zip(predicted, gold, strict=True)), len(gold), len(gold)
    if unit == "tokens":
        pairs = [pair for p, g in zip(predicted, gold, strict=True) for pair in zip(p, g, strict=True)]
        return sum(p == g for p, g in pairs), len(pairs), len(pairs)
    found, right = ({(i, *span) for i, tags in enumerate(part) for span in spans(tags)} for part in (predicted, gold))
    return len(found & right), len(found), len(right)


def spans(tags: Sequence[str]) -> list[tuple[int, int, str]]:
    """Return (first, last + 1, type) of each span of BIO tags, also if it begins with I (Tjong Kim Sang 2002)."""
    found, first, last = [], 0, ""
    for i, tag in enumerate([*tags, "O"]):
        kind, _, of = tag.partition("-")
        if last and (kind != "I" or of != last[2:]):
            found.append((first, i, last[2:]))
            last = ""
        if kind != "O" and not last:
            first, last = i, f"I-{of}"
    return found


def shape(word: str) -> str:
    """Return the shape of a word: A, a, 0 or . for each run of capitals, other letters, digits or other characters."""
    kinds = ["A" if c.isupper() else "a" if c.isalpha() else "0" if c.isdigit() else "." for c in word]
    return "".join(kind for i, kind in enumerate(kinds) if not i or kind != kinds[i - 1])
