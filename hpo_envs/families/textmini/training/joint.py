"""A classifier of the joint space, trained on growing parts of the training set."""

import time
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from hpo_envs.families.textmini.training import classifiers, features
from hpo_envs.families.textmini.training.scores import PredictionCounts, counts, evaluated, resample
from hpo_envs.families.training import record
from hpo_envs.families.training.record import Failed, key_of
from hpo_envs.tables.datasets.textmini import tasks
from hpo_envs.tables.datasets.textmini.spaces.joint import LEVELS


class Training(record.ResumableTraining):
    """Trainings on 1/9, 1/3 and all of the examples of a repeat.

    On a part without frequent n-grams, or with one class, the prediction is the most frequent class; if even the
    largest part has no frequent n-grams, the training fails.

    Args:
        task: Name of the task.
        config: Active natural values.
        repeat: Index of the resample of training examples and of the random draws.
    """

    size = 0
    """Size of the last trained model, see `Classifier`; 0 before the first."""

    def __init__(self, task: str, config: Mapping[str, Any], repeat: int) -> None:
        self._task, self._config = tasks.of(task), config
        self._key = key_of("joint", task, repeat, dict(config))
        self._counted = features.count(task, config)
        parts = self._task.parts()
        labels = [label for part in parts.values() for _, label in part]
        self._labels = np.unique(labels, return_inverse=True)[1]
        self._train = resample(task, repeat, len(parts["train"]))
        places = np.split(np.arange(len(labels)), np.cumsum([len(part) for part in parts.values()])[:-1])
        self._held = dict(zip(parts, places, strict=True))
        self.epochs = 0

    def epoch(self) -> PredictionCounts:
        """Train on the next larger part and evaluate.

        Raises:
            Failed: The training texts have no n-gram that is frequent enough.
        """
        config, counted, start = self._config, self._counted, time.process_time()
        if not self.epochs and not len(features.select(counted.counts[self._train], config)):
            raise Failed("no terms remain")
        rows = self._train[: round(LEVELS[self.epochs] * len(self._train))]
        kept = features.select(counted.counts[rows], config)
        if not len(kept) and len(rows) == len(self._train):
            raise Failed("no terms remain")
        train = counted.counts[rows][:, kept]
        labels, classes = np.unique(self._labels[rows], return_inverse=True)
        most = int(np.bincount(classes).argmax())
        model: classifiers.Classifier = (lambda z: np.full(z.shape[0], most)), 1
        if len(kept) and len(labels) > 1:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                weights = features.weigh(train, train, config)
                model = classifiers.fit(weights, classes, config, self._key)
        predict, self.size = model
        seconds = time.process_time() - start + len(rows) * counted.seconds

        def classify(part: str) -> Any:
            return predict(features.weigh(counted.counts[self._held[part]][:, kept], train, config))

        def count(part: str, found: Any) -> tuple[int, int, int]:
            return counts(labels[found].tolist(), self._labels[self._held[part]].tolist(), "texts")

        self.epochs += 1
        return evaluated(classify, count, seconds, len(self._held["validation"]) * counted.seconds)
