"""NASBenchNLP-cell: recurrent cells built node by node (Klyuchnikov et al. 2020)."""

from __future__ import annotations

from typing import Any

from hpo_envs.core.engines.cells.params import CellParams
from hpo_envs.core.engines.cells.scalar import CellEnv
from hpo_envs.core.engines.cells.simulated import Simulated
from hpo_envs.core.params import Objective
from hpo_envs.tables.checks import one_of
from hpo_envs.tables.store import load_tables

TABLE = "nasbenchnlp/wikitext2"


class NASBenchNLPCellEnv(CellEnv):
    """Search for a recurrent cell by building it node by node.

    ## Description
    The search space of NAS-Bench-NLP itself (Klyuchnikov et al. 2020, section 3), not the released sample of it: a
    cell is a graph of at most 24 operations over the input vector and up to three hidden states. One step adds one
    node, or ends the cell. A complete cell is trained as a language model on WikiText-2: if its computation is among
    the trained ones, the table answers, otherwise a surrogate fitted to them. An episode builds `budget` cells.
    `hpo_envs.tables.cells` has the space as a library. Id: `NASBenchNLP-cell-v0`.

    ## Rewards
    The step that completes a cell is the evaluation: its reward is the negated log perplexity on the validation set
    after 50 epochs (`objective`). A diverged run and an invalid cell get the worst value, -50. All other steps have
    reward 0 and cost 0.

    ## Starting State
    An empty cell; rewards at the lower bound, full budget. The seed decides which of the trainings of a cell is seen.

    ## Information
    At reset: `table`, `kind` (`measured` or `surrogate`), `sha256` of the table, `action_mask`.
    At each step: `finished` (bool, whether the step completed a cell), `cost` (1 if so, else 0), `metrics` (dict of
    float: `validation_loss` and `train_loss` in nats, `parameters`, `seconds` of training; 0 while unfinished),
    `held_out` (dict: `test_loss`), `curve` ((50,) float64, validation log perplexity by epoch, 50 from divergence
    on), `status` (`ok`, `diverged`, `failed` for an invalid cell), `source` (`measured`, `surrogate`, `none`), `key`
    (canonical key of the cell, empty if there is none), `divergence_probability` (the surrogate's), `error` (rule
    and reason of an illegal move, else empty), `action_mask` ((95,) int8: for each part of an action, one after the
    other, the values that can be legal now; combinations of them may still be illegal).

    ## Arguments
    - `table=None`: a `Table` instead of `nasbenchnlp/wikitext2`; cells that it does not have are scored by the
      surrogate.
    - `objective="validation_loss"`: or `train_loss`, `parameters`, or a tuple of metrics for a vector reward.
    - `cost="evaluations"`: nothing else.
    - `budget=1`: complete cells of an episode; None = as many as the table has rows.

    ## Table
    `nasbenchnlp/wikitext2`, 345 runs of 265 computations (Apache-2.0). The surrogate is boosted trees on what an
    untrained network of the cell does; held out, R2 of the final validation log perplexity is 0.69 and Kendall's tau
    0.70 (0.40 and 0.51 with residual noise); training time R2 0.78; divergence is rare (4 of 345 runs)
    and its probability little more than a base rate. `tables/datasets/nasbenchnlp/data/cells_report.json` has
    all figures.

    ## References
    Nikita Klyuchnikov, Ilya Trofimov, Ekaterina Artemova, Mikhail Salnikov, Maxim Fedorov and Evgeny Burnaev.
    NAS-Bench-NLP: Neural Architecture Search Benchmark for Natural Language Processing. arXiv:2006.07116, 2020.

    ## Version History
    - v0: initial version.
    """

    @staticmethod
    def _params(
        *,
        table: Any = None,
        objective: Objective = "validation_loss",
        cost: str = "evaluations",
        budget: float | None = 1,
    ) -> CellParams:
        one_of("cost", cost, ("evaluations",))
        loaded = load_tables((TABLE,), table)[0]
        return CellParams.of(loaded, Simulated(loaded), objective, budget)


NASBenchNLPCellVectorEnv = NASBenchNLPCellEnv.vectorized()
