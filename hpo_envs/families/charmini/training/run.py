"""Training of a configuration with a seed, epoch by epoch."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from hpo_envs.families.charmini.training.batches import Corpus, Packed, PaddedWords, corpus, distances
from hpo_envs.families.charmini.training.layers import Dropout, ParameterArray
from hpo_envs.families.charmini.training.lstm import AttentiveLSTM
from hpo_envs.families.charmini.training.optimiser import Adam
from hpo_envs.families.charmini.training.transformer import Transformer
from hpo_envs.families.training import record
from hpo_envs.families.training.record import Diverged, key_of
from hpo_envs.tables import draws
from hpo_envs.tables.datasets.charmini import ENGLISH
from hpo_envs.tables.datasets.charmini.space import active

LONGEST = 12
"""Phonemes after which a pronunciation is cut off: two more than any word has."""

_INITIAL, _ORDER, _MASKS = range(3)


@dataclass(frozen=True)
class WordScores:
    """Metrics after an epoch.

    Attributes:
        correct: Number of development words that are exactly right.
        errors: Number of edits between the predicted and the right pronunciations of development words.
        nll: Mean negative log-likelihood of phonemes and ends of development words, in nats.
        loss: Mean training loss of the epoch in nats, including label smoothing and dropout.
        test_correct: Number of test words that are exactly right.
        test_errors: Number of edits between the predicted and the right pronunciations of test words.
    """

    correct: int
    errors: int
    nll: float
    loss: float
    test_correct: int
    test_errors: int


class SequenceModel(record.ResumableTraining):
    """A sequence-to-sequence model in training.

    Args:
        architecture: `lstm` or `transformer`.
        config: Active natural values of the hyperparameters.
        of: Training and evaluation data.
        key: Key of initial weights, order of the words, and dropout.
    """

    def __init__(self, architecture: str, config: Mapping[str, Any], of: Corpus, key: int) -> None:
        self._config, self._corpus, self._key, self._train = config, of, key, of.parts["train"]
        self._model = (AttentiveLSTM if architecture == "lstm" else Transformer)(config, of.sizes)
        self._parameters = ParameterArray(self._model.shapes(), draws.mix(key, _INITIAL))
        self._adam = Adam(config, self._parameters.flat)
        self.epochs = 0

    def _learn(self) -> float:
        count, batch = len(self._train), self._config["batch_size"]
        key = draws.mix(draws.mix(self._key, _ORDER), self.epochs)
        order = np.argsort(draws.sequence(np.array([key], np.uint64), count), kind="stable")
        key = draws.mix(draws.mix(self._key, _MASKS), self.epochs)
        total = 0.0
        for i in range(0, count, batch):
            words = self._train[order[i : i + batch]]
            drop = Dropout(self._config["dropout"], draws.mix(key, i))
            loss = self._loss(words, drop, self._config["label_smoothing"])
            total += float(loss.detach()) * len(words)
            if not math.isfinite(total):
                return total
            self._adam.update(self._parameters.gradient(loss), len(words))
        return total / count

    def _loss(self, words: PaddedWords, drop: Dropout, smoothing: float) -> torch.Tensor:
        """Return the mean cross-entropy of phonemes and ends, with label smoothing."""
        spoken = Packed(words.spoken + 1)
        edge = np.full((len(words), 1), self._corpus.sizes.phonemes)
        inputs = spoken.pack(np.hstack([edge, words.phonemes]))
        targets = spoken.pack(np.hstack([words.phonemes, edge]))
        logits = self._model.logits(self._parameters.views, words, spoken, inputs, drop)
        return torch.nn.functional.cross_entropy(logits, torch.from_numpy(targets), label_smoothing=smoothing)

    def _score(self, words: PaddedWords, longest: int = LONGEST) -> tuple[int, int]:
        """Return the numbers of correct words and of phoneme errors of greedy decoding."""
        told = self._model.greedy(self._parameters.views, words, longest)
        wrong = distances(told, words.phonemes, self._corpus.sizes.phonemes)
        return int((wrong == 0).sum()), int(wrong.sum())


class WordTraining(SequenceModel):
    """A model of CharMini in training, in this process; the caller sets the number of threads.

    Args:
        architecture: `lstm` or `transformer`.
        config: Natural values of the hyperparameters; inactive ones have no effect.
        seed: Seed of initial weights, order of the words, and dropout, together with the configuration and the
            language.
        language: Code of the language.
        train: Words to train on; default: all training words.
    """

    def __init__(
        self, architecture: str, config: Mapping[str, Any], seed: int, language: str = ENGLISH,
        train: PaddedWords | None = None,
    ) -> None:  # fmt: skip
        config = active(architecture, config)
        # English was trained before there were other languages.
        key = key_of(*([] if language == ENGLISH else [language]), architecture, seed, dict(config))
        super().__init__(architecture, config, corpus(language), key)
        self._train = self._train if train is None else train

    def epoch(self) -> WordScores:
        """Train for an epoch and evaluate.

        Raises:
            Diverged: A loss is not finite.
        """
        loss = self._learn()
        self.epochs += 1
        development, test = (self._corpus.parts[name] for name in ("development", "test"))
        with torch.no_grad():
            nll = float(self._loss(development, Dropout(0.0, None), 0.0))
            if not math.isfinite(loss + nll):
                raise Diverged(f"loss {loss}, nll {nll} in epoch {self.epochs}")
            scores = [self._score(words) for words in (development, test)]
        self._adam.epoch(scores[0][0])
        return WordScores(*scores[0], nll, loss, *scores[1])
