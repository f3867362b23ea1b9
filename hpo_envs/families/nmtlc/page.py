"""NMTLC: learning curves of machine translation systems as multi-fidelity environments."""

from __future__ import annotations

from typing import Any

from hpo_envs.core.params import Objective
from hpo_envs.engines.curves.batched import CurvesVectorEnv
from hpo_envs.engines.curves.params import CurveParams
from hpo_envs.engines.curves.scalar import CurvesEnv


class NMTLCEnv(CurvesEnv):
    """Multi-fidelity hyperparameter optimisation of machine translation systems on measured learning curves.

    ## Description
    The data repository of Zhang and Duh (2020) has the validation curves of 2,483 training runs: Transformers
    trained from scratch on six corpora, and large language models fine-tuned with low-rank adapters on two. One step
    trains one system up to one checkpoint, continuing from the checkpoint reached before, and pays what is new. One
    episode is one optimisation run.

    Ids: `NMTLC-zhen-v0` (148 rows x 157 checkpoints), `NMTLC-ruen-v0` (193 x 165), `NMTLC-jaen-v0` (177 x 569),
    `NMTLC-enja-v0` (179 x 423), `NMTLC-swen-v0` (819 x 133), `NMTLC-soen-v0` (646 x 77), `NMTLC-ft-fren-v0`
    (162 x 74), `NMTLC-ft-zhen-v0` (159 x 28).

    ## Action Space
    `MultiDiscrete([rows, checkpoints])`: the row to train, in grid order (the last hyperparameter varies fastest),
    and the checkpoint to train it to. From scratch a checkpoint is 2,000 updates; hyperparameters `bpe` (not on
    zh-en, where the file says 30 throughout), `layers`, `embed`, `hidden`, `init_lr`. Attention heads were not
    recorded, so most configurations have two rows with equal features. Fine-tuned: `base` (bloomz, xglm), `layers`,
    `embed`, `batch_size`, `init_lr`, `rank`.

    ## Observation Space
    `Box`, float32. With d features (a categorical has one 0/1 feature per choice) and m objectives:

    | index | content | range |
    |---|---|---|
    | 0 to d - 1 | features of the last row | 0 to 1 |
    | d | share of the longest training that the checkpoint stands for | 0 to 1 |
    | d + 1 to d + m | its reward(s) | bounds of the metric, negative if lower is better |
    | d + m + 1 | cost of the step | 0 to 1e9 |
    | d + m + 2 to d + 2m + 1 | best reward(s) at any checkpoint passed so far | as the reward |
    | d + 2m + 2 | budget left, as a share | 0 to 1 |

    Values beyond a bound are observed at the bound; `info` has them as they are. d = 4 on zh-en, 5 on the other
    corpora from scratch, 7 where fine-tuned.

    ## Rewards
    The metric `objective` at that checkpoint, negative if lower is better. Default: minus the natural logarithm of
    the validation perplexity, -40 to 0.

    ## Starting State
    Nothing trained: features 0, reward(s) at the lower bound, full budget. The table has one run per row, so the
    seed changes nothing.

    ## Episode End
    Terminated when the budget is spent (the training that exceeds it still counts), when every row is fully trained,
    or after rows x checkpoints steps. Never truncated by itself.

    ## Information
    At reset: `table`, `kind` (`measured` or `surrogate`), `sha256` of the table, `action_mask`.
    At each step: `cost` (float, in `env.unwrapped.cost_unit`; 0 for a checkpoint already reached), `metrics` (dict of
    float: `log_perplexity`, `perplexity`, and `bleu` where fine-tuned), `config` (dict of natural hyperparameter
    values), `status` (`ok`; `truncated` at the end of a run that ended without the stopping rule), `reached` (int,
    checkpoint that the row is trained to: less than asked for where the run ended earlier), `best` (best reward of
    the row at any checkpoint passed), `action_mask` ((rows + checkpoints,) int8: rows that can be trained further,
    then checkpoints that some row has not reached). With several workers also `finished`, `action` and `clock`, see
    Arguments. `env.unwrapped.curve(row)` returns the metrics at every checkpoint that a row has reached.

    ## Arguments
    - `corpus`: zhen, ruen, jaen, enja, swen, soen, ft-fren or ft-zhen.
    - `table="auto"`: `"measured"`, `"surrogate"` or a `Table`; `"auto"` takes the measured one where installed.
    - `objective="log_perplexity"`: any metric, or a tuple of metrics for a vector reward.
    - `cost=None`: updates (from scratch) or checkpoints (fine-tuned), all that was recorded; or `"evaluations"`.
    - `budget="auto"`: the cost of 20 full trainings; or a number in units of `cost`; None = the whole table.
    - `levels=None`: every checkpoint; an int k leaves at most k of them, geometrically spaced, the last included.
    - `workers=1`: with W > 1 there is a clock in units of `cost`. While a worker is idle a step submits its action
      and returns reward 0 with `info["finished"]` False; once all are busy it returns the next result to finish,
      with `info["action"]` saying whose. When the budget is submitted, further actions are ignored and what still
      runs comes back step by step.
    - `variant="paper"`: see `NASBenchNLPEnv`.
    - `order="table"`: the table's order of rows; `"episode"` draws another for each episode, so that the index of an
      action carries no information. `env.unwrapped.rows` and `info["row"]` then say which row of the table it is.
    - `share=1.0`: share of the rows, in (0, 1], that an episode has: drawn for each, the action space as small.

    ## Table
    Measured: one run per row, MIT licence. Embedded: curves drawn from out-of-fold predictions of their parameters
    with residual noise; same rows, same checkpoints. Their held-out errors are in
    `tables/datasets/nmtlc/nmtlc_errors.csv`.

    ## References
    Xuan Zhang and Kevin Duh. Reproducible and Efficient Benchmarks for Hyperparameter Optimization of Neural
    Machine Translation Systems. Transactions of the ACL 8:393-408, 2020. https://github.com/Este1le/hpo_nmt

    ## Version History
    - v0: initial version.
    """

    def __init__(
        self,
        corpus: str = "swen",
        *,
        objective: Objective = "log_perplexity",
        order: str = "table",
        share: float = 1.0,
        **kwargs: Any,
    ) -> None:
        super().__init__(CurveParams.of(f"nmtlc/{corpus}", objective=objective, order=order, share=share, **kwargs))


NMTLCVectorEnv = CurvesVectorEnv.twin_of(NMTLCEnv)
