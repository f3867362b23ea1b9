"""Training of a cell with a seed, epoch by epoch."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from hpo_envs.families.cellmini.training.cell import Graph, Unrolled
from hpo_envs.families.charmini.training.layers import Dropout, ParameterArray, Shapes
from hpo_envs.families.charmini.training.optimiser import BITS, Adam
from hpo_envs.families.training import record
from hpo_envs.families.training.record import Diverged, key_of
from hpo_envs.tables import Ints, draws, exact
from hpo_envs.tables.cells.canonical import canonical
from hpo_envs.tables.cells.recipe import Cell
from hpo_envs.tables.datasets.cellmini import DECAY, DROPOUT, LARGEST, RATE, STEPS, STREAMS, UNITS
from hpo_envs.tables.datasets.cellmini.text import split, symbols

_INITIAL, _MASKS = range(2)

_ADAM = {"learning_rate": RATE, "beta1": DECAY[0], "beta2": DECAY[1], "scheduler": "none"}


@dataclass(frozen=True)
class EpochLosses:
    """Losses after an epoch: mean negative log-likelihood of a character, in nats.

    Attributes:
        development: Loss on the development text.
        loss: Loss on the training text during the epoch, with dropout.
        test: Loss on the test text.
    """

    development: float
    loss: float
    test: float


class CellTraining(record.ResumableTraining):
    """A language model in training, in this process; the caller sets the number of threads.

    It has embeddings tied to the output's weights (as in NAS-Bench-NLP), one cell, and softmax. Hidden states are
    carried from segment to segment, rounded like derivatives, so that differences between processors do not grow along
    the text.

    Args:
        cell: The cell, which is trained in canonical form.
        seed: Seed of initial weights and dropout, together with the cell.
        train: (characters,) codes of the text to train on; None: the training text.
    """

    def __init__(self, cell: Cell, seed: int, train: Ints | None = None) -> None:
        cell = canonical(cell)
        self._key = key_of("cell", seed, cell.text())
        self._graph, self._train = Graph(cell), split("train") if train is None else train
        self._parameters = ParameterArray(_shapes(self._graph), draws.mix(self._key, _INITIAL))
        self._adam = Adam(_ADAM, self._parameters.flat)
        views = self._parameters.views
        self._symbols, self._bias, *self._weights = views.values()
        self.epochs = 0

    def epoch(self) -> EpochLosses:
        """Train for an epoch and evaluate.

        Raises:
            Diverged: A loss or gradient is not finite.
        """
        loss = self._learn()
        self.epochs += 1
        with torch.no_grad():
            development, test = (self._evaluate(split(name)) for name in ("development", "test"))
        if not math.isfinite(development + test):
            raise Diverged(f"development {development}, test {test} in epoch {self.epochs}")
        return EpochLosses(development, loss, test)

    def _learn(self) -> float:
        key, total, count = draws.mix(draws.mix(self._key, _MASKS), self.epochs), 0.0, 0
        states = self._start()
        for i, (inputs, targets) in enumerate(stretches(self._train)):
            drop = Dropout(DROPOUT, draws.mix(key, i))
            loss, states = self._loss(inputs, targets, states, drop)
            gradient = exact.rounded(self._parameters.gradient(loss), BITS)
            norm = math.sqrt(float((gradient * gradient).sum()))
            total += float(loss.detach()) * targets.size
            count += targets.size
            if not math.isfinite(total + norm):
                raise Diverged(f"loss {total}, norm {norm} in epoch {self.epochs + 1}")
            if norm > LARGEST:
                gradient *= LARGEST / norm
            self._adam.update(gradient, targets.size)
        return total / count

    def _evaluate(self, part: Ints) -> float:
        total, count, states = 0.0, 0, self._start()
        for inputs, targets in stretches(part):
            loss, states = self._loss(inputs, targets, states, Dropout(0.0, None))
            total += float(loss) * targets.size
            count += targets.size
        return total / count

    def _start(self) -> Tensor:
        return torch.zeros(self._graph.cell.hidden, STREAMS, UNITS, dtype=torch.float64)

    def _loss(self, inputs: Ints, targets: Ints, states: Tensor, drop: Dropout) -> tuple[Tensor, Tensor]:
        """Return the mean negative log probability of (steps, STREAMS) `targets`, and the rounded final states."""
        masks = [drop(torch.ones(STREAMS, UNITS, dtype=torch.float64)).repeat(len(inputs), 1) for _ in range(2)]
        x = torch.nn.functional.embedding(torch.from_numpy(inputs.ravel()), self._symbols) * masks[0]
        out, last = Unrolled.apply(self._graph, x, states, *self._weights)
        logits = torch.addmm(self._bias, out * masks[1], self._symbols.t())
        loss = torch.nn.functional.cross_entropy(logits, torch.from_numpy(targets.ravel()))
        return loss, torch.from_numpy(exact.rounded(last.numpy(), BITS))


def stretches(part: Ints) -> Iterator[tuple[Ints, Ints]]:
    """Yield (up to STEPS, STREAMS) characters and their successors, segment by segment; streams divide the text."""
    length = (len(part) - 1) // STREAMS
    inputs, targets = (part[at : at + length * STREAMS].reshape(STREAMS, length).T for at in (0, 1))
    for first in range(0, length, STEPS):
        rows = slice(first, first + STEPS)
        yield np.ascontiguousarray(inputs[rows]), np.ascontiguousarray(targets[rows])


def _shapes(graph: Graph) -> Shapes:
    """Return shapes and bounds, see `Shapes`: 1/sqrt(units) as in the release, except that the output's bias is 0."""
    bound = UNITS**-0.5
    shapes = {"symbols": ((len(symbols()), UNITS), bound), "bias": ((len(symbols()),), 0.0)}
    for j in graph.linears:
        shapes[f"{j}.weights"] = (len(graph.cell.nodes[j][1]) * UNITS, UNITS), bound
        shapes[f"{j}.bias"] = (UNITS,), bound
    return shapes
