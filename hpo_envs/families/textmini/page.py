"""TextMini: small text models for different tasks, trained by this project; final results and learning curves."""

from typing import Any

from hpo_envs.core.engines.curves.params import CurveParams
from hpo_envs.core.engines.curves.scalar import CurvesEnv
from hpo_envs.core.engines.lookup.params import LookupParams
from hpo_envs.core.engines.lookup.scalar import LookupEnv
from hpo_envs.core.params import Objectives
from hpo_envs.tables.checks import one_of
from hpo_envs.tables.datasets.textmini import LABELS
from hpo_envs.tables.datasets.textmini.build import HELD_OUT


def table_name(task: str, model: str) -> str:
    """Return the name of the table of a task and a model class.

    Raises:
        ValueError: The task is unknown, or has no table of this model class.
    """
    one_of("task", task, tuple(dict.fromkeys(label.partition("-")[0] for label in LABELS)))
    one_of("model", model, tuple(label.partition("-")[2] for label in LABELS if label.startswith(f"{task}-")))
    return f"textmini/{task}-{model}"


class TextMiniEnv(LookupEnv):
    """Hyperparameter optimisation of small text models on different tasks, measured by this project.

    ## Description
    Text classifiers, word taggers and inflection models, trained within seconds by `benchmarks.study.measure` on
    diverse tasks: intents of requests, polarity, product reviews, mentions of entities, languages, names, case of
    Russian words; words and tones of Vietnamese, parts of speech and punctuation of Maltese, dependency labels of
    Wolof, named entities; inflection of Swahili. One step looks up one complete training. One episode is one
    optimisation run. `benchmarks.study.measure TextMini --check 12` retrains twelve runs and compares them with the
    table, and `TextMiniLive-*-v0` trains at each step.

    Ids: `TextMini-{task}-{model}-v0`. Model classes: `joint`, a choice among seven classifiers with their
    hyperparameters and n-grams; `crf`, conditional random fields; `neural`, an encoder of words or characters;
    `tagger`, a neural tagger; `lstm`, an attentive LSTM (`docs/textmini.md` lists all). Learning curves:
    `TextMiniLC-*-v0`.

    ## Action Space
    `Discrete(rows)`: index of the configuration, in a fixed pseudo-random order. Configurations are drawn uniformly
    from the space of the model class, logarithmic hyperparameters on their scale. Inactive hyperparameters are 0.

    ## Observation Space
    The d features are the hyperparameters in [0, 1], a categorical one as a 0 or 1 for each choice.

    ## Rewards
    The metric `objective` after training, negative if lower is better. Default: the score on the validation set in
    per cent: accuracy or, for words, punctuation and entities, F1 of spans.

    ## Starting State
    Each evaluation is one of the configuration's trainings, drawn with the episode's seed: three resamples of 80 % of
    the training set (`joint`, `crf`), or two seeds (`neural`, `tagger`, `lstm`).

    ## Information
    `metrics`: `score` in per cent, `correct` (predictions), `seconds` (of training, on one core), `inference`
    (seconds for the validation set), `parameters`; `held_out` (dict: `test_score`, `test_correct`); `status`: `ok`,
    `failed` if no n-gram is frequent enough, `diverged`.

    ## Arguments
    - `task`, `model`: as in the ids.
    - `objective="score"`: any metric but those held out, or a tuple of metrics for a vector reward.
    - `cost="evaluations"`: or `"s"`: measured seconds of one core.
    - `budget=20`: in units of `cost`; None = every row once per training.

    ## Table
    Measured by this project and shipped, MIT licence: counts and seconds only. The texts have their own licences
    (`tables/datasets/textmini/NOTICE.md`), do not ship, and are needed for training only: `hpo-envs fetch textmini`.

    ## References
    This project. Texts: Casanueva, Temcinas, Gerz, Henderson and Vulic 2020 (BANKING77); Pang and Lee 2004, 2005; Hu
    and Liu 2004; Kantrowitz and Ross 1994; the Universal Declaration of Human Rights; Universal Dependencies;
    Derczynski, Nichols, van Erp and Limsopatham 2017 (WNUT17); UniMorph, as in the SIGMORPHON 2023 shared task.
    """

    @staticmethod
    def _params(
        task: str, model: str, *, objective: Objectives = "score", budget: float | None = 20, **kwargs: Any
    ) -> LookupParams:
        names = (table_name(task, model),)
        return LookupParams.of(names, objective=objective, budget=budget, held_out=HELD_OUT, **kwargs)


TextMiniVectorEnv = TextMiniEnv.vectorized()


class TextMiniLCEnv(CurvesEnv):
    """Multi-fidelity optimisation of small text models on different tasks, measured by this project.

    ## Description
    The trainings of `TextMini-*-v0` at each fidelity: epochs (`neural`, `tagger`, `lstm`), or fractions of the training
    set, 1/9, 1/3 and 1 (`joint`, `crf`). One step trains one configuration up to one fidelity and pays only for the new
    part. One episode is one optimisation run. Ids: `TextMiniLC-{task}-{model}-v0`.

    ## Action Space
    `MultiDiscrete([rows, fidelities])`: index of the configuration, in a fixed pseudo-random order, and the fidelity, 0
    being the smallest. Hyperparameters as in `TextMini-*-v0`.

    ## Observation Space
    The d features are those of `TextMini-*-v0`.

    ## Rewards
    The metric `objective` at that fidelity, negative if lower is better. Default: the score on the validation set in
    per cent.

    ## Starting State
    Each episode uses one of the trainings of each configuration, drawn with the episode's seed.

    ## Information
    `metrics`: `score`, `correct`, `seconds`, `inference`, `parameters`; `held_out` (dict: `test_score`,
    `test_correct`); `status`: `ok`, `failed`; `diverged` once a loss is not finite.

    ## Arguments
    - `task`, `model`, `objective`: as in `TextMini-*-v0`.
    - `cost=None`: measured seconds of one core; those of a fraction of the training set include smaller fractions; or
      the unit of the fidelity, `"epochs"` or `"training sets"`, or `"evaluations"`.

    ## Table
    As in `TextMini-*-v0`: measured by this project, MIT licence.

    ## References
    See `TextMini-*-v0`.
    """

    @staticmethod
    def _params(task: str, model: str, *, objective: Objectives = "score", **kwargs: Any) -> CurveParams:
        return CurveParams.of(table_name(task, model), objective=objective, held_out=HELD_OUT, **kwargs)


TextMiniLCVectorEnv = TextMiniLCEnv.vectorized()
