"""CellMini: recurrent cells trained by this project as character language models; final results and learning curves."""

from typing import Any

from hpo_envs.core.engines.curves.params import CurveParams
from hpo_envs.core.engines.curves.scalar import CurvesEnv
from hpo_envs.core.engines.lookup.params import LookupParams
from hpo_envs.core.engines.lookup.scalar import LookupEnv
from hpo_envs.core.params import Objectives
from hpo_envs.tables.datasets.cellmini.build import HELD_OUT, TABLE


class CellMiniEnv(LookupEnv):
    """Search among recurrent cells trained by this project as character language models.

    ## Description
    300 cells of the search space of NAS-Bench-NLP, drawn by this package's random generator, each trained twice for 15
    epochs on 80,000 characters of Shakespeare by `benchmarks.study.measure`: embeddings and hidden states of size 80,
    one cell, tied weights. One step looks up one complete training. One episode is one search.
    `benchmarks.study.measure CellMini --check 10` retrains ten runs and compares them with the table; in
    `CellMiniLive-v0` agents build and train any cell of the space. Id: `CellMini-v0`. Learning curves: `CellMiniLC-v0`.

    ## Action Space
    `Discrete(rows)`: index of the cell, in a fixed pseudo-random order.

    ## Observation Space
    The d = 50 features describe the cell's graph (`wl_*`, of which the first 10 can be used alone), as in
    `NASBenchNLP-*-v0`.

    ## Rewards
    The metric `objective` after the last epoch, negative if lower is better. Default: minus the loss on the development
    text, in nats per character. A training that diverged gets the worst value, -50.

    ## Starting State
    Each evaluation is one of the row's two trainings, drawn with the episode's seed.

    ## Information
    `metrics`: `validation_loss` and `train_loss` in nats, `parameters`; `held_out` (dict: `test_loss`); `status`: `ok`,
    or `diverged`.

    ## Arguments
    - `objective="validation_loss"`: any metric but `test_loss`, or a tuple of metrics for a vector reward.
    - `cost="evaluations"`: or `"s"`: seconds on one core, estimated from the cell's operations.
    - `budget=20`: in units of `cost`; None = every row once per seed.

    ## Table
    Measured by this project and shipped, MIT licence (the text is in the public domain).

    ## References
    This project. See `NASBenchNLP-wikitext2-v0` for the search space.
    """

    @staticmethod
    def _params(*, objective: Objectives = "validation_loss", budget: float | None = 20, **kwargs: Any) -> LookupParams:
        return LookupParams.of((TABLE,), objective=objective, budget=budget, held_out=HELD_OUT, **kwargs)


CellMiniVectorEnv = CellMiniEnv.vectorized()


class CellMiniLCEnv(CurvesEnv):
    """Multi-fidelity search among recurrent cells trained by this project as character language models.

    ## Description
    The learning curves of `CellMini-v0`: 15 epochs of each of two trainings. One step trains one cell up to one
    epoch, continuing from the epoch reached before, and pays only for the new part. One episode is one search. Id:
    `CellMiniLC-v0`.

    ## Action Space
    `MultiDiscrete([rows, 15])`: index of the cell, in a fixed pseudo-random order, and the epoch to train it to, 0
    being the first.

    ## Observation Space
    The d = 50 features describe the cell's graph (`wl_*`, of which the first 10 can be used alone).

    ## Rewards
    The metric `objective` after that epoch, negative if lower is better. Default: minus the loss on the development
    text, in nats per character.

    ## Starting State
    Each episode uses one of the two trainings of each row, drawn with the episode's seed.

    ## Information
    `metrics`: `validation_loss`, `train_loss`, `parameters`; `held_out` (dict: `test_loss`); `status`: `ok`; `diverged`
    once a loss is not finite.

    ## Arguments
    - `objective="validation_loss"`: any metric but `test_loss`, or a tuple of metrics for a vector reward.
    - `cost=None`: seconds on one core, estimated from the cell's operations; or `"epochs"`, or `"evaluations"`.

    ## Table
    As in `CellMini-v0`: measured by this project, MIT licence.

    ## References
    See `CellMini-v0`.
    """

    @staticmethod
    def _params(*, objective: Objectives = "validation_loss", **kwargs: Any) -> CurveParams:
        return CurveParams.of(TABLE, objective=objective, held_out=HELD_OUT, **kwargs)


CellMiniLCVectorEnv = CellMiniLCEnv.vectorized()
