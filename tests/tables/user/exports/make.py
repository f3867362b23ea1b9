"""Makes the exports of this folder with the real packages: `python make.py [TOOL ...]`, in an environment of its own.

The committed files were made with mlflow-skinny 3.17.2, optuna 5.0.0, ray 2.60.0, syne-tune 0.16.0, scikit-learn
1.9.1, wandb 0.31.0 (offline), hydra-core 1.3.8 with hydra-submitit-launcher 1.2.0 and submitit 1.5.4, pandas 3.1.1.
`README.md` says which file is whose, and which were written by hand after which documentation.
"""

from __future__ import annotations

import json
import math
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent


def configs(count: int) -> list[dict[str, Any]]:
    """Random configurations: momentum is only for sgd, 0.1 is too high a learning rate."""
    rng = random.Random(7)
    made = []
    for _ in range(count):
        c: dict[str, Any] = {
            "lr": 10 ** rng.uniform(-4, -1), "layers": rng.choice([1, 2, 4]), "optimizer": rng.choice(["adam", "sgd"]),
        }  # fmt: skip
        if c["optimizer"] == "sgd":
            c["momentum"] = round(rng.uniform(0.5, 0.99), 3)
        made.append(c)
    return made


def train(config: dict[str, Any], epochs: int = 4) -> list[float]:
    """Accuracy after each epoch; nan from the second on where the learning rate is too high."""
    top = 0.9 - 0.1 * abs(math.log10(config["lr"]) + 2.5) + 0.01 * int(config["layers"])
    return [math.nan if config["lr"] > 0.05 and e > 0 else round(top * (1 - 0.5 ** (e + 1)), 4) for e in range(epochs)]


def pack(folder: Path, name: str, keep: str = r".*") -> None:
    """Writes the text files of a folder as one file of JSON, path -> text: `NAME.folder.json`."""
    paths = [p for p in sorted(folder.rglob("*")) if p.is_file() and re.fullmatch(keep, p.name)]
    files = {str(p.relative_to(folder)): p.read_text() for p in paths}
    (HERE / f"{name}.folder.json").write_text(json.dumps(files, indent=1) + "\n")


def optuna() -> None:
    """`trials_dataframe` of three studies: all states, several objectives, a grid."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)

    def objective(trial: Any) -> float:
        lr = trial.suggest_float("lr", 1e-4, 1e-1, log=True)
        c = {"lr": lr, "layers": trial.suggest_int("layers", 1, 4)}
        if trial.suggest_categorical("optimizer", ["adam", "sgd"]) == "sgd":
            trial.suggest_float("momentum", 0.5, 0.99)
        trial.set_user_attr("host", "node7")
        curve = train(c)
        if trial.number == 5:
            raise RuntimeError("out of memory")
        for e, value in enumerate(curve):
            trial.report(value, e)
            if trial.number == 7 and e == 1:
                raise optuna.TrialPruned
        return curve[-1]

    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.RandomSampler(seed=1))
    study.optimize(objective, n_trials=12, catch=(RuntimeError,))
    study.ask()
    study.trials_dataframe().to_csv(HERE / "optuna.csv", index=False)
    study.trials_dataframe(multi_index=True).to_csv(HERE / "optuna_multi_index.csv")
    study.trials_dataframe().to_parquet(HERE / "optuna.parquet")
    study.trials_dataframe().to_json(HERE / "optuna.jsonl", orient="records", lines=True, date_format="iso")

    def both(trial: Any) -> tuple[float, float]:
        width = trial.suggest_categorical("width", [64, 128, 256])
        return 1 - 1 / width**0.3 - 0.01 * trial.suggest_float("dropout", 0.0, 0.5), width * 0.1

    study = optuna.create_study(directions=["maximize", "minimize"], sampler=optuna.samplers.RandomSampler(seed=1))
    study.set_metric_names(["accuracy", "latency"])
    study.optimize(both, n_trials=9)
    study.trials_dataframe().to_csv(HERE / "optuna_two_objectives.csv")


def mlflow() -> None:
    """`search_runs` as CSV and as JSON."""
    import mlflow

    with tempfile.TemporaryDirectory() as folder:
        os.environ["MLFLOW_ALLOW_FILE_STORE"] = "true"
        mlflow.set_tracking_uri(Path(folder, "mlruns").as_uri())
        mlflow.set_experiment("sweep")
        for i, c in enumerate(configs(9)):
            try:
                with mlflow.start_run(run_name=f"bold-{i}"):
                    mlflow.set_tag("mlflow.note.content", f"try {i}, with lr {c['lr']:.3g}")
                    mlflow.log_params({**c, "dataset": "small"})
                    if i == 4:
                        raise MemoryError("CUDA out of memory")
                    for e, value in enumerate(train(c)):
                        mlflow.log_metric("val_accuracy", value, step=e)
                        mlflow.log_metric("train_loss", 1.1 - 0.9 * value if value == value else value, step=e)
            except MemoryError:
                pass
        frame = mlflow.search_runs(experiment_names=["sweep"])
        for column in ("artifact_uri", "tags.mlflow.source.name", "tags.mlflow.user"):
            if column in frame:
                frame[column] = "somewhere"
        frame.to_csv(HERE / "mlflow.csv", index=False)
        frame.to_json(HERE / "mlflow.json", orient="records", indent=1)


def ray() -> None:
    """`ResultGrid.get_dataframe`, all results of all trials, and the folder of an experiment."""
    import pandas as pd
    import ray as package
    from ray import tune

    def trainable(config: dict[str, Any]) -> None:
        for value in train(config, 3):
            if config["layers"] == 4 and config["lr"] > 0.02:
                raise RuntimeError("CUDA out of memory")
            tune.report({"accuracy": value})

    package.init(num_cpus=1, include_dashboard=False, log_to_driver=False)
    with tempfile.TemporaryDirectory() as folder:
        tuner = tune.Tuner(
            trainable,
            param_space={"lr": tune.grid_search([1e-4, 1e-3, 1e-2, 3e-2, 1e-1]), "layers": tune.grid_search([2, 4])},
            run_config=tune.RunConfig(name="sweep", storage_path=folder, verbose=0),
        )
        grid = tuner.fit()
        grid.get_dataframe().to_csv(HERE / "ray.csv", index=False)
        done = [r for r in grid if r.metrics_dataframe is not None]
        frames = [r.metrics_dataframe.assign(**{f"config/{k}": v for k, v in r.config.items()}) for r in done]
        pd.concat(frames).to_csv(HERE / "ray_all_results.csv")
        pack(Path(folder, "sweep"), "ray_results", "params.json|result.json|progress.csv")
    package.shutdown()


def sklearn() -> None:
    """`cv_results_` of a grid with None, of a random search with a fit that fails, and of successive halving."""
    import pandas as pd
    from scipy.stats import loguniform
    from sklearn.datasets import make_classification
    from sklearn.experimental import enable_halving_search_cv  # noqa: F401
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GridSearchCV, HalvingGridSearchCV, RandomizedSearchCV
    from sklearn.svm import SVC
    from sklearn.tree import DecisionTreeClassifier

    x, y = make_classification(120, random_state=0)
    grid = {"max_depth": [2, 4, None], "criterion": ["gini", "entropy"], "max_features": ["sqrt", 0.5, 3]}
    found = GridSearchCV(DecisionTreeClassifier(random_state=0), grid, cv=3).fit(x, y).cv_results_
    pd.DataFrame(found).to_csv(HERE / "sklearn_grid.csv")
    space = {"C": loguniform(1e-3, 1e3), "penalty": ["l1", "l2"], "solver": ["lbfgs", "liblinear"]}
    search = RandomizedSearchCV(
        LogisticRegression(), space, n_iter=14, cv=3, random_state=0, scoring=["accuracy", "neg_log_loss"], refit=False
    )
    pd.DataFrame(search.fit(x, y).cv_results_).to_csv(HERE / "sklearn_random.csv", index=False)
    two = [{"kernel": ["linear"], "C": [0.1, 1, 10]}, {"kernel": ["rbf"], "C": [0.1, 1, 10], "gamma": [0.01, 0.1]}]
    found = GridSearchCV(SVC(), two, cv=3, return_train_score=True).fit(x, y).cv_results_
    pd.DataFrame(found).to_csv(HERE / "sklearn_two_grids.csv", index=False)
    grid = {"max_depth": [1, 2, 3, 4, 5, 6], "min_samples_leaf": [1, 5]}
    halving = HalvingGridSearchCV(DecisionTreeClassifier(random_state=0), grid, random_state=0, cv=2)
    pd.DataFrame(halving.fit(x, y).cv_results_).to_csv(HERE / "sklearn_halving.csv", index=False)


def syne_tune() -> None:
    """`results.csv.zip` and `metadata.json` of an experiment with ASHA, and its frame as CSV."""
    script = tempfile.mkdtemp()
    Path(script, "train.py").write_text(
        "import argparse, time\nfrom syne_tune import Reporter\np = argparse.ArgumentParser()\n"
        "for name, kind in (('lr', float), ('layers', int), ('optimizer', str), ('epochs', int)):\n"
        "    p.add_argument('--' + name, type=kind)\na, _ = p.parse_known_args()\nreport = Reporter()\n"
        "for e in range(a.epochs):\n    time.sleep(.05)\n"
        "    report(epoch=e + 1, accuracy=(.9 - abs(a.lr - .01)) * (1 - .5 ** (e + 1)) + .01 * a.layers)\n"
    )
    from syne_tune import StoppingCriterion, Tuner
    from syne_tune.backend import LocalBackend
    from syne_tune.config_space import choice, loguniform, randint
    from syne_tune.experiments import load_experiment
    from syne_tune.optimizer.baselines import ASHA

    space = {"lr": loguniform(1e-4, 1e-1), "layers": randint(1, 4), "optimizer": choice(["adam", "sgd"]), "epochs": 4}
    tuner = Tuner(
        trial_backend=LocalBackend(entry_point=str(Path(script, "train.py"))),
        scheduler=ASHA(space, metric="accuracy", time_attr="epoch", max_t=4, do_minimize=False, random_seed=1),
        stop_criterion=StoppingCriterion(max_num_trials_finished=8),
        n_workers=2, tuner_name="sweep", sleep_time=0.05, print_update_interval=1000,
    )  # fmt: skip
    tuner.run()
    made = load_experiment(tuner.name)
    shutil.copy(made.path / "results.csv.zip", HERE / "syne_tune.results.csv.zip")
    shutil.copy(made.path / "metadata.json", HERE / "syne_tune.metadata.json")
    made.results.to_csv(HERE / "syne_tune.csv")


def wandb() -> None:
    """Offline runs: the summary and configuration that each leaves, and the frame of the guide on exporting data."""
    import pandas as pd
    import wandb

    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        for i, c in enumerate(configs(8)):
            told = {**c, "dataset": "small"}
            run = wandb.init(project="sweep", mode="offline", dir=folder, config=told, name=f"glad-{i}")
            for e, value in enumerate(train(c)):
                run.log({"val/accuracy": value, "epoch": e})
            rows.append({"summary": dict(run.summary), "config": dict(run.config), "name": run.name})
            run.finish()
    pd.DataFrame(rows).to_csv(HERE / "wandb_api.csv")


HYDRA = """
import json, pathlib, hydra
from hydra.core.hydra_config import HydraConfig
from omegaconf import OmegaConf
import sys; sys.path.insert(0, {here!r})
from make import train

@hydra.main(version_base=None, config_path=None, config_name="config")
def main(c):
    if c.optimizer.name == "sgd" and c.optimizer.lr > .05:
        raise MemoryError("out of memory")
    out = pathlib.Path(HydraConfig.get().runtime.output_dir)
    curve = train({{"lr": c.optimizer.lr, "layers": c.layers}})
    (out / "results.json").write_text(json.dumps({{"metrics": {{"accuracy": curve[-1], "seconds": 3.5 * c.layers}}}}))

from hydra.core.config_store import ConfigStore
ConfigStore.instance().store(name="config", node={{"optimizer": {{"name": "adam", "lr": .01}}, "layers": 1}})
main()
"""


def hydra() -> None:
    """A multirun by the local launcher, and one by Submitit's."""
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder, "app.py")
        script.write_text(HYDRA.format(here=str(HERE)))
        for name, launcher in (("hydra", "basic"), ("hydra_submitit", "submitit_local")):
            out = Path(folder, name)
            words = [sys.executable, str(script), "-m", f"hydra/launcher={launcher}", f"hydra.sweep.dir={out}",
                     "optimizer.lr=.001,.01,.1", "optimizer.name=adam,sgd", "layers=1,2"]  # fmt: skip
            subprocess.run(words, check=False, capture_output=True, env={**os.environ, "PYTHONPATH": str(HERE)})
            pack(out, name, "overrides.yaml|config.yaml|results.json")


TOOLS = {f.__name__: f for f in (hydra, mlflow, optuna, ray, sklearn, syne_tune, wandb)}

if __name__ == "__main__":
    for tool in sys.argv[1:] or TOOLS:
        TOOLS[tool]()
