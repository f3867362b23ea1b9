"""CharMini's attentive LSTM for inflection, on the symbols of a task."""

import functools
import math
import time
from collections.abc import Mapping
from typing import Any

import torch

from hpo_envs.families.charmini.training import run
from hpo_envs.families.charmini.training.batches import Corpus, encoded
from hpo_envs.families.textmini.training.scores import PredictionCounts, evaluated
from hpo_envs.families.training.record import Diverged, key_of
from hpo_envs.tables.datasets.textmini import tasks


class Training(run.SequenceModel):
    """A model in training; the caller sets the number of threads.

    Args:
        task: Name of the task.
        config: Active natural values.
        seed: Seed of initial weights, order of the forms, and dropout, with the configuration and the task.
    """

    model = "lstm"

    def __init__(self, task: str, config: Mapping[str, Any], seed: int) -> None:
        of, key = corpus(task), key_of(self.model, task, seed, dict(config))
        super().__init__(self.model, config, of, key)
        self._longest = 2 + max(int(words.spoken.max()) for words in of.parts.values())

    def epoch(self) -> PredictionCounts:
        """Train for an epoch and evaluate.

        Raises:
            Diverged: A loss is not finite.
        """
        start = time.process_time()
        loss = self._learn()
        self.epochs += 1
        seconds = time.process_time() - start
        if not math.isfinite(loss):
            raise Diverged(f"loss {loss} in epoch {self.epochs}")

        def correct(part: str) -> int:
            with torch.no_grad():
                return self._score(self._corpus.parts[part], self._longest)[0]

        sizes = {part: len(words) for part, words in self._corpus.parts.items()}
        found = evaluated(correct, lambda part, right: (right, sizes[part], sizes[part]), seconds)
        self._adam.epoch(found.correct)
        return found


@functools.cache
def corpus(task: str) -> Corpus:
    """Return the examples of a task as arrays; one code stands for all input symbols that the training part lacks."""
    parts = tasks.of(task).parts()
    known = {symbol for inputs, _ in parts["train"] for symbol in inputs}
    made = {symbol for part in parts.values() for _, outputs in part for symbol in outputs}
    return encoded(parts, [*sorted(known), ""], sorted(made))
