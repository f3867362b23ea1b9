"""CharMini: small character models trained by this project; final results and learning curves."""

from typing import Any

from hpo_envs.core.engines.curves.params import CurveParams
from hpo_envs.core.engines.curves.scalar import CurvesEnv
from hpo_envs.core.engines.lookup.params import LookupParams
from hpo_envs.core.engines.lookup.scalar import LookupEnv
from hpo_envs.core.params import Objectives
from hpo_envs.tables.checks import one_of
from hpo_envs.tables.datasets.charmini import ARCHITECTURES, ENGLISH, LANGUAGES
from hpo_envs.tables.datasets.charmini.build import HELD_OUT


def table_name(architecture: str, language: str) -> str:
    """Return the name of the table of an architecture and a language.

    Raises:
        ValueError: The architecture or language is unknown.
    """
    architecture = one_of("architecture", architecture, ARCHITECTURES)
    return f"charmini/{one_of('language', language, LANGUAGES)}-{architecture}"


class CharMiniEnv(LookupEnv):
    """Hyperparameter optimisation of small LSTMs and transformers that pronounce words, measured by this project.

    ## Description
    Small character models learn to pronounce 1,500 words of a language: attentive LSTMs and pre-norm transformers with
    the sixteen hyperparameters of `CharHPO-v0` in smaller ranges, the same 64 configurations in each language, trained
    for 20 epochs with two seeds (English: three) by `benchmarks.study.measure`. One step looks up one complete
    training. One episode is one optimisation run. `benchmarks.study.measure CharMini --check 10` retrains ten runs and
    compares them with the table, and `CharMiniLive-eng-lstm-v0` trains such models at each step.

    Ids: `CharMini-{language}-{architecture}-v0` with `eng` (English) or a completely measured language of the shared
    task (listed in `docs/charmini.md`), and architecture `lstm` or `transformer`. Learning curves:
    `CharMiniLC-eng-lstm-v0`.

    ## Action Space
    `Discrete(rows)`: index of the configuration, in a fixed pseudo-random order. Configurations are drawn uniformly
    from: `batch_size` (32 to 256 in steps of 16), `learning_rate` (1e-4 to 0.03, logarithmic), `beta1` (0.8 to 0.999),
    `beta2` (0.98 to 0.999), `label_smoothing` (0 to 0.2), `scheduler` (none, reduceonplateau, warmupinvsqrt),
    `warmup_samples` (100 to 20,000; warmupinvsqrt only), `factor`, `min_lr`, `patience` (reduceonplateau only),
    `embedding_size` (16 to 64), `hidden_size` (32 to 128), `encoder_layers` (1, 2), `decoder_layers` (1, 2; LSTM 1),
    `attention_heads` (2, 4, 8; LSTM 1), `dropout` (0 to 0.5). Inactive ones are 0.

    ## Observation Space
    The d = 18 features are those above in their order, the scheduler as three of 0 or 1.

    ## Rewards
    The metric `objective` at the last epoch, negative if lower is better. Default: development accuracy, the percentage
    of the development words (260 to 500 by language) that are exactly right.

    ## Starting State
    Each evaluation is one of the configuration's trainings, drawn with the episode's seed.

    ## Information
    `metrics`: `accuracy` and `phoneme_error_rate` in per cent, `nll` and `training_loss` in nats, `parameters`;
    `held_out` (dict: `test_accuracy`, `test_phoneme_error_rate`); `status`: `ok`, or `diverged`.

    ## Arguments
    - `architecture`: lstm or transformer.
    - `language="eng"`: code of a language, as in the ids.
    - `objective="accuracy"`: any metric but those held out, or a tuple of metrics for a vector reward.
    - `cost="evaluations"`: or `"s"`: seconds on one core, estimated from updates, layers and multiplications.
    - `budget=20`: in units of `cost`; None = every row once per training.

    ## Table
    Measured by this project and shipped, MIT licence, for English MIT AND BSD-2-Clause (its words, which ship, are from
    CMUdict; those of other languages need `hpo-envs fetch charmini`, for training only). Trainings are bit-identical
    under AVX-512, AVX2 and SSE.

    ## References
    This project. Search space: Adam Wiemerslage, Kyle Gorman and Katharina von der Wense. Quantifying the
    Hyperparameter Sensitivity of Neural Networks for Character-level Sequence-to-Sequence Tasks. EACL 2024. Words:
    The CMU Pronouncing Dictionary, Carnegie Mellon University; Kyle Gorman, Lucas F.E. Ashby, Aaron Goyzueta, Arya
    McCarthy, Shijie Wu and Daniel You. The SIGMORPHON 2020 Shared Task on Multilingual Grapheme-to-Phoneme
    Conversion. SIGMORPHON 2020; Jackson L. Lee, Lucas F.E. Ashby, M. Elizabeth Garza, Yeonju Lee-Sikka, Sean
    Miller, Alan Wong, Arya D. McCarthy and Kyle Gorman. Massively Multilingual Pronunciation Modeling with
    WikiPron. LREC 2020.
    """

    @staticmethod
    def _params(
        architecture: str = "lstm", language: str = ENGLISH, *, objective: Objectives = "accuracy",
        budget: float | None = 20, **kwargs: Any,
    ) -> LookupParams:  # fmt: skip
        names = (table_name(architecture, language),)
        return LookupParams.of(names, objective=objective, budget=budget, held_out=HELD_OUT, **kwargs)


CharMiniVectorEnv = CharMiniEnv.vectorized()


class CharMiniLCEnv(CurvesEnv):
    """Multi-fidelity optimisation of small LSTMs and transformers that pronounce words, measured by this project.

    ## Description
    The learning curves of the tables of `CharMini-*-v0`: 20 epochs of each seed of each configuration. One step trains
    one configuration up to one epoch, continuing from the epoch reached before, and pays only for the new part. One
    episode is one optimisation run.

    Ids: `CharMiniLC-{language}-{architecture}-v0`, languages and architectures as in `CharMini-eng-lstm-v0`. By phoneme
    error rate this is an easy multi-fidelity problem: in English, ranks after five epochs correlate 0.9 with final
    ranks. Early accuracy, which is 0 for many configurations, is less informative.

    ## Action Space
    `MultiDiscrete([rows, 20])`: index of the configuration, in a fixed pseudo-random order, and the epoch to train it
    to, 0 being the first. Hyperparameters as in `CharMini-eng-lstm-v0`.

    ## Observation Space
    d = 18.

    ## Rewards
    The metric `objective` at that epoch, negative if lower is better. Default: development accuracy in per cent.

    ## Starting State
    Each episode uses one of the trainings of each configuration, drawn with the episode's seed.

    ## Information
    `metrics`: `accuracy`, `phoneme_error_rate`, `nll`, `training_loss`, `parameters`; `held_out` (dict:
    `test_accuracy`, `test_phoneme_error_rate`); `status`: `ok`; `diverged` once a loss is not finite.

    ## Arguments
    - `architecture`, `language`, `objective`: as in `CharMini-eng-lstm-v0`.
    - `cost=None`: seconds on one core, estimated as in `CharMini-eng-lstm-v0`; or `"epochs"`, or `"evaluations"`.

    ## Table
    As in `CharMini-eng-lstm-v0`: measured by this project, MIT licence, for English MIT AND BSD-2-Clause.

    ## References
    See `CharMini-eng-lstm-v0`.
    """

    @staticmethod
    def _params(
        architecture: str = "lstm", language: str = ENGLISH, *, objective: Objectives = "accuracy", **kwargs: Any
    ) -> CurveParams:
        return CurveParams.of(table_name(architecture, language), objective=objective, held_out=HELD_OUT, **kwargs)


CharMiniLCVectorEnv = CharMiniLCEnv.vectorized()
