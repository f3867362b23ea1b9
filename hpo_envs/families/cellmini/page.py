"""CellMini: recurrent cells as character language models that this project trained, as rows and as learning curves."""

from __future__ import annotations

from typing import Any

from hpo_envs.core.engines.curves.params import CurveParams
from hpo_envs.core.engines.curves.scalar import CurvesEnv
from hpo_envs.core.engines.lookup.params import LookupParams
from hpo_envs.core.engines.lookup.scalar import LookupEnv
from hpo_envs.core.params import Objectives
from hpo_envs.tables.datasets.cellmini.build import HELD_OUT, TABLE


class CellMiniEnv(LookupEnv):
    """Search among recurrent cells that this project trained as character language models.

    ## Description
    300 cells of the search space of NAS-Bench-NLP, drawn at random by this package's generator, each trained twice
    for 15 epochs on 80,000 characters of Shakespeare by `benchmarks.study.measure`: embeddings and hidden states of
    80 numbers, one cell, tied weights. One step looks up a training to its end. One episode is one search. Cells
    can be retrained and compared (`benchmarks.study.measure CellMini --check 10`); `CellMiniLive-v0` builds and trains
    any cell of the space. Id: `CellMini-v0`. Learning curves: `CellMiniLC-v0`.

    ## Action Space
    `Discrete(rows)`: the cell, in the order of a hash of the cells.

    ## Observation Space
    The d = 50 features are those of the cell's graph (`wl_*`, the first 10 stand alone), as in `NASBenchNLP-*-v0`.

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
    - `cost="evaluations"`: or `"s"`: estimated by a formula of the cell's operations, about seconds of one core.
    - `budget=20`: in units of `cost`; None = every row once per seed.

    ## Table
    Measured by this project and shipped, MIT licence (the text is in the public domain).

    ## References
    This project. Search space: Nikita Klyuchnikov, Ilya Trofimov, Ekaterina Artemova, Mikhail Salnikov, Maxim Fedorov
    and Evgeny Burnaev. NAS-Bench-NLP: Neural Architecture Search Benchmark for Natural Language Processing.
    arXiv:2006.07116, 2020.
    """

    @staticmethod
    def _params(*, objective: Objectives = "validation_loss", budget: float | None = 20, **kwargs: Any) -> LookupParams:
        return LookupParams.of((TABLE,), objective=objective, budget=budget, held_out=HELD_OUT, **kwargs)


CellMiniVectorEnv = CellMiniEnv.vectorized()


class CellMiniLCEnv(CurvesEnv):
    """Multi-fidelity search among recurrent cells that this project trained as character language models.

    ## Description
    The learning curves of `CellMini-v0`: 15 epochs of each of two trainings. One step trains one cell up to one
    epoch, continuing from the epoch reached before, and pays only the new part. One episode is one search. Id:
    `CellMiniLC-v0`.

    ## Action Space
    `MultiDiscrete([rows, 15])`: the cell, in the order of a hash of the cells, and the epoch to train it to, 0 being
    the first.

    ## Observation Space
    The d = 50 features are those of the cell's graph (`wl_*`, the first 10 stand alone).

    ## Rewards
    The metric `objective` after that epoch, negative if lower is better. Default: minus the loss on the development
    text, in nats per character.

    ## Starting State
    Each episode sees one of the two trainings of each row, drawn with the episode's seed.

    ## Information
    `metrics`: `validation_loss`, `train_loss`, `parameters`; `held_out` (dict: `test_loss`); `status`: `ok`; `diverged`
    once a loss is not finite.

    ## Arguments
    - `objective="validation_loss"`: any metric but `test_loss`, or a tuple of metrics for a vector reward.
    - `cost=None`: what a formula says, about seconds of one core; or `"epochs"`, or `"evaluations"`.

    ## Table
    As in `CellMini-v0`: measured by this project, MIT licence.

    ## References
    See `CellMini-v0`.
    """

    @staticmethod
    def _params(*, objective: Objectives = "validation_loss", **kwargs: Any) -> CurveParams:
        return CurveParams.of(TABLE, objective=objective, held_out=HELD_OUT, **kwargs)


CellMiniLCVectorEnv = CellMiniLCEnv.vectorized()
