"""Training of a neural classifier or tagger, epoch by epoch."""

import collections
import math
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from hpo_envs.families.charmini.training.layers import Dropout, ParameterArray
from hpo_envs.families.charmini.training.optimiser import Adam
from hpo_envs.families.textmini.training.encoders import Encoder
from hpo_envs.families.textmini.training.scores import PredictionCounts, counts, evaluated
from hpo_envs.families.training import record
from hpo_envs.families.training.record import Diverged, key_of
from hpo_envs.tables import draws
from hpo_envs.tables.datasets.textmini import tasks
from hpo_envs.tables.datasets.textmini.space import module

LONGEST = {"words": 24, "characters": 40}
"""Units of a text after which it is cut off."""

_INITIAL, _ORDER, _MASKS = range(3)
_BATCH = 64
"""Sequences that are evaluated at a time."""


class Training(record.ResumableTraining):
    """A model in training; the caller sets the number of threads.

    Args:
        task: Name of the task.
        config: Active natural values.
        seed: Seed of initial weights, order of the examples, and dropout, with the configuration and the task.
    """

    model = "neural"

    def __init__(self, task: str, config: Mapping[str, Any], seed: int) -> None:
        self._task, self._config, self._key = tasks.of(task), config, key_of(self.model, task, seed, dict(config))
        parts = self._task.parts()
        parts["train"] = parts["train"][: module(self.model).TRAINED_ON]
        read = {part: [self._units(text) for text, _ in examples] for part, examples in parts.items()}
        self._labels = {part: [label for _, label in examples] for part, examples in parts.items()}
        seen = collections.Counter(unit for text in read["train"] for units in text for unit in units)
        known = sorted(unit for unit, times in seen.items() if times >= config.get("min_frequency", 1))
        code = {unit: i for i, unit in enumerate(known, 2)}
        self._ids = {part: [[[code.get(u, 1) for u in us] for us in t] for t in texts] for part, texts in read.items()}
        self._classes = sorted({tag for label in self._labels["train"] for tag in self._tags(label)})
        self._encoder = Encoder(config, len(known) + 2, len(self._classes), self._task.kind == "classification")
        self._parameters = ParameterArray(self._encoder.shapes(), draws.mix(self._key, _INITIAL))
        self._adam = Adam({"scheduler": "none", "beta2": 0.999, **config}, self._parameters.flat)
        self.epochs = 0

    def epoch(self) -> PredictionCounts:
        """Train for an epoch and evaluate.

        Raises:
            Diverged: A loss is not finite.
        """
        start = time.process_time()
        self._learn()
        self.epochs += 1
        seconds = time.process_time() - start
        return evaluated(self._predict, lambda part, p: counts(p, self._labels[part], self._task.unit), seconds)

    def _learn(self) -> None:
        count, batch = len(self._ids["train"]), self._config["batch_size"]
        orders, masks = (draws.mix(draws.mix(self._key, part), self.epochs) for part in (_ORDER, _MASKS))
        order = np.argsort(draws.sequence(np.array([orders], np.uint64), count), kind="stable")
        code = {label: i for i, label in enumerate(self._classes)}
        for i in range(0, count, batch):
            rows = order[i : i + batch].tolist()
            drop = Dropout(self._config["dropout"], draws.mix(masks, i))
            texts = [self._ids["train"][row] for row in rows]
            scores = self._encoder.scores(self._parameters.views, _padded(texts), drop)
            if scores.ndim == 3:
                scores = scores[torch.arange(scores.shape[1]) < torch.tensor([len(text) for text in texts])[:, None]]
            right = [code[tag] for row in rows for tag in self._tags(self._labels["train"][row])]
            loss = torch.nn.functional.cross_entropy(scores, torch.tensor(right))
            if not math.isfinite(float(loss.detach())):
                raise Diverged(f"loss {float(loss.detach())} in epoch {self.epochs + 1}")
            self._adam.update(self._parameters.gradient(loss), len(rows))
            self._parameters.flat *= 1.0 - self._adam.rate() * self._config["weight_decay"]

    def _predict(self, part: str) -> list[Any]:
        """Return the predicted class, or the predicted tags, of each example of a part."""
        predicted: list[Any] = []
        for i in range(0, len(self._ids[part]), _BATCH):
            texts = self._ids[part][i : i + _BATCH]
            with torch.no_grad():
                scores = self._encoder.scores(self._parameters.views, _padded(texts), Dropout(0.0, None))
            best = scores.argmax(-1).tolist()
            for text, at in zip(texts, best, strict=True):
                tags = self._classes[at] if scores.ndim == 2 else [self._classes[j] for j in at[: len(text)]]
                predicted.append(tags)
        return predicted

    def _tags(self, label: Any) -> Sequence[str]:
        return (label,) if self._task.kind == "classification" else label

    def _units(self, text: Any) -> list[list[str]]:
        """Return the symbols at each position of an input."""
        units = self._config["units"]
        symbols = text.lower().split() if units == "words" else list(text)
        return [[symbol] for symbol in symbols[: LONGEST[units]]] or [[""]]


def _padded(texts: Sequence[Sequence[Sequence[int]]]) -> torch.Tensor:
    """Return texts as (n, longest, symbols per position) symbols, padded with 0."""
    ids: npt.NDArray[np.int64] = np.zeros((len(texts), max(map(len, texts)), len(texts[0][0])), np.int64)
    for row, text in zip(ids, texts, strict=True):
        row[: len(text)] = text
    return torch.from_numpy(ids)
