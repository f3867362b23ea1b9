"""The model of tune_sklearn.py with Optuna: four processes share a journal. python tune_sklearn_optuna.py FILE."""

import multiprocessing
import sys

import optuna
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend
from optuna.study import MaxTrialsCallback
from tune_sklearn import train


def objective(trial: optuna.Trial) -> float:
    """Suggests a configuration and returns its score."""
    config = {name: trial.suggest_float(name, *ends, log=True) for name, ends in RANGES.items()}
    return train({**config, "kernel": trial.suggest_categorical("kernel", ["rbf", "sigmoid"])})


RANGES = {"C": (1e-2, 1e3), "gamma": (1e-5, 1e-1)}


def work(path: str, seed: int) -> None:
    """One of four processes; all stop when 40 trials are complete, or a few more."""
    storage = JournalStorage(JournalFileBackend(path))
    sampler = optuna.samplers.TPESampler(constant_liar=True, seed=seed)
    study = optuna.create_study(
        storage=storage, study_name="digits", direction="maximize", sampler=sampler, load_if_exists=True
    )
    study.optimize(objective, callbacks=[MaxTrialsCallback(40)])


if __name__ == "__main__":
    with multiprocessing.get_context("spawn").Pool(4) as pool:
        pool.starmap(work, [(sys.argv[1], seed) for seed in range(4)])
    study = optuna.load_study(study_name="digits", storage=JournalStorage(JournalFileBackend(sys.argv[1])))
    print(len(study.trials), "trials; best:", study.best_value, study.best_params)
