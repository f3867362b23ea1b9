"""NASBenchNLP: recurrent cells trained as language models, as multi-fidelity environments (Klyuchnikov et al. 2020)."""

from __future__ import annotations

from typing import Any

from hpo_envs.core.params import Objective
from hpo_envs.engines.curves.batched import CurvesVectorEnv
from hpo_envs.engines.curves.params import CurveParams
from hpo_envs.engines.curves.scalar import CurvesEnv

HELD_OUT = ("test_loss",)


class NASBenchNLPEnv(CurvesEnv):
    """Architecture search among recurrent cells, trained epoch by epoch.

    ## Description
    Klyuchnikov et al. (2020) drew random recurrent cells as graphs and trained each as a language model for 50
    epochs. One step trains one cell up to one epoch, continuing from the epoch reached before, and pays the new wall
    time. One episode is one search. This is the paper's environment (section 5): training with continuation, metrics
    at any epoch reached, total simulated wall time (`env.unwrapped.total_cost`), and the test loss of the cell and
    epoch with the best validation loss (`env.unwrapped.best_held_out`).

    Ids: `NASBenchNLP-wikitext2-v0` (291 cells), `NASBenchNLP-ptb-v0` (14,322 cells; its logs are large and fetched on
    their own: `hpo-envs fetch nasbenchnlp-ptb-logs`).

    ## Action Space
    `MultiDiscrete([cells, 50])`: the cell to train, and the epoch to train it to, 0 being the first.

    ## Observation Space
    `Box`, float32. With d features and m objectives:

    | index | content | range |
    |---|---|---|
    | 0 to d - 1 | features of the last cell | 0 to 1 |
    | d | share of 50 epochs that the epoch stands for | 0 to 1 |
    | d + 1 to d + m | its reward(s) | bounds of the metric, negative if lower is better |
    | d + m + 1 | cost of the step | 0 to 1e9 |
    | d + m + 2 to d + 2m + 1 | best reward(s) at any epoch passed so far | as the reward |
    | d + 2m + 2 | budget left, as a share | 0 to 1 |

    Values beyond a bound are observed at the bound; `info` has them as they are. The d = 61 features are 50 of the
    cell's graph (`wl_*`, the first 10 stand alone), the 10 released graph2vec features (`g2v_*`) and whether those
    were released for the cell (`g2v_known`).

    ## Rewards
    The metric `objective` at that epoch, negative if lower is better. Default: minus the log perplexity on the
    validation set. A cell whose loss became NaN is rewarded with the worst value of the metric from there on.

    ## Starting State
    Nothing trained: features 0, reward(s) at the lower bound, full budget. Some cells were trained with several
    seeds; each episode sees one of their runs, drawn with the episode's seed.

    ## Episode End
    Terminated when the budget is spent (the training that exceeds it still counts), when every cell is fully
    trained, or after cells x 50 steps. Never truncated by itself.

    ## Information
    At reset: `table`, `kind` (`measured` or `surrogate`), `sha256` of the table, `action_mask`.
    At each step: `cost` (float, in `env.unwrapped.cost_unit`; 0 for an epoch already reached), `metrics` (dict of
    float: `validation_loss`, `train_loss`, `parameters`), `held_out` (dict: `test_loss`), `status` (`ok`; `diverged`
    once the loss became NaN), `reached` (int, epoch that the cell is trained to: less than asked for where its run
    ended earlier), `best` (best reward of the cell at any epoch passed), `action_mask` ((cells + 50,) int8: cells
    that can be trained further, then epochs that some cell has not reached). With several workers also `finished`,
    `action` and `clock`, see Arguments. `env.unwrapped.curve(row)` returns the metrics at every epoch that a cell has
    reached.

    ## Arguments
    - `dataset`: wikitext2.
    - `table="auto"`: `"measured"`, `"surrogate"` or a `Table`; `"auto"` takes the measured one where installed.
    - `objective="validation_loss"`: any metric but `test_loss`, or a tuple of metrics for a vector reward.
    - `cost="seconds"`: or `"epochs"`, or `"evaluations"`.
    - `budget="auto"`: the cost of 20 full trainings; or a number in units of `cost`; None = the whole table.
    - `levels=None`: every epoch; an int k leaves at most k of them, geometrically spaced, the last included.
    - `workers=1`: with W > 1 there is a clock in units of `cost`. While a worker is idle a step submits its action
      and returns reward 0 with `info["finished"]` False; once all are busy it returns the next result to finish,
      with `info["action"]` saying whose. When the budget is submitted, further actions are ignored and what still
      runs comes back step by step.
    - `variant="paper"`: training to an epoch pays all epochs up to it. `"released"`: as in the code released with
      the paper, which charges the epochs before the last one trained, so that the first epoch is free.
    - `order="table"`: the table's order of cells; `"episode"` draws another for each episode, so that the index of an
      action carries no information. `env.unwrapped.rows` and `info["row"]` then say which row of the table it is.
    - `share=1.0`: share of the cells, in (0, 1], that an episode has: drawn for each, the action space as small.

    ## Table
    Measured: 345 runs of 291 recipes, 4 of which diverged; Apache 2.0 licence. Embedded: as many cells from the
    paper's generator with curves of a surrogate and residual noise; its held-out errors are in
    `tables/datasets/nasbenchnlp/data/cells_report.json`.

    ## References
    Nikita Klyuchnikov, Ilya Trofimov, Ekaterina Artemova, Mikhail Salnikov, Maxim Fedorov and Evgeny Burnaev.
    NAS-Bench-NLP: Neural Architecture Search Benchmark for Natural Language Processing. arXiv:2006.07116, 2020.

    ## Version History
    - v0: initial version.
    """

    def __init__(
        self,
        dataset: str = "wikitext2",
        *,
        objective: Objective = "validation_loss",
        cost: str | None = "seconds",
        order: str = "table",
        share: float = 1.0,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            CurveParams.of(
                f"nasbenchnlp/{dataset}",
                objective=objective,
                held_out=HELD_OUT,
                cost=cost,
                order=order,
                share=share,
                **kwargs,
            )
        )


NASBenchNLPVectorEnv = CurvesVectorEnv.twin_of(NASBenchNLPEnv)
