"""A training that takes no time: its loss falls by a factor in each epoch."""

import time
from dataclasses import dataclass

from hpo_envs.families.training.record import Diverged, Failed


@dataclass
class Epoch:
    loss: float


class Falling:
    size = 7

    def __init__(self, factor, sleep):
        self.epochs, self._loss, self._factor, self._sleep = 0, 1.0, factor, sleep

    def epoch(self):
        time.sleep(self._sleep)
        self.epochs += 1
        self._loss *= self._factor
        if self._loss < 0.01:
            raise Failed("nothing is left")
        if self._loss > 3.0:
            raise Diverged("diverged")
        return Epoch(self._loss)

    def state(self):
        return {"loss": self._loss, "epochs": self.epochs}

    def restore(self, state):
        self._loss, self.epochs = float(state["loss"]), int(state["epochs"])


def begin(factor=0.5, sleep=0.0):
    return Falling(factor, sleep)
