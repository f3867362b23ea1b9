"""CharHPO: hyperparameter optimisation of character transduction models (Wiemerslage et al. 2024), sweep by sweep."""

from typing import Any

from hpo_envs.core.engines.lookup.params import LookupParams
from hpo_envs.core.engines.lookup.scalar import LookupEnv
from hpo_envs.core.params import Objectives
from hpo_envs.tables.checks import one_of
from hpo_envs.tables.datasets import charhpo
from hpo_envs.tables.datasets.charhpo.build import TEST


def table_name(task: str, lang: str, architecture: str) -> str:
    """Return the name of the table of a sweep.

    Raises:
        ValueError: Unknown task, language (of the task) or architecture.
    """
    one_of("task", task, charhpo.TASKS)
    one_of("lang", lang, charhpo.LANGUAGES[task], f" for {task}")
    one_of("architecture", architecture, charhpo.ARCHITECTURES)
    return f"charhpo/{task}-{lang}-{architecture}"


class CharHPOEnv(LookupEnv):
    """Hyperparameter optimisation of LSTMs and transformers for character transduction, one random search.

    ## Description
    Wiemerslage, Gorman and von der Wense (2024) trained 200 LSTMs and 200 transformers, configurations drawn at
    random, for each of eight languages of morphological inflection (from a lemma and tags to a word form) and four of
    grapheme-to-phoneme conversion (from spelling to pronunciation). One step looks up one of these runs. One episode
    is one optimisation run.

    Ids: `CharHPO-{task}-{lang}-{architecture}-v0` with task and language one of `inflection-alb` (Albanian),
    `inflection-ara` (Arabic), `inflection-cat` (Catalan), `inflection-dut` (Dutch), `inflection-gle` (Irish),
    `inflection-hai` (Haida), `inflection-hun` (Hungarian), `inflection-rom` (Romanian), `g2p-arm_e` (Eastern Armenian),
    `g2p-dut` (Dutch), `g2p-geo` (Georgian), `g2p-hun` (Hungarian), and architecture `lstm` or `transformer`: 24 ids.

    ## Action Space
    `Discrete(200)`: index of the run, in a fixed pseudo-random order. Its sixteen hyperparameters (Table 2):
    `batch_size` (16 to 2048 in steps of 16), `learning_rate` (1e-6 to 0.01, logarithmic), `beta1`, `beta2`,
    `label_smoothing`, `scheduler` (none, reduceonplateau, warmupinvsqrt), `warmup_samples` (warmupinvsqrt only),
    `factor`, `min_lr`, `patience` (reduceonplateau only), `embedding_size`, `hidden_size`, `encoder_layers`,
    `decoder_layers`, `attention_heads`, `dropout`. Inactive ones are 0; the LSTM's decoder layers and attention heads
    are 1.

    ## Observation Space
    The d = 18 features are those above in their order, the scheduler as three of 0 or 1.

    ## Rewards
    The metric `objective` of this run, negative if lower is better. Default: development accuracy, the percentage of
    words that are exactly right, 0 to 100. Runs that did not learn have accuracy 0 and status `ok`.

    ## Starting State
    The table has one run of each configuration, so the seed affects only `shuffle` and `subsample`.

    ## Information
    `metrics`: `accuracy` in per cent, `runtime` in seconds; `held_out` (dict: `test_accuracy` in per cent, published
        only for the best run of each sweep, for Irish LSTMs for none of the 200; empty for all others; in the
        vectorized form the mask `_test_accuracy` marks known values); `status`: `ok`. Re-evaluation gives the same
        result.

    ## Arguments
    - `task`: inflection or g2p.
    - `lang`: alb, ara, cat, dut, gle, hai, hun, rom; for g2p arm_e, dut, geo, hun.
    - `architecture`: lstm or transformer.
    - `objective="accuracy"`: or `"runtime"`, or both as a tuple for a vector reward.
    - `cost="evaluations"`: or `"runtime"`, the seconds that the run took.
    - `budget="auto"`: in units of `cost`; "auto" = 20 evaluations, or the cost of 20 on average; None = every run once.

    ## Table
    200 runs each, the first 200 rows of upstream's file, as in the paper; upstream states no licence
    (`docs/datasheet.md`).

    ## References
    Adam Wiemerslage, Kyle Gorman and Katharina von der Wense. Quantifying the Hyperparameter Sensitivity of Neural
    Networks for Character-level Sequence-to-Sequence Tasks. EACL 2024.
    """

    @staticmethod
    def _params(
        task: str = "inflection", lang: str = "hun", architecture: str = "lstm", *, objective: Objectives = "accuracy",
        budget: float | str | None = "auto", **kwargs: Any,
    ) -> LookupParams:  # fmt: skip
        names = (table_name(task, lang, architecture),)
        return LookupParams.of(names, objective=objective, budget=budget, held_out=(TEST.name,), **kwargs)


CharHPOVectorEnv = CharHPOEnv.vectorized()
