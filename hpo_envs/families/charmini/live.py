"""CharMiniLive: each step trains one of CharMini's models; time limit of a training."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hpo_envs.core.engines.function.params import FunctionParams
from hpo_envs.core.engines.function.scalar import FunctionEnv
from hpo_envs.core.params import check_int
from hpo_envs.families.charmini import measure
from hpo_envs.families.charmini.page import table_name
from hpo_envs.families.training.process import Trainer
from hpo_envs.families.training.suite import rewarded
from hpo_envs.tables.datasets.charmini import ENGLISH, EPOCHS, build, cost
from hpo_envs.tables.datasets.charmini.space import space
from hpo_envs.tables.datasets.charmini.words import entries

SECONDS = 600.0
"""Default time limit of a training in seconds; the longest takes about a minute."""

_METRICS = tuple(m for m in build.METRICS if m.name not in build.HELD_OUT)
_SHOWN = tuple(m.name for m in _METRICS)


class WordTrainer:
    """Callable that trains a model on a configuration, in a separate process that ends with this object.

    Args:
        architecture: `lstm` or `transformer`.
        language: Code of the language.
        seed: Seed of the trainings.
        epochs: Epochs per training.
        seconds: Time limit of a call.

    Raises:
        ValueError: An argument is not valid.
        ModuleNotFoundError: torch is not installed.
        TableNotInstalled: The words of the language are not installed.
    """

    def __init__(self, architecture: str, language: str, seed: int, epochs: int, seconds: float) -> None:
        check_int("seed", seed, 0)
        check_int("epochs", epochs)
        entries(language)
        self._architecture, self._language, self._seed, self._epochs = architecture, language, seed, epochs
        self.expected = epochs * cost.mean(architecture, language)
        self._trainer = Trainer(measure.__name__, seconds)
        self.__qualname__ = f"charmini-{language}-{architecture}-{seed}"

    def __call__(self, config: Mapping[str, Any]) -> dict[str, Any]:
        """Train a configuration; return its metrics, `cost` and `seconds`; if it diverged, NaN metrics and `cost`."""
        return self._measured(config, self._epochs, None)

    def _measured(self, config: Mapping[str, Any], epochs: int, folder: Path | None) -> dict[str, Any]:
        price = epochs * cost.epoch(self._architecture, config, self._language)
        of = {"architecture": self._architecture, "seed": self._seed, "language": self._language}
        said = self._trainer.train({**of, "config": dict(config)}, epochs, folder)
        if "diverged" in said:
            return {**dict.fromkeys(_SHOWN, math.nan), "cost": price}
        accuracy, errors = build.rates(said["correct"], said["errors"], self._language, "development")
        measured = (accuracy, errors, said["nll"], said["loss"], said["parameters"])
        return {**dict(zip(_SHOWN, map(float, measured), strict=True)), "cost": price, "seconds": said["seconds"]}


class LiveEpochs(WordTrainer):
    """A `WordTrainer` whose trainings continue epoch by epoch."""

    def __call__(self, config: Mapping[str, Any], resume_from: Path, epochs: int) -> dict[str, Any]:  # type: ignore[override]
        """Continue the training of a configuration up to `epochs` epochs; `cost` is that of the new ones."""
        kept = Path(resume_from) / "epochs"
        before = int(kept.read_text(encoding="ascii")) if kept.exists() else 0
        said = self._measured(config, epochs, Path(resume_from))
        kept.write_text(str(epochs), encoding="ascii")
        return {**said, "cost": (epochs - before) * cost.epoch(self._architecture, config, self._language)}


class CharMiniLiveEnv(FunctionEnv):
    """Hyperparameter optimisation of small LSTMs and transformers that pronounce words, with training in the step.

    ## Description
    The models, words and hyperparameters of `CharMini-eng-lstm-v0`, trained in the step: one step trains one
    configuration for 20 epochs, which takes 3 to 50 seconds on one core. Agents tuned on tables run here unchanged.
    Ids: `CharMiniLive-{language}-{architecture}-v0`, languages and architectures as in `CharMini-eng-lstm-v0`. Needs
    the extra `live` and, for languages other than English, the words: `hpo-envs fetch charmini`.

    Training runs in a separate process with one thread and does not change the settings of torch in this one. A
    configuration and a seed of the table reproduce the table's numbers.

    ## Action Space
    `Box(-1, 1, (16,), float32)`: one number per hyperparameter, in the order of `CharHPO-v0`; the values of a list
    share [-1, 1] in equal parts, ranges are linear or logarithmic. With `actions="candidates"`,
    `Discrete(candidates)`.

    ## Observation Space
    20 numbers with one objective, 22 if actions are candidates: f = 16 or 18, e = 0.

    ## Rewards
    The metric `objective` after the last epoch, negative if lower is better. Default: development accuracy in per cent.
    A training whose loss is not finite has diverged, one that takes too long has failed: worst value of the
    metric.

    ## Starting State
    The episode's seed changes nothing; the argument `seed` is that of the trainings.

    ## Information
    `cost` is that of the table: seconds on one core, estimated. `metrics` are `accuracy`, `phoneme_error_rate`, `nll`,
    `training_loss`, `parameters`, and `seconds`, the measured CPU time.

    ## Arguments
    - `architecture`: lstm or transformer.
    - `language="eng"`: code of a language, as in the ids. Words of languages other than English: `hpo-envs fetch
      charmini`.
    - `objective="accuracy"`: any of the metrics but `seconds`, or a tuple of them for a vector reward.
    - `actions="box"`: or `"candidates"`.
    - `budget=20`: in units of `budget_unit`.
    - `budget_unit="evaluations"`: or `"cost"`.
    - `seed=0`: seed of the trainings; the table's are 0, 1 and 2.
    - `epochs=20`: epochs per training.
    - `seconds=600`: time limit of a training.

    ## Table
    None: every result is measured in the step.

    ## References
    See `CharMini-eng-lstm-v0`.
    """

    @staticmethod
    def _params(
        architecture: str = "lstm", language: str = ENGLISH, *, objective: Any = "accuracy", actions: str = "box",
        budget: float | None = 20, seed: int = 0, epochs: int = EPOCHS, seconds: float = SECONDS, **kwargs: Any,
    ) -> FunctionParams:  # fmt: skip
        table_name(architecture, language)
        function = WordTrainer(architecture, language, seed, epochs, seconds)
        kwargs |= {"actions": actions, "budget": budget, "cost_unit": "s", **rewarded(objective, _METRICS)}
        return FunctionParams.of(function, space(architecture), **kwargs)


CharMiniLiveVectorEnv = CharMiniLiveEnv.vectorized()


class CharMiniLiveLCEnv(FunctionEnv):
    """Multi-fidelity optimisation of small LSTMs and transformers that pronounce words, with training in the step.

    ## Description
    As `CharMiniLive-eng-lstm-v0`, epoch by epoch: one step trains one of a list of configurations up to an epoch, from
    its last checkpoint, and pays only for the new part. Ids: `CharMiniLiveLC-{language}-{architecture}-v0`.
    Requirements: as for `CharMiniLive-eng-lstm-v0`.

    ## Action Space
    `MultiDiscrete([candidates, 20])`: the configuration, in a list of seeded quasi-random ones, and the epoch to train
    it to, 0 being the first.

    ## Observation Space
    23 numbers with one objective: f = 18, e = 1.

    ## Rewards
    The metric `objective` after that epoch, negative if lower is better. Default: development accuracy in per cent.

    ## Episode End
    Also after as many steps as there are candidates x epochs.

    ## Information
    As in `CharMiniLive-eng-lstm-v0`, and `reached` (index of the epoch of the metrics) and `best` (best reward
    of the configuration so far). `action_mask` is (candidates + epochs,).

    ## Arguments
    - `architecture`, `language`, `objective`, `seed`: as in `CharMiniLive-eng-lstm-v0`.
    - `epochs=20`: the most epochs that a configuration is trained for.
    - `budget=None`: in units of `budget_unit`; None = 20 full trainings in epochs, as many steps as candidates in
      evaluations, or a cost of 1e6.
    - `budget_unit="epochs"`: or `"evaluations"` (steps), or `"cost"`.
    - `seconds=600`: time limit of a step.
    - `checkpoints=None`: folder of a folder per episode, which has one per configuration; None: temporary ones.

    ## Table
    None: every result is measured in the step.

    ## References
    See `CharMini-eng-lstm-v0`.
    """

    @staticmethod
    def _params(
        architecture: str = "lstm", language: str = ENGLISH, *, objective: Any = "accuracy", epochs: int = EPOCHS,
        budget: float | None = None, budget_unit: str = "epochs", seed: int = 0, seconds: float = SECONDS,
        **kwargs: Any,
    ) -> FunctionParams:  # fmt: skip
        table_name(architecture, language)
        if budget is None and budget_unit == "epochs":
            budget = 20 * epochs
        function = LiveEpochs(architecture, language, seed, epochs, seconds)
        kwargs |= {"epochs": epochs, "budget": budget, "budget_unit": budget_unit, "cost_unit": "s"}
        return FunctionParams.of(function, space(architecture), **kwargs, **rewarded(objective, _METRICS))


CharMiniLiveLCVectorEnv = CharMiniLiveLCEnv.vectorized()
