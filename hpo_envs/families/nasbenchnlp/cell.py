"""NASBenchNLP-cell: recurrent cells built node by node (Klyuchnikov et al. 2020)."""

from typing import Any

import numpy as np

from hpo_envs.core.engines.cells.params import CellParams, Report, Scorer
from hpo_envs.core.engines.cells.scalar import CellEnv
from hpo_envs.core.params import Objectives
from hpo_envs.tables import draws
from hpo_envs.tables.cells.recipe import Cell
from hpo_envs.tables.cells.size import VOCABULARY, parameters
from hpo_envs.tables.checks import one_of
from hpo_envs.tables.datasets.nasbenchnlp import CAP, EPOCHS, WIKITEXT2, model
from hpo_envs.tables.store import load_table
from hpo_envs.tables.table import STATUSES, Table


class Simulated(Scorer):
    """Scorer of cells, by the table if it has their computation, else by the surrogate; see `Scorer`.

    Args:
        table: Table whose keys are canonical keys, repeated ones with `#2`, `#3`, ...

    Attributes:
        runs: Canonical key of a computation -> (row, repeat) of each of its trainings in the table.
    """

    held_out = ("test_loss",)
    extra = ("divergence_probability",)
    epochs = EPOCHS

    def __init__(self, table: Table) -> None:
        self.metrics, self._table = table.metrics, table
        self.runs: dict[str, list[tuple[int, int]]] = {}
        for row, name in enumerate(table.keys):
            measured = int((~np.isnan(table.cost[row, :, 0])).sum())
            self.runs.setdefault(name.split("#")[0], []).extend((row, r) for r in range(measured))

    def score(self, cell: Cell, name: str, bits: int) -> Report:
        """Score a cell: one of its trainings in the table, chosen by the bits, or the surrogate's prediction."""
        table = self._table
        if name in self.runs:
            row, repeat = self.runs[name][draws.below(bits, len(self.runs[name]))]
            count = int((~np.isnan(table.cost[row, repeat])).sum())
            losses, seconds = table.values[row, repeat, :count, :3], float(table.cost[row, repeat, count - 1])
            status, source = STATUSES[table.status[row, repeat]], table.provenance.kind
            size, probability = float(table.values[row, repeat, 0, 3]), model.divergence_probability(cell)
        else:
            run = model.simulate(cell, draws.below(bits, model.SEEDS), name)
            probability = run.divergence_probability
            losses, seconds, source = run.losses, float(run.seconds.sum()), "surrogate"
            status, size = "diverged" if run.diverged else "ok", float(parameters(cell, VOCABULARY["wikitext2"]))
        curve = np.full((EPOCHS, 3), CAP)
        curve[: len(losses)] = np.where(np.isnan(losses), CAP, losses)
        # A run that ended early without diverging keeps its last loss; one that diverged has none.
        if status != "diverged":
            curve[len(losses) :] = losses[-1]
        metrics = dict(zip(("validation_loss", "test_loss", "train_loss"), curve[-1].tolist(), strict=True))
        metrics |= {"parameters": size, "seconds": seconds}
        return Report(metrics, curve[:, 0].copy(), status, source, {self.extra[0]: probability})


class NASBenchNLPCellEnv(CellEnv):
    """Search for a recurrent cell by building it node by node.

    ## Description
    The search space of NAS-Bench-NLP itself (Klyuchnikov et al. 2020, section 3), not the released sample of it: a
    cell is a graph of at most 24 operations over the input vector and up to three hidden states. One step adds one
    node, or ends the cell. A complete cell is trained as a language model on WikiText-2: if its computation is in the
    table, the result is looked up, otherwise predicted by a surrogate fitted to the table. An episode builds `budget`
    cells. `hpo_envs.tables.cells` is the library of the space. Id: `NASBenchNLP-cell-v0`.

    ## Rewards
    The step that completes a cell is the evaluation: its reward is the negated log perplexity on the validation set
    after 50 epochs (`objective`). A diverged run and an invalid cell get the worst value, -50. All other steps have
    reward 0 and cost 0.

    ## Starting State
    An empty cell; rewards at the lower bound, full budget. The training of a cell is drawn with the episode's seed.

    ## Information
    At reset: `table`, `kind` (`measured` or `surrogate`), `sha256` of the table, `action_mask`.
    At each step: `finished` (bool, whether the step completed a cell), `cost` (1 if so, else 0), `metrics` (dict of
    float: `validation_loss` and `train_loss` in nats, `parameters`, `seconds` of training; 0 while unfinished),
    `held_out` (dict: `test_loss`), `curve` ((50,) float64, validation log perplexity by epoch, 50 from divergence
    on), `status` (`ok`, `diverged`, `failed` for an invalid cell), `source` (`measured`, `surrogate`, `none`), `key`
    (canonical key of the cell, empty if there is none), `divergence_probability` (the surrogate's), `error` (rule
    and reason of an illegal move, else empty), `action_mask` ((95,) int8: the values that can be legal now, parts of an
    action concatenated; combinations of them may still be illegal).

    ## Arguments
    - `table=None`: a `Table` instead of `nasbenchnlp/wikitext2`; cells that it does not have are scored by the
      surrogate.
    - `objective="validation_loss"`: or `train_loss`, `parameters`, or a tuple of metrics for a vector reward.
    - `cost="evaluations"`: nothing else.
    - `budget=1`: complete cells of an episode; None = as many as the table has rows.

    ## Table
    `nasbenchnlp/wikitext2`, 345 runs of 265 computations (Apache-2.0). The surrogate is boosted trees on statistics of
    an untrained network of the cell; held out, R2 of the final validation log perplexity is 0.69 and Kendall's tau 0.70
    (0.40 and 0.51 with residual noise); training time R2 0.78; divergence is rare (4 of 345 runs) and its predicted
    probability is close to the base rate. `tables/datasets/nasbenchnlp/data/cells_report.json` has all figures.

    ## References
    See `NASBenchNLP-wikitext2-v0`.
    """

    @staticmethod
    def _params(
        *, table: Any = None, objective: Objectives = "validation_loss", cost: str = "evaluations",
        budget: float | None = 1,
    ) -> CellParams:  # fmt: skip
        one_of("cost", cost, ("evaluations",))
        loaded = load_table(WIKITEXT2, table)
        return CellParams.of(loaded, Simulated(loaded), objective, budget)


NASBenchNLPCellVectorEnv = NASBenchNLPCellEnv.vectorized()
