"""Logging of evaluations as runs of MLflow or Weights & Biases, by the clients of these packages."""

import math
import re
import warnings
from collections.abc import Callable

from hpo_envs.tables.checks import one_of, shown
from hpo_envs.tuning.record import Evaluation


def tracker_of(name: str) -> Callable[[str, Evaluation], None]:
    """Return a function that logs a finished evaluation, given the search's name and the evaluation.

    The client's own settings apply, such as `MLFLOW_TRACKING_URI` or `WANDB_MODE`. Runs are grouped by search. MLflow
    gets `_` for characters that its names cannot have. An error of the client becomes a warning: a tracker that is down
    ends no search.

    Args:
        name: `mlflow` or `wandb`.

    Raises:
        ValueError: The name is neither of these.
        ModuleNotFoundError: The package is not installed.
    """
    log = _client(one_of("log", name, ("mlflow", "wandb")))

    def logged(search: str, evaluation: Evaluation) -> None:
        try:
            log(search, evaluation)
        except Exception as error:
            said = " ".join(shown(str(error), str).split())
            warnings.warn(f"evaluation {evaluation.number} is not wholly in {name}, got {said}", stacklevel=2)

    return logged


def _client(name: str) -> Callable[[str, Evaluation], None]:
    if name == "mlflow":
        import mlflow

        def to_mlflow(search: str, evaluation: Evaluation) -> None:
            client = mlflow.MlflowClient()
            known = client.get_experiment_by_name(search)
            experiment = client.create_experiment(search) if known is None else known.experiment_id
            run = client.create_run(experiment, run_name=str(evaluation.number)).info.run_id
            try:
                for key, value in evaluation.config.items():
                    client.log_param(run, _named(key), value)
                for step, metrics in _logged(evaluation):
                    for key, value in metrics.items():
                        client.log_metric(run, _named(key), value, step=step)
                client.set_tag(run, "status", evaluation.status)
            finally:
                client.set_terminated(run, "FAILED" if evaluation.rewards is None else "FINISHED")

        return to_mlflow
    import wandb

    def to_wandb(search: str, evaluation: Evaluation) -> None:
        run = wandb.init(group=search, name=str(evaluation.number), config=dict(evaluation.config), reinit="create_new")
        for step, metrics in _logged(evaluation):
            run.log(metrics, step=step)
        run.summary["status"] = evaluation.status
        run.finish(exit_code=int(evaluation.rewards is None))

    return to_wandb


def _named(name: str) -> str:
    """Return a name that MLflow takes."""
    return re.sub(r"[^\w\-. /]", "_", name)


def _logged(evaluation: Evaluation) -> list[tuple[int, dict[str, float]]]:
    """Return (step, metrics) pairs: each report, then, one step later, returned metrics, cost and seconds if finite."""
    reports = [(int(step), {"report": float(score)}) for step, score in evaluation.curve]
    last = reports[-1][0] + 1 if reports else 0
    numbers = {"cost": evaluation.cost, "seconds": evaluation.seconds, **evaluation.metrics}
    return [*reports, (last, {name: value for name, value in numbers.items() if math.isfinite(value)})]
