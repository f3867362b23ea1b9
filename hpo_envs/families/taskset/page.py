"""TaskSet: tuning the optimizer of recurrent text classifiers; final results and learning curves."""

from typing import Any

from hpo_envs.core.engines.curves.params import CurveParams
from hpo_envs.core.engines.curves.scalar import CurvesEnv
from hpo_envs.core.engines.lookup.params import LookupParams
from hpo_envs.core.engines.lookup.scalar import LookupEnv
from hpo_envs.core.params import Objectives
from hpo_envs.tables.checks import one_of
from hpo_envs.tables.datasets.taskset import TASKS
from hpo_envs.tables.datasets.taskset.build import HELD_OUT


def table_name(task: str) -> str:
    """Return the name of the table of a task.

    Raises:
        ValueError: The task is unknown.
    """
    return f"taskset/{one_of('task', task, TASKS)}"


class TaskSetEnv(LookupEnv):
    """Tuning of an optimizer with eight hyperparameters that trains a recurrent classifier of film reviews.

    ## Description
    Metz et al. (2020) trained models of many kinds with the same 1,000 configurations of Adam. These are their 12
    recurrent classifiers of sentiment in IMDB reviews, which read subwords. One step looks up one training of 10,000
    updates. One episode is one optimisation run. Few configurations are near the best, and most learn nothing.

    Ids: `TaskSet-{task}-v0` with task `gru64-mean`, `gru128`, `irnn64`, `irnn64-mean`, `lstm128`, `lstm128-e128`,
    `lstm128-long`, `lstm128-long-e128`, `lstm128-long-mean`, `vrnn64-relu-mean`, `vrnn64-tanh-mean` or `vrnn128-tanh`:
    cell and units; `mean`: mean of the states, else the last; `long`: 128 subwords, else 32; `e128`: embeddings of size
    128. Learning curves: `TaskSetLC-lstm128-v0`.

    ## Action Space
    `Discrete(1000)`: index of the configuration, in a fixed pseudo-random order. All were drawn log-uniformly:
    `learning_rate` (1e-8 to 10), `beta1` (1 - beta1: 1e-4 to 1), `beta2` (1 - beta2: 1e-6 to 1), `epsilon` (1e-10 to
    1,000), `l1`, `l2` (1e-8 to 10), `linear_decay` (1e-7 to 1e-4), `exponential_decay` (1e-6 to 1e-3).

    ## Observation Space
    The d = 8 features are those above in their order, on the scale of their draws: for `beta1` and `beta2` the
    logarithm of 1 minus the value. `info["config"]` has the values themselves.

    ## Rewards
    The metric `objective` at the last update, negative if lower is better. Default: minus the validation loss, -10 to
    0; chance level is a loss of 0.69.

    ## Starting State
    The table has one run of each configuration, so the seed affects only `shuffle` and `subsample`.

    ## Information
    `metrics`: `validation_loss`, `training_loss` in nats; `held_out` (dict: `test_loss`); `status`: `ok`, or `diverged`
        if a loss was NaN, which counts as 10.

    ## Arguments
    - `task`: as in the ids.
    - `objective="validation_loss"`: or `"training_loss"`, or a tuple of metrics for a vector reward.
    - `cost="evaluations"`: or `"updates"`.
    - `budget=20`: in units of `cost`; None = every row once.

    ## Table
    Twelve of upstream's 51 checkpoints, four decimals, losses of at most 10 nats. CC-BY-4.0 and Apache-2.0 licence.

    ## References
    Luke Metz, Niru Maheswaranathan, Ruoxi Sun, C. Daniel Freeman, Ben Poole and Jascha Sohl-Dickstein. Using a thousand
    optimization tasks to learn hyperparameter search strategies. arXiv:2002.11887, 2020. Files:
    Arlind Kadra, Maciej Janowski, Martin Wistuba and Josif Grabocka. Scaling Laws for Hyperparameter Optimization.
    NeurIPS 2023. https://github.com/releaunifreiburg/DPL
    """

    @staticmethod
    def _params(
        task: str = "lstm128", *, objective: Objectives = "validation_loss", budget: float | None = 20, **kwargs: Any
    ) -> LookupParams:
        return LookupParams.of((table_name(task),), objective=objective, budget=budget, held_out=HELD_OUT, **kwargs)


TaskSetVectorEnv = TaskSetEnv.vectorized()


class TaskSetLCEnv(CurvesEnv):
    """Multi-fidelity tuning of an optimizer that trains a recurrent classifier of film reviews.

    ## Description
    The learning curves of the tables of `TaskSet-*-v0`. One step trains one configuration up to one checkpoint,
    continuing from the checkpoint reached before, and pays only for the new part. One episode is one optimisation run.

    Ids: `TaskSetLC-{task}-v0`, tasks as in `TaskSet-lstm128-v0`.

    ## Action Space
    `MultiDiscrete([1000, 12])`: index of the configuration, in a fixed pseudo-random order, and the checkpoint to train
    it to: after 200, 400, 600, 800, 1,000, 1,400, 2,000, 2,800, 3,800, 5,200, 7,200 or 10,000 updates. Hyperparameters
    as in `TaskSet-lstm128-v0`.

    ## Observation Space
    d = 8.

    ## Rewards
    The metric `objective` at that checkpoint, negative if lower is better. Default: minus the validation loss, -10 to
    0.

    ## Starting State
    The table has one run of each configuration, so the seed affects only `shuffle` and `subsample`.

    ## Information
    `metrics`: `validation_loss`, `training_loss`; `held_out` (dict: `test_loss`); `status`: `ok`; `diverged` once a
        loss is NaN.

    ## Arguments
    - `task`, `objective`: as in `TaskSet-lstm128-v0`.
    - `cost=None`: updates, the only recorded cost; or `"evaluations"`.

    ## Table
    As in `TaskSet-lstm128-v0`. Upstream has a loss every 200 updates; the checkpoints are a geometric sequence of 13
    from the first to the last, rounded, without the one duplicate.

    ## References
    See `TaskSet-lstm128-v0`.
    """

    @staticmethod
    def _params(task: str = "lstm128", *, objective: Objectives = "validation_loss", **kwargs: Any) -> CurveParams:
        return CurveParams.of(table_name(task), objective=objective, held_out=HELD_OUT, **kwargs)


TaskSetLCVectorEnv = TaskSetLCEnv.vectorized()
