"""StepLaw: learning rate and batch size of pretraining, with one grid per model and number of tokens."""

from typing import Any

from hpo_envs.core.engines.lookup.params import LookupParams
from hpo_envs.core.engines.lookup.scalar import LookupEnv
from hpo_envs.core.params import Objectives
from hpo_envs.tables.checks import one_of
from hpo_envs.tables.datasets.steplaw import GRIDS


class StepLawEnv(LookupEnv):
    """Learning rate and batch size of language models pretrained on up to 100 billion tokens.

    ## Description
    Li et al. (2025) pretrained 2,619 language models, of 215 million to 1.07 billion parameters or with mixtures of
    experts (2.15 billion), on grids of learning rate and batch size. One step looks up one training. One episode is one
    optimisation run. The tables are not shipped, because their repository states no licence: run `hpo-envs fetch
    steplaw`.

    Ids: `StepLaw-{parameters}-{tokens}-v0` with `215m` (4b, 11b, 20b, 100b tokens), `268m` (5b, 14b, 25b, 80b),
    `429m` (8b, 23b, 40b, 50b), `537m` (10b, 28b, 50b) and `1074m` (20b, 57b); `StepLaw-moe-{experts}-{tokens}-v0`
    with `1in8`, `1in89`, `2in88` and `3in8` (`2in88`: 2 of 88 experts per token) and 2b, 4b, 8b or 20b.

    ## Action Space
    `Discrete(rows)`: index of the configuration, in a fixed pseudo-random order. Hyperparameters: `learning_rate` and
    `batch_size` in sequences of 2,048 tokens, both with logarithmic scales. Dense grids are 12 x 10 (`1074m-57b`: 5 x
    10), mixtures 9 x 5; up to 20 runs of a grid are missing.

    ## Observation Space
    d = 2.

    ## Rewards
    The metric `objective`, negative if lower is better. Default: minus the smoothed training loss, -12 to 0.

    ## Starting State
    The table has one run of each configuration, so the seed affects only `shuffle` and `subsample`.

    ## Information
    `metrics`: `smoothed_loss`, `loss` in nats; `status`: `ok`.

    ## Arguments
    - `grid`: as in the ids, such as `215m-4b`.
    - `objective="smoothed_loss"`: or `"loss"`, or a tuple of metrics for a vector reward.
    - `cost="evaluations"`: or `"s"` (mixtures of experts), or `"exaFLOP"` (dense: 6 x parameters x tokens / 1e18, the
      same for all).
    - `budget=20`: in units of `cost`; None = every row once.

    ## Table
    From step-law/steplaw, which states no licence.

    ## References
    Houyi Li, Wenzhen Zheng, Qiufeng Wang, Hanshan Zhang, Zili Wang, Shijie Xuyang, Yuantao Fan, Zhenyu Ding, Haoying
    Wang, Ning Ding, Shuigeng Zhou, Xiangyu Zhang and Daxin Jiang. Predictable Scale: Part I, Step Law - Optimal
    Hyperparameter Scaling Law in Large Language Model Pretraining. arXiv:2503.04715, 2025.
    """

    @staticmethod
    def _params(
        grid: str = "215m-4b", *, objective: Objectives = "smoothed_loss", budget: float | None = 20, **kwargs: Any
    ) -> LookupParams:
        one_of("grid", grid, GRIDS)
        return LookupParams.of((f"steplaw/{grid}",), objective=objective, budget=budget, **kwargs)


StepLawVectorEnv = StepLawEnv.vectorized()
