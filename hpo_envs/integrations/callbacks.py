"""Callbacks that report scores to a trial and stop trainings early, for Lightning, Keras, XGBoost and LightGBM.

    def train(config, trial):
        trainer = Trainer(max_epochs=20, callbacks=[lightning_callback(trial, "val_accuracy")])
        ...

A PyTorch loop needs no callback: `trial.report(accuracy, epoch)`, and `break` once `trial.should_stop`.
"""

from collections.abc import Callable, Mapping
from typing import Any

from hpo_envs.tuning.trial import Trial


def lightning_callback(trial: Trial, monitor: str) -> Any:
    """Return a Lightning callback that reports after epochs with a validation, and ends training when it should stop.

    The last validation of an epoch counts. Of several processes, only the first reports.

    Args:
        trial: Trial of the evaluation.
        monitor: Name of a logged metric.

    Raises:
        ModuleNotFoundError: Lightning is not installed.
        ValueError: `trial` is not a trial; or, during the training, `monitor` is not logged.
    """
    try:
        from lightning.pytorch import Callback
    except ModuleNotFoundError:
        from pytorch_lightning import Callback

    report = _reporter(trial, monitor)

    class Reports(Callback):  # type: ignore[misc]
        fresh = False

        def on_validation_end(self, trainer: Any, pl_module: Any) -> None:
            self.fresh = not trainer.sanity_checking

        def on_train_epoch_start(self, trainer: Any, pl_module: Any) -> None:
            self.fresh = False  # `Trainer.validate` before `fit`

        def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
            if not self.fresh:
                return
            stop = trainer.is_global_zero and report(trainer.callback_metrics, trainer.current_epoch + 1)
            if trainer.strategy.reduce_boolean_decision(stop, all=False):
                trainer.should_stop = True

    return Reports()


def keras_callback(trial: Trial, monitor: str) -> Any:
    """Return a Keras callback that reports after epochs with `monitor`, and ends training once the trial should stop.

    Args:
        trial: Trial of the evaluation.
        monitor: Name of a metric of `fit`, such as `val_accuracy`.

    Raises:
        ModuleNotFoundError: Keras is not installed.
        ValueError: `trial` is not a trial; or, during the training, `monitor` is not a metric of `fit`.
    """
    from keras.callbacks import Callback

    report, seen = _reporter(trial, monitor), dict[str, Any]()

    class Reports(Callback):  # type: ignore[misc]
        def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
            seen.update(logs or {})
            if monitor.startswith("val_") and not any(name.startswith("val_") for name in logs or {}):
                return  # `validation_freq` leaves this epoch out
            self.model.stop_training = report(logs or {}, epoch + 1) or self.model.stop_training

        def on_train_end(self, logs: Any = None) -> None:
            if monitor not in seen:
                report(seen, 1)  # raises

    return Reports()


def xgboost_callback(trial: Trial, monitor: str) -> Any:
    """Return an XGBoost callback that reports after each boosting round and ends training once the trial should stop.

    Args:
        trial: Trial of the evaluation.
        monitor: Evaluation set and metric, such as `validation_0-auc`.

    Raises:
        ModuleNotFoundError: XGBoost is not installed.
        ValueError: `trial` is not a trial; or, during the training, `monitor` is not evaluated.
    """
    from xgboost.callback import TrainingCallback

    report = _reporter(trial, monitor)

    class Reports(TrainingCallback):  # type: ignore[misc]
        def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
            found = {f"{name}-{metric}": v[-1] for name, log in evals_log.items() for metric, v in log.items()}
            means = {k: v[0] for k, v in found.items() if isinstance(v, tuple)}  # `xgboost.cv` has deviations, too
            stops = report(found | means, epoch + 1)
            if stops and means:
                model.set_attr(best_iteration=str(epoch))  # where it ends its results
            return stops

    return Reports()


def lightgbm_callback(trial: Trial, monitor: str) -> Callable[[Any], None]:
    """Return a LightGBM callback that reports after each boosting round and ends training once the trial should stop.

    Args:
        trial: Trial of the evaluation.
        monitor: Evaluation set and metric, such as `valid_0 auc`.

    Raises:
        ModuleNotFoundError: LightGBM is not installed.
        ValueError: `trial` is not a trial; or, during the training, `monitor` is not evaluated.
    """
    from lightgbm.callback import EarlyStopException

    report = _reporter(trial, monitor)

    def callback(env: Any) -> None:
        if report({f"{r[0]} {r[1]}": r[2] for r in env.evaluation_result_list}, env.iteration + 1):
            raise EarlyStopException(env.iteration, env.evaluation_result_list)

    return callback


def _reporter(trial: Trial, monitor: str) -> Callable[[Mapping[str, Any], int], bool]:
    """Return a function of metrics and a step that reports the monitored one, and returns whether to stop."""
    if not isinstance(trial, Trial):
        raise ValueError(f"trial must be that of a search, as in train(config, trial), got {trial!r}")

    def report(metrics: Mapping[str, Any], step: int) -> bool:
        if monitor not in metrics:
            raise ValueError(f"monitor must be one of {', '.join(map(str, metrics)) or 'no metric'}, got {monitor!r}")
        trial.report(metrics[monitor], step)
        return trial.should_stop

    return report
