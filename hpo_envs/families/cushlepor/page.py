"""CushLEPOR: tuning the weights of a translation metric against human scores (Han et al. 2021)."""

from typing import Any

import numpy as np
import numpy.typing as npt

from hpo_envs.core.engines.box.params import BoxFunction, BoxParams, Evaluations
from hpo_envs.core.engines.box.scalar import BoxEnv
from hpo_envs.core.params import Floats, Ints, Objectives, check_names
from hpo_envs.tables import hlepor
from hpo_envs.tables.checks import one_of
from hpo_envs.tables.datasets import cushlepor
from hpo_envs.tables.datasets.cushlepor import agreement
from hpo_envs.tables.datasets.cushlepor.space import Bounds, ParameterBox
from hpo_envs.tables.store import load_table
from hpo_envs.tables.table import Table


class MetricTuning(BoxFunction):
    """Objective function: agreement of hLEPOR with the human scores of a corpus, for given parameters of hLEPOR.

    Args:
        table: Table whose rows are segments.
        variant: Form of the position difference.
        bounds: The box, see `ParameterBox`.
        held_out: Held-out documents, which no reward uses; None for the table's own split.
        kendall: Whether Kendall's tau is computed, which takes most of a step's time.
    """

    def __init__(self, table: Table, variant: str, bounds: str | Bounds, held_out: Any, kendall: bool) -> None:
        self.corpus = agreement.prepare(table, variant, held_out)
        self.box = ParameterBox(bounds)
        self.tables, self.spaces, self.labels, self.facts = (table,), (self.box.space,), ({},), np.empty((1, 0))
        self.kendall = kendall

    def evaluate(self, tasks: Ints, actions: Floats) -> Evaluations:
        """Evaluate (n, 6) actions."""
        vectors = self.box.natural(actions)
        train, *held_out = self.corpus.evaluate(vectors, kendall=self.kendall)
        return Evaluations(vectors, train, held_out[0] if held_out else None)

    def action_of(self, task: int, config: hlepor.Parameters | str) -> npt.NDArray[np.float32]:
        """Return the (6,) action for a parameter setting, or for a preset by name.

        Raises:
            ValueError: The preset is unknown, or a setting is outside the bounds.
        """
        parameters = hlepor.preset(config) if isinstance(config, str) else config
        return self.box.action(parameters.vector()).astype(np.float32)

    def columns(self, raw: Floats) -> dict[str, npt.NDArray[Any]]:
        """Return the values of (n, 6) settings by name; `n` is int64."""
        columns = super().columns(raw)
        return columns | {"n": columns["n"].astype(np.int64)}


class CushLEPOREnv(BoxEnv):
    """Tuning the six parameters of the metric hLEPOR towards agreement with human scores.

    ## Description
    hLEPOR (Han et al. 2013) scores a translation against a reference by a weighted harmonic mean of a length penalty,
    a word order penalty and the harmonic mean of precision and recall. Its weights were set by hand; Han et al. (2021)
    tuned them with Optuna and called the result cushLEPOR. One step evaluates one setting of the six parameters on a
    corpus of translations with human scores, word level only. One episode is one tuning run.

    Ids: `CushLEPOR-ted-ende-v0` and `CushLEPOR-ted-zhen-v0`: outputs of 13 systems for 529 segments of five TED talks,
    English to German and Chinese to English, with MQM scores of professional translators (Freitag et al. 2021).
    `CushLEPOR-newstest2020-ende-v0` and `CushLEPOR-newstest2020-zhen-v0`: news, 7 systems for 1,418 and 8 for 2,000
    segments, with their pSQM scores, on which the paper tuned, or with MQM. `CushLEPOR-newstest2021-ende-v0` and
    `CushLEPOR-newstest2021-zhen-v0`: news with MQM, 13 systems for 527 and 650 segments.

    Six parameters have three continuous degrees of freedom and `n`: only ratios of weights matter. RMSE is a poor
    reward here: on the measured scores every setting is worse than the best constant (`skill` < 0).

    ## Action Space
    `Box(-1, 1, (6,), float32)`: `alpha` (weight of recall), `beta` (weight of precision), `n` (words before and after
    a match that are compared), `weight_elp` (enhanced length penalty), `weight_pos` (n-gram position difference
    penalty), `weight_pr` (harmonic mean of precision and recall). By default -1 to 1 means [1, 10] for `alpha` and
    `beta`, n = 1, 2, 3, 4 in four equal parts, and [1, 15] for the weights, all linear.

    ## Observation Space
    d = 6, no facts. Rewards are -1 to 1, RMSE -1 to 0.

    ## Rewards
    The agreement `objective` on the training documents: `pearson` (default), the correlation of segment scores with
    human scores; `kendall` (tau-b; a step takes milliseconds); `system_pearson`, the correlation of systems' means
    (one point for each system); `rmse`, the negative root mean squared difference, as in the paper. Correlations with
    a constant are 0.

    ## Starting State
    The corpus is fixed, so the seed changes nothing.

    ## Information
    At each step: `cost` (1.0 evaluation), `metrics` (dict of float on the training documents: `pearson`,
    `system_pearson`, `rmse`, `skill` = 1 - MSE / variance, which is 0 for the best constant; `kendall` if it is an
    objective), `held_out` (the same on held-out documents, which no reward uses; absent if no document is held out),
    `config` (dict of the six natural values), `status` (`ok`).

    ## Arguments
    - `pair="ted-ende"`: test set and languages.
    - `labels="mqm"`: human scores; news of 2020 also has `"psqm"`, which its ids use, and `"mqm-edited"`: translations
      with the edits that raters made, which `"mqm"` excludes.
    - `reference=None`: reference translation that hLEPOR compares with, a letter: `"B"` (default) or `"A"` for Chinese
      to English talks, `"A"` elsewhere. Upstream calls them `ref` (A) and `refB`.
    - `table=None`: a `Table` of `hpo_envs.tables.datasets.cushlepor.build` instead of the one of the id: its
      `from_folder` reads any other test set of the upstream repository, `from_tsv` your own.
    - `objective="pearson"`: or `kendall`, `system_pearson`, `rmse`, or a tuple for a vector reward.
    - `cost="evaluations"`.
    - `budget=400`: evaluations; None = 10,000.
    - `variant="released"`: form of the position difference. `released` is the public package, with which the
      published settings were found; `paper` the printed formula; `relative` the described alignment without the
      package's index faults.
    - `bounds="published"`: the box above; `"wide"` is [0.1, 10] for the five weights, logarithmic, and n = 0 to 8; or a
      dict of (low, high) by name for a linear box.
    - `held_out=None`: names of documents; by default talks 5 and 6 of English to German and talks 7 and 9 of Chinese to
      English (229 of 529 segments), on other data the last documents, about 40 % of the rows.

    ## Table
    One row per segment: the human score 1 - MQM / 25 or pSQM / 6 and the statistics that hLEPOR depends on (lengths,
    matches, position differences for each n), computed from the text once: 6,877 rows of each pair of TED
    talks, Apache-2.0; 59 and 54 % of them have no error. No text ships. News needs `hpo-envs fetch cushlepor-news`; its
    reader was written without access to the files.

    The result of tuning depends on the reference. Pearson correlation of hLEPOR with the human scores, Chinese to
    English, training / held-out talks: against B 0.172 / 0.163 with the package's default weights, 0.165 / 0.142 with
    the published weights tuned on LaBSE, 0.140 / 0.141 with those tuned on pSQM; against A 0.119 / 0.056, 0.112 / 0.052
    and 0.076 / 0.049.

    The paper tuned on the pSQM labels of newstest2020 (RMSE 0.28 against 0.29), and on similarities of LaBSE (0.09
    against 0.19), a target that `hpo_envs.tables.datasets.cushlepor.semantic` computes from texts.

    ## References
    Lifeng Han, Irina Sorokina, Gleb Erofeev and Serge Gladkoff. cushLEPOR: customising hLEPOR metric using Optuna for
    higher agreement with human judgments or pre-trained language model LaBSE. WMT 2021.
    Markus Freitag et al. Experts, Errors, and Context: A Large-Scale Study of Human Evaluation for Machine
    Translation. Transactions of the ACL 9:1460-1474, 2021.
    """

    @staticmethod
    def _params(
        pair: str = "ted-ende", *, labels: str = "mqm", reference: str | None = None, table: Any = None,
        objective: Objectives = "pearson", cost: str = "evaluations", budget: float | None = 400,
        variant: str = "released", bounds: str | Bounds = "published", held_out: tuple[str, ...] | None = None,
    ) -> BoxParams:  # fmt: skip
        one_of("pair", pair, cushlepor.PAIRS)
        one_of("labels", labels, cushlepor.LABELS)
        known = cushlepor.references(pair)
        chosen = known[0] if reference is None else one_of("reference", reference, known, f" for {pair}")
        used = load_table(cushlepor.table(pair, labels, chosen), table)
        held_out = None if held_out is None else check_names("held_out", held_out)
        function = MetricTuning(used, variant, bounds, held_out, "kendall" in check_names("objective", objective))
        return BoxParams.of(function, agreement.METRICS, objective, cost, budget)


CushLEPORVectorEnv = CushLEPOREnv.vectorized()
