"""TextMiniLive: each step trains a classifier or a tagger of TextMini; time limit of a training."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from hpo_envs.core.engines.function.params import FunctionParams
from hpo_envs.core.engines.function.scalar import FunctionEnv
from hpo_envs.core.params import check_int
from hpo_envs.families.textmini import LIVE_MODELS, measure
from hpo_envs.families.textmini.page import table_name
from hpo_envs.families.training.process import Trainer
from hpo_envs.families.training.suite import rewarded
from hpo_envs.tables import store
from hpo_envs.tables.checks import one_of
from hpo_envs.tables.datasets.textmini import build, tasks
from hpo_envs.tables.datasets.textmini.space import module, space

SECONDS = 300.0
"""Default time limit of a training in seconds; those of the tables took up to five."""

_METRICS = tuple(m for m in build.METRICS if m.name not in build.HELD_OUT)
_SHOWN = tuple(m.name for m in _METRICS)


class TextTrainer:
    """Callable that trains a model on a configuration, in a separate process that ends with this object.

    Args:
        task: Name of the task.
        model: `joint` or `crf`.
        repeat: Index of the resample of the training set.
        seconds: Time limit of a call.

    Raises:
        ValueError: An argument is not valid.
        ModuleNotFoundError: A package is not installed.
        TableNotInstalled: The texts of the task are not installed.
    """

    def __init__(self, task: str, model: str, repeat: int, seconds: float) -> None:
        check_int("repeat", repeat, 0)
        tasks.of(task).parts()
        self._of, self._last = {"task": task, "model": model, "repeat": repeat}, len(module(model).LEVELS) - 1
        self.expected = float(np.nanmean(store.load(table_name(task, model)).final("seconds")))
        self._trainer = Trainer(measure.__name__, seconds, measure.MODULES[model])
        self.__qualname__ = f"textmini-{task}-{model}-{repeat}"

    def __call__(self, config: Mapping[str, Any]) -> dict[str, Any]:
        """Train a configuration on the whole resample; return its metrics, NaN if it failed."""
        of = {**self._of, "config": dict(config), "fidelity": self._last}
        said = self._trainer.train(of, self._last + 1)
        if "failed" in said:
            return dict.fromkeys(_SHOWN, math.nan)
        last = said["epochs"][-1]
        counts = np.array([last[name] for name in build.COUNTS], np.float64)
        shown = {**last, "score": build.scores(counts)[0], "parameters": said["parameters"]}
        return {name: float(shown[name]) for name in _SHOWN}


class TextMiniLiveEnv(FunctionEnv):
    """Hyperparameter optimisation of text classifiers and taggers, with training in the step.

    ## Description
    The tasks, models and hyperparameters of `TextMini-*-joint-v0` and `TextMini-*-crf-v0`, trained in the step: one
    step trains one configuration on a resample of the training set, which takes up to ten seconds on one core. Agents
    tuned on tables run here unchanged. Ids: `TextMiniLive-{task}-{model}-v0`. Needs the extra `live` and the texts:
    `hpo-envs fetch textmini`.

    Training runs in a separate process with one thread. A configuration and a resample of the table reproduce the
    table's counts.

    ## Action Space
    `Box(-1, 1, (d,), float32)`: one number per hyperparameter; the values of a list share [-1, 1] in equal parts,
    ranges are linear or logarithmic. With `actions="candidates"`, `Discrete(candidates)`.

    ## Observation Space
    f = d, or the features of the table if actions are candidates; e = 0.

    ## Rewards
    The metric `objective`, negative if lower is better. Default: the score on the validation set in per cent. A
    training that takes too long has failed, one without n-grams has diverged: both get the worst value of the metric.

    ## Starting State
    The episode's seed changes nothing; the argument `repeat` is the resample of the training set.

    ## Information
    `cost` and `metrics["seconds"]` are measured. `metrics` are `score`, `correct`, `seconds`, `inference`,
    `parameters`.

    ## Arguments
    - `task`, `model`: as in the ids.
    - `objective="score"`: any of the metrics, or a tuple of them for a vector reward.
    - `actions="box"`: or `"candidates"`.
    - `budget=20`: in units of `budget_unit`.
    - `budget_unit="evaluations"`: or `"cost"`.
    - `repeat=0`: the resample; the table's are 0, 1 and 2.
    - `seconds=300`: time limit of a training.

    ## Table
    None: every result is measured in the step.

    ## References
    See `TextMini-*-v0`.
    """

    @staticmethod
    def _params(
        task: str, model: str, *, objective: Any = "score", actions: str = "box", budget: float | None = 20,
        repeat: int = 0, seconds: float = SECONDS, **kwargs: Any,
    ) -> FunctionParams:  # fmt: skip
        one_of("model", model, LIVE_MODELS)
        table_name(task, model)
        kwargs |= rewarded(objective, _METRICS)
        trainer = TextTrainer(task, model, repeat, seconds)
        return FunctionParams.of(trainer, space(model), actions=actions, budget=budget, **kwargs)


TextMiniLiveVectorEnv = TextMiniLiveEnv.vectorized()
