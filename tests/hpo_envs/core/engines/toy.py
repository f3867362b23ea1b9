"""A function of the square for two tasks, small enough to be computed by hand."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from hpo_envs.core.engines.box.params import BoxFunction, BoxParams, Evaluations
from hpo_envs.tables.table import Hyperparameter, Metric, Provenance, Table

SPACE = (
    Hyperparameter("x", "int", 0, 10),
    Hyperparameter("shape", "categorical", 0, 1, values=("round", "flat")),
)
METRICS = (
    Metric("height", "m", "max", -5.0, 15.0),
    Metric("loss", "", "min", 0.0, 2.0),
    Metric("duration", "s", "min", 0.0, 4.0),
)


def table(name: str) -> Table:
    """A table of one row that stands for a task."""
    return Table(
        name=f"toy/{name}",
        keys=("a",),
        metrics=METRICS[:1],
        values=np.zeros((1, 1, 1, 1)),
        cost=np.zeros((1, 1, 1)),
        provenance=Provenance("surrogate", "", "", "", ""),
    )


class Toy(BoxFunction):
    """Height: x + 5 on task 1, x on task 0; loss: 1 if flat; duration: x, beyond its bound of 4."""

    options = ("hill",)

    def __init__(self) -> None:
        self.tables, self.spaces = (table("low"), table("high")), (SPACE, SPACE)
        self.labels, self.facts = ({"hill": "low"}, {"hill": "high"}), np.array([[0.0], [1.0]])

    def evaluate(self, tasks: npt.NDArray[np.int64], actions: npt.NDArray[np.float64]) -> Evaluations:
        x, flat = np.rint((actions[:, 0] + 1.0) * 5.0), actions[:, 1] > 0.0
        metrics = {"height": x + 5.0 * tasks, "loss": flat.astype(np.float64), "duration": x.copy()}
        return Evaluations(np.column_stack([x, flat]), metrics, {"height": x - 1.0})

    def action_of(self, task: int, config: Any) -> npt.NDArray[np.float32]:
        return np.array([config["x"] / 5.0 - 1.0, 0.5], np.float32)

    def choose(self, options: Mapping[str, Any] | None) -> npt.NDArray[np.int64]:
        return np.array([options["hill"]]) if options else super().choose(options)


def params(**kwargs: Any) -> BoxParams:
    """The parameters of the toy's environment."""
    arguments = {"objective": "height", "cost": "evaluations", "budget": 3, **kwargs}
    return BoxParams.of(Toy(), METRICS, costs=METRICS[2:], **arguments)
