"""Adam on rounded gradients, and CharHPO's learning-rate schedulers, in elementary operations in a fixed order."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from hpo_envs.tables import Floats, exact

BITS = 12
"""Significant bits of each derivative: far fewer than processors agree on, and more than training needs."""

EPSILON = 1e-8


class Adam:
    """Adam (Kingma and Ba 2015, algorithm 1) on rounded gradients, with CharHPO's learning-rate schedulers.

    Args:
        config: Hyperparameters `learning_rate`, `beta1`, `beta2`, and those of the scheduler.
        parameters: (n,) parameters, changed in place.
    """

    def __init__(self, config: Mapping[str, Any], parameters: Floats) -> None:
        self._config, self._parameters = config, parameters
        self._first, self._second = np.zeros_like(parameters), np.zeros_like(parameters)
        self._buffer = np.empty_like(parameters)
        self._decay, self._samples = [1.0, 1.0], 0
        self._factor, self._best, self._bad = 1.0, -math.inf, 0

    def update(self, gradient: Floats, samples: int) -> None:
        """Take a step on the parameters, at the learning rate for the examples so far.

        Args:
            gradient: (n,) derivatives; rounded here.
            samples: Examples in the batch.
        """
        self._samples += samples
        g, buffer = exact.rounded(gradient, BITS), self._buffer
        for i, (moment, beta) in enumerate(
            ((self._first, self._config["beta1"]), (self._second, self._config["beta2"]))
        ):
            self._decay[i] *= beta
            np.multiply(g, 1.0 - beta, out=buffer)
            if i:
                buffer *= g
            moment *= beta
            moment += buffer
        rate = self.rate() / (1.0 - self._decay[0])
        np.sqrt(np.divide(self._second, 1.0 - self._decay[1], out=buffer), out=buffer)
        buffer += EPSILON
        np.divide(self._first, buffer, out=buffer)
        buffer *= rate
        self._parameters -= buffer

    def rate(self) -> float:
        """Return the current learning rate."""
        config, rate = self._config, self._config["learning_rate"]
        if config["scheduler"] == "warmupinvsqrt":
            share = self._samples / config["warmup_samples"]
            return float(rate * (share if share < 1.0 else 1.0 / math.sqrt(share)))
        if config["scheduler"] == "reduceonplateau":
            return float(max(rate * self._factor, min(rate, config["min_lr"])))
        return float(rate)

    def epoch(self, correct: int) -> None:
        """Report the number of correct development words after an epoch to the scheduler."""
        self._bad = 0 if correct > self._best else self._bad + 1
        self._best = max(self._best, correct)
        if self._config["scheduler"] == "reduceonplateau" and self._bad > self._config["patience"]:
            self._factor, self._bad = self._factor * self._config["factor"], 0

    def state(self) -> dict[str, Any]:
        """Return the state for `restore`; its moments are not copies."""
        kept = [*self._decay, self._samples, self._factor, self._best, self._bad]
        return {"first": self._first, "second": self._second, "optimiser": np.array(kept, np.float64)}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Resume from a stored state."""
        self._first[:], self._second[:] = state["first"], state["second"]
        *decay, samples, self._factor, self._best, bad = np.asarray(state["optimiser"]).tolist()
        self._decay, self._samples, self._bad = decay, int(samples), int(bad)
