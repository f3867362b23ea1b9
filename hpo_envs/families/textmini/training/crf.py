"""A conditional random field, trained on growing parts of the training set."""

import ctypes
import functools
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pycrfsuite

from hpo_envs.families.textmini.training.scores import PredictionCounts, counts, evaluated, resample
from hpo_envs.families.textmini.training.scores import shape as shape_of
from hpo_envs.families.training import record
from hpo_envs.tables.datasets.textmini import tasks
from hpo_envs.tables.datasets.textmini.spaces.crf import LEVELS

_SEED = 1
"""Seed of the C library's generator, which CRFsuite uses to shuffle sentences; each training sets it again."""


class Features(NamedTuple):
    """Features of the sentences of each part, their tags, and the mean CPU seconds per sentence."""

    sentences: Mapping[str, Sequence[Any]]
    tags: Mapping[str, Sequence[Sequence[str]]]
    seconds: float


@functools.lru_cache(maxsize=1)
def features(task: str, window: int, prefixes: int, suffixes: int, shape: bool, bigrams: bool, lower: bool) -> Features:
    """Return the features of a task's sentences; cached, as repeats differ in sentences and not in features."""
    parts, start = tasks.of(task).parts(), time.process_time()
    made = {}
    for name, part in parts.items():
        found = (_sentence(words, window, prefixes, suffixes, shape, bigrams, lower) for words, _ in part)
        made[name] = [pycrfsuite.ItemSequence(sentence) for sentence in found]
    seconds = (time.process_time() - start) / sum(map(len, parts.values()))
    return Features(made, {name: [tags for _, tags in part] for name, part in parts.items()}, seconds)


def _sentence(
    words: Sequence[str], window: int, prefixes: int, suffixes: int, shape: bool, bigrams: bool, lower: bool
) -> list[list[str]]:
    shapes = [shape_of(word) for word in words]
    edge = ["<>"] * (window + 1)
    forms = [*edge, *(word.lower() if lower else word for word in words), *edge]
    shapes, sentence = [*edge, *shapes, *edge], []
    for i in range(len(edge), len(words) + len(edge)):
        word = forms[i]
        found = ["bias", *(f"w{j}={forms[i + j]}" for j in range(-window, window + 1))]
        found += [f"p{n}={word[:n]}" for n in range(1, min(prefixes, len(word)) + 1)]
        found += [f"s{n}={word[-n:]}" for n in range(1, min(suffixes, len(word)) + 1)]
        if shape:
            found += [f"k{j}={shapes[i + j]}" for j in (-1, 0, 1)]
        if bigrams:
            found += [f"b{j}={forms[i + j]} {forms[i + j + 1]}" for j in (-1, 0)]
        sentence.append(found)
    return sentence


class Training(record.ResumableTraining):
    """Trainings on 1/9, 1/3 and all of the sentences of a repeat.

    Args:
        task: Name of the task.
        config: Active natural values.
        repeat: Index of the resample of training sentences.
    """

    size = 0
    """Number of features with a weight in the last trained model; 0 before the first."""

    def __init__(self, task: str, config: Mapping[str, Any], repeat: int) -> None:
        names = ("window", "prefixes", "suffixes", "shape", "bigrams", "lowercase")
        self._unit, self._config = tasks.of(task).unit, config
        self._features = features(task, *(config[name] for name in names))
        self._train = resample(task, repeat, len(self._features.tags["train"]))
        self.epochs = 0

    def epoch(self) -> PredictionCounts:
        """Train on the next larger part and evaluate."""
        rows = self._train[: round(LEVELS[self.epochs] * len(self._train))].tolist()
        start, tagger = time.process_time(), pycrfsuite.Tagger()
        model = self._fit(rows)
        seconds = time.process_time() - start + len(rows) * self._features.seconds
        at = int.from_bytes(model[28:32], "little") + 8  # CRFsuite's format: where features begin, and their number
        self.size = int.from_bytes(model[at : at + 4], "little")
        tagger.open_inmemory(model)
        sentences, tags = self._features.sentences, self._features.tags

        self.epochs += 1
        return evaluated(
            lambda part: [tagger.tag(sentence) for sentence in sentences[part]],
            lambda part, found: counts(found, tags[part], self._unit),
            seconds, len(tags["validation"]) * self._features.seconds,
        )  # fmt: skip

    def _fit(self, rows: Sequence[int]) -> bytes:
        config, algorithm = self._config, self._config["algorithm"]
        own = {name.removeprefix(f"{algorithm}_"): config[name] for name in config if name.startswith(f"{algorithm}_")}
        if algorithm == "l2sgd":
            own |= {"calibration.samples": 100, "calibration.max_trials": 10}
        trainer = pycrfsuite.Trainer(algorithm, verbose=False)
        trainer.set_params({"feature.minfreq": config["min_frequency"], "max_iterations": config["iterations"], **own})
        for row in rows:
            trainer.append(self._features.sentences["train"][row], self._features.tags["train"][row])
        ctypes.CDLL(None).srand(_SEED)
        with tempfile.TemporaryDirectory() as folder:
            trainer.train(f"{folder}/model")
            return Path(folder, "model").read_bytes()
