"""What the environment released with the paper does, written anew: yardstick of speed and of golden tests.

Logs are plain lists; an architecture is a dict whose JSON text is the key of its log. Training up to index e sees
e + 1 epochs and is charged the sum of the first e wall times, so the epoch trained last is free; training further
replaces the state, so the total is that of one go.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np


class ReleasedEnvironment:
    """Train and query, as released.

    Args:
        logs: One record per architecture: `recipe` (JSON text), `val`, `test`, `train` (losses, NaN last where the
            run diverged), `wall` (seconds of each epoch), `status` ("OK" or another text).
    """

    def __init__(self, logs: list[dict[str, Any]]) -> None:
        self.logs = logs
        self.index = {log["recipe"]: i for i, log in enumerate(logs)}
        if len(self.index) != len(logs):
            raise ValueError("recipes must be distinct: the released environment has no repeats")
        self.reset()

    def reset(self) -> None:
        """Forgets all training."""
        self.best: tuple[int, int] | None = None
        self.states: dict[int, dict[str, Any]] = {}

    def _state(self, i: int, epoch: int) -> dict[str, Any]:
        log = self.logs[i]
        state = {f"{phase}_loss": log[phase][epoch] if epoch >= 0 else np.nan for phase in ("train", "val", "test")}
        state["wall_time"] = np.sum(log["wall"][:epoch])
        state["epoch"] = epoch
        state["status"] = "OK" if epoch < len(log["train"]) - 1 else log["status"]
        return state

    def train(self, architecture: dict[str, Any], epoch: int) -> None:
        """Trains up to the epoch of an index, from the state reached before."""
        i = self.index[json.dumps(architecture)]
        if i in self.states and epoch <= self.states[i]["epoch"]:
            return
        epoch = min(epoch, len(self.logs[i]["train"]) - 1)
        self.states[i] = self._state(i, epoch)
        losses = self.logs[i]["val"][: epoch + 1]
        if np.sum(~np.isnan(losses)) > 0:
            best = int(np.nanargmin(losses))
            if self.best is None or self.logs[self.best[0]]["val"][self.best[1]] > losses[best]:
                self.best = i, best

    def query(self, architecture: dict[str, Any], epoch: int) -> dict[str, Any]:
        """Losses, wall time and status at an epoch that was reached.

        Raises:
            ValueError: Not reached.
        """
        i = self.index[json.dumps(architecture)]
        if self.states[i]["epoch"] < epoch:
            raise ValueError(f"epoch must have been trained, at most {self.states[i]['epoch']}, got {epoch}")
        return self._state(i, epoch)

    def total_time(self) -> float:
        """Seconds charged so far."""
        return float(sum(state["wall_time"] for state in self.states.values()))

    def best_test_loss(self) -> float:
        """Test loss of the architecture and epoch with the best validation loss."""
        if self.best is None:
            return float("nan")
        return float(self.logs[self.best[0]]["test"][self.best[1]])


def first_runs(logs: list[Any]) -> list[dict[str, Any]]:
    """The first run of every recipe among logs read by `hpo_envs.tables.datasets.nasbenchnlp.logs`, as such records."""
    found: dict[str, dict[str, Any]] = {}
    for log in logs:
        # Upstream's keys are the text that `json.dumps` makes of the recipe.
        recipe = json.dumps(json.loads(log.recipe))
        val, test, train = (column.tolist() for column in log.losses.T)
        status = "loss is nan!" if log.diverged else "OK"
        record = {"val": val, "test": test, "train": train, "wall": log.seconds.tolist(), "status": status}
        found.setdefault(recipe, {"recipe": recipe, **record})
    return list(found.values())
