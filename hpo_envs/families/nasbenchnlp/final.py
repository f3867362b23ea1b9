"""NASBenchNLP-ptb-final: final losses of recurrent cells on the Penn Treebank (Klyuchnikov et al. 2020)."""

from __future__ import annotations

from typing import Any

from hpo_envs.core.engines.lookup.params import LookupParams
from hpo_envs.core.engines.lookup.scalar import LookupEnv
from hpo_envs.core.params import Objective

TABLE = "nasbenchnlp/ptb-final"


class NASBenchNLPFinalEnv(LookupEnv):
    """Search among recurrent cells by the final loss of their language models on the Penn Treebank.

    ## Description
    4,114 architectures of NAS-Bench-NLP were trained with three seeds each for 50 epochs. Their learning curves are
    large and fetched on their own (`NASBenchNLP-ptb-v0`); their final losses come from a smaller release (Serianni
    and Kalita 2023). One step trains one architecture with a new seed; agents know ten released features of
    each. One episode is one search. Id: `NASBenchNLP-ptb-final-v0`.

    ## Action Space
    `Discrete(4114)`: the architecture, in the order of a hash of the released ids.

    ## Observation Space
    The d = 10 features are the released graph2vec features, scaled by their range.

    ## Rewards
    The negated log perplexity on the test set after the last epoch (`objective`): the release has no validation loss,
    so there is nothing to hold out, and results are optimistic. A run that diverged gets the worst value, -50.

    ## Starting State
    Nothing evaluated: features 0, reward(s) at the lower bound, full budget. The seed decides which of the measured
    training seeds each evaluation sees.

    ## Information
    At each step: `cost` (float, 1), `metrics` (dict of float: `test_loss` in nats, `parameters`), `status` (`ok`,
    `diverged`), `action_mask` ((rows,) int8, 1 = not yet evaluated).

    ## Arguments
    - `objective="test_loss"`: or `parameters`, or both as a tuple for a vector reward.
    - `cost="evaluations"`: or `parameters`.
    - `budget=100`: in units of `cost`; None = every row once per seed.

    ## Table
    12,341 runs of 4,244 architectures, 10,032 of them finite; the 4,114 architectures with features are the
    rows, seeds are repeats. RNN, LSTM and GRU are not among them. Data licence CC-BY-4.0, features Apache-2.0.

    ## References
    Nikita Klyuchnikov, Ilya Trofimov, Ekaterina Artemova, Mikhail Salnikov, Maxim Fedorov and Evgeny Burnaev.
    NAS-Bench-NLP: Neural Architecture Search Benchmark for Natural Language Processing. arXiv:2006.07116, 2020.
    Aaron Serianni and Jugal Kalita. Training-free Neural Architecture Search for RNNs and Transformers. ACL 2023.
    """

    @staticmethod
    def _params(*, objective: Objective = "test_loss", budget: float | None = 100, **kwargs: Any) -> LookupParams:
        return LookupParams.of((TABLE,), objective=objective, budget=budget, **kwargs)


NASBenchNLPFinalVectorEnv = NASBenchNLPFinalEnv.vectorized()
