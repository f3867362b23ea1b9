"""NASBenchNLP: recurrent cells trained as language models; learning curves and final losses."""

from typing import Any

from hpo_envs.core.engines.curves.params import CurveParams
from hpo_envs.core.engines.curves.scalar import CurvesEnv
from hpo_envs.core.engines.lookup.params import LookupParams
from hpo_envs.core.engines.lookup.scalar import LookupEnv
from hpo_envs.core.params import Objectives
from hpo_envs.tables.checks import one_of
from hpo_envs.tables.datasets.nasbenchnlp import PTB_FINAL

HELD_OUT = ("test_loss",)


class NASBenchNLPEnv(CurvesEnv):
    """Architecture search among recurrent cells, trained epoch by epoch.

    ## Description
    Klyuchnikov et al. (2020) drew random recurrent cells as graphs and trained each as a language model for 50
    epochs. One step trains one cell up to one epoch, continuing from the epoch reached before, and pays for the new
    wall time. One episode is one search. This is the paper's environment (section 5): training with continuation,
    metrics at any epoch reached, total simulated wall time (`env.unwrapped.total_cost`), and the test loss of the cell
    and epoch with the best validation loss (`env.unwrapped.best_held_out`).

    Ids: `NASBenchNLP-wikitext2-v0` (291 cells), `NASBenchNLP-ptb-v0` (14,322 cells; its logs are large and fetched
    separately: `hpo-envs fetch nasbenchnlp-ptb-logs`).

    ## Action Space
    `MultiDiscrete([cells, 50])`: index of the cell to train, in a fixed pseudo-random order, and the epoch to train it
    to, 0 being the first.

    ## Observation Space
    The d = 61 features are 50 of the cell's graph (`wl_*`, of which the first 10 can be used alone), the 10 released
    graph2vec features (`g2v_*`) and whether those were released for the cell (`g2v_known`).

    ## Rewards
    The metric `objective` at that epoch, negative if lower is better. Default: minus the log perplexity on the
    validation set. Once the loss of a cell is NaN, its reward is the worst value of the metric.

    ## Starting State
    Some cells were trained with several seeds; each episode uses one of their runs, drawn with the episode's seed.

    ## Information
    `metrics`: `validation_loss`, `train_loss`, `parameters`; `held_out` (dict: `test_loss`); `status`: `ok`; `diverged`
    once the loss became NaN; on ptb also `truncated`, and `failed` without a log.

    ## Arguments
    - `dataset`: wikitext2 or ptb; fixed by the id.
    - `objective="validation_loss"`: any metric but `test_loss`, or a tuple of metrics for a vector reward.
    - `cost="seconds"`: or `"epochs"`, or `"evaluations"`.

    ## Table
    WikiText-2: 345 runs of 291 recipes; 4 of the runs diverged. Apache 2.0 licence.

    ## References
    Nikita Klyuchnikov, Ilya Trofimov, Ekaterina Artemova, Mikhail Salnikov, Maxim Fedorov and Evgeny Burnaev.
    NAS-Bench-NLP: Neural Architecture Search Benchmark for Natural Language Processing. arXiv:2006.07116, 2020.
    """

    @staticmethod
    def _params(
        dataset: str = "wikitext2", *, objective: Objectives = "validation_loss", cost: str | None = "seconds",
        **kwargs: Any,
    ) -> CurveParams:  # fmt: skip
        name = f"nasbenchnlp/{one_of('dataset', dataset, ('ptb', 'wikitext2'))}"
        return CurveParams.of(name, objective=objective, cost=cost, held_out=HELD_OUT, **kwargs)


NASBenchNLPVectorEnv = NASBenchNLPEnv.vectorized()


class NASBenchNLPFinalEnv(LookupEnv):
    """Search among recurrent cells by the final loss of their language models on the Penn Treebank.

    ## Description
    4,114 architectures of NAS-Bench-NLP were trained with three seeds each for 50 epochs. Their learning curves are
    large and fetched separately (`NASBenchNLP-ptb-v0`); their final losses come from a smaller release (Serianni
    and Kalita 2023). One step looks up one training of one architecture, with one of its measured seeds; agents observe
    ten released features of each architecture. One episode is one search. Id: `NASBenchNLP-ptb-final-v0`.

    ## Action Space
    `Discrete(4114)`: index of the architecture, in a fixed pseudo-random order.

    ## Observation Space
    The d = 10 features are the released graph2vec features, scaled by their range.

    ## Rewards
    The negated log perplexity on the test set after the last epoch (`objective`): the release has no validation loss,
    so there is nothing to hold out, and results are optimistic. A run that diverged gets the worst value, -50.

    ## Starting State
    Each evaluation uses one of the measured training seeds, drawn with the episode's seed.

    ## Information
    `metrics`: `test_loss` in nats, `parameters`; `status`: `ok`, or `diverged`.

    ## Arguments
    - `objective="test_loss"`: or `parameters`, or both as a tuple for a vector reward.
    - `cost="evaluations"`: or `"parameters"`.
    - `budget=100`: in units of `cost`; None = every row once per seed.

    ## Table
    12,341 runs of 4,244 architectures, 10,032 of them finite; the 4,114 architectures with features are the
    rows, seeds are repeats. RNN, LSTM and GRU are not among them. Data licence CC-BY-4.0, features Apache-2.0.

    ## References
    See `NASBenchNLP-wikitext2-v0`, and for the final losses:
    Aaron Serianni and Jugal Kalita. Training-free Neural Architecture Search for RNNs and Transformers. ACL 2023.
    """

    @staticmethod
    def _params(*, objective: Objectives = "test_loss", budget: float | None = 100, **kwargs: Any) -> LookupParams:
        return LookupParams.of((PTB_FINAL,), objective=objective, budget=budget, **kwargs)


NASBenchNLPFinalVectorEnv = NASBenchNLPFinalEnv.vectorized()
