"""CellMiniLive: cells that are trained when they are complete; time limit of a training."""

import numpy as np

from hpo_envs.core.engines.cells.params import CellParams, Report, Scorer
from hpo_envs.core.engines.cells.scalar import CellEnv
from hpo_envs.core.engines.function.params import WITHOUT_BUDGET
from hpo_envs.core.params import Objectives, check_int
from hpo_envs.families.cellmini import measure
from hpo_envs.families.training.process import Trainer
from hpo_envs.tables.cells.canonical import canonical
from hpo_envs.tables.cells.recipe import Cell
from hpo_envs.tables.datasets.cellmini import EPOCHS, build, cost
from hpo_envs.tables.table import Provenance, Table

SECONDS = 900.0
"""Default time limit of a training in seconds; the longest takes about a minute."""


class CellTrainer(Scorer):
    """Scorer that trains cells in a separate process, which ends with this object.

    Args:
        seed: Seed of the trainings.
        epochs: Epochs per training.
        seconds: Time limit of a training.

    Raises:
        ValueError: An argument is not valid.
        ModuleNotFoundError: torch is not installed.
    """

    metrics = build.METRICS
    held_out = build.HELD_OUT

    def __init__(self, seed: int, epochs: int, seconds: float) -> None:
        check_int("seed", seed, 0)
        check_int("epochs", epochs)
        self._seed, self.epochs = seed, epochs
        self.expected = epochs * cost.mean()
        self._trainer = Trainer(measure.__name__, seconds)

    def score(self, cell: Cell, name: str, bits: int) -> Report:
        """Train a cell and report the result; a training without a result gets the worst values."""
        price = self.epochs * cost.epoch(canonical(cell))
        curve = np.full(self.epochs, build.CAP)
        lost = {m.name: m.worst for m in self.metrics}
        try:
            said = self._trainer.train({"cell": name, "seed": self._seed}, self.epochs)
        except (TimeoutError, ChildProcessError) as error:
            return Report(lost | {"seconds": 0.0}, curve, "failed", "none", {}, price, str(error))
        losses = np.minimum([[e["development"], e["loss"], e["test"]] for e in said["epochs"]], build.CAP)
        if len(losses):
            curve[: len(losses)] = losses[:, 0]
        if "diverged" in said:
            return Report(lost | {"seconds": said["seconds"]}, curve, "diverged", "measured", {}, price)
        measured = dict(zip(lost, (*losses[-1].tolist(), float(said["parameters"])), strict=True))
        return Report(measured | {"seconds": said["seconds"]}, curve, "ok", "measured", {}, price)


def _table(seed: int, epochs: int) -> Table:
    """Return a table for infos and headers that has no results, because cells are trained on request."""
    nothing = np.full((1, 1, 1), np.nan)
    name = f"function/cellmini-{seed}-{epochs}"
    made = Provenance("measured", "this project", build.COMMIT, "MIT", "The hpo_envs developers. CellMini.")
    return Table(name, ("any cell",), build.METRICS, np.full((1, 1, 1, len(build.METRICS)), np.nan), nothing, made, "s")


class CellMiniLiveEnv(CellEnv):
    """Search for a recurrent cell by building it node by node; complete cells are trained in the step.

    ## Description
    The space and actions of `NASBenchNLP-cell-v0` with the training of `CellMini-v0`: a complete cell is trained as a
    language model of Shakespeare for 15 epochs, which takes 3 to 40 seconds on one core. Agents developed on the
    surrogate run here unchanged. An episode builds `budget` cells. Id: `CellMiniLive-v0`. Needs the extra `live`.

    Training runs in a separate process with one thread and does not change the settings of torch in this one. A cell
    and a seed of the table reproduce the table's numbers.

    ## Rewards
    The step that completes a cell is the evaluation: its reward is minus the loss on the development text after the
    last epoch (`objective`). A training whose loss is not finite has diverged, one that takes too long has
    failed: both, and invalid cells, get the worst value of the metric (-50 for a loss). All other steps have reward 0
    and cost 0.

    ## Starting State
    An empty cell; rewards at the lower bound, full budget. The episode's seed changes nothing; the argument `seed` is
    that of the trainings.

    ## Information
    At reset: `table`, `kind`, `sha256` of a table without measurements that identifies the training; `action_mask`.
    At each step: `finished` (bool, whether the step completed a cell), `cost` (float: seconds on one core, estimated as
    in the table), `spent` (1 if a cell was completed, else 0), `metrics` (dict of float: `validation_loss` and
    `train_loss` in nats, `parameters`, and `seconds`, the measured CPU time), `held_out` (dict: `test_loss`),
    `curve` ((epochs,) float64, development loss by epoch, 50 from divergence on), `status` (`ok`, `diverged`,
    `failed`), `source` (`measured` or `none`), `key` (canonical key of the cell), `error` (why a move was illegal or a
    training failed, else empty), `action_mask` ((95,) int8: the values that can be legal now, parts of an action
    concatenated).

    ## Arguments
    - `objective="validation_loss"`: or `train_loss`, `parameters`, or a tuple of metrics for a vector reward.
    - `budget=20`: complete cells of an episode; None = 10,000.
    - `seed=0`: seed of the trainings; the table's are 0 and 1.
    - `epochs=15`: epochs per training.
    - `seconds=900`: time limit of a training.

    ## Table
    None: every result is measured in the step.

    ## References
    See `CellMini-v0`.
    """

    @staticmethod
    def _params(
        *, objective: Objectives = "validation_loss", budget: float | None = 20, seed: int = 0, epochs: int = EPOCHS,
        seconds: float = SECONDS,
    ) -> CellParams:  # fmt: skip
        units = {"cost_unit": "s", "budget_unit": "evaluations"}
        budget = WITHOUT_BUDGET if budget is None else budget
        return CellParams.of(_table(seed, epochs), CellTrainer(seed, epochs, seconds), objective, budget, **units)


CellMiniLiveVectorEnv = CellMiniLiveEnv.vectorized()
