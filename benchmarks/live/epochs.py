"""Optimizers compared with early stopping: trainings of 27 epochs under a budget of epochs.

    python -m hpo_envs.benchmarks.live.epochs run --seeds 5-24
    python -m hpo_envs.benchmarks.live.epochs table

A run has a line of `epochs.csv` for its budget and each smaller one of `SCORED`; stored runs are not repeated. Only
DEHB resumes stopped trainings; the epochs before the stop are not paid again.
"""

import contextlib
import datetime
import logging
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from hpo_envs.agents.external.syne_tune import domain
from hpo_envs.agents.problem import Axis
from hpo_envs.benchmarks.live import study
from hpo_envs.benchmarks.live.curves import EPOCHS, TRAININGS, CurveProblem
from hpo_envs.benchmarks.live.optimisers import active_of, suggested
from hpo_envs.benchmarks.live.problems import Config
from hpo_envs.tables import screen
from hpo_envs.tables.checks import extra_module, one_of
from hpo_envs.tables.user.space import axes_of, space_of, to_configspace
from hpo_envs.tuning.trial import Trial
from hpo_envs.tuning.tune import tune

SCORED = (405, 135)
"""Numbers of epochs after which runs are scored; the first is the default budget."""


class SpentError(Exception):
    """The budget is used up."""


class EpochBudget:
    """The trainings of a run within a budget of epochs; `seed` determines the noise of the observed scores."""

    def __init__(self, problem: CurveProblem, seed: int, epochs: int) -> None:
        self._problem, self._seed, self._epochs = problem, seed, epochs
        self._curves: list[Any] = []
        self.trace: list[tuple[int, int, float]] = []  # (training, epoch, observed score) of each epoch
        self.configs: list[Config] = []  # of each training

    def begin(self, config: Config) -> int:
        """Begin a training; return its index in `configs`."""
        self.configs.append(dict(config))
        self._curves.append(enumerate(self._problem.curve(config), 1))
        return len(self.configs) - 1

    def step(self, training: int) -> float:
        """Continue a training (its index) for an epoch; return the observed score.

        Raises:
            SpentError: No epoch of the budget is left.
        """
        if len(self.trace) == self._epochs:
            raise SpentError
        epoch, score = next(self._curves[training])
        noise = self._problem.noise * np.random.default_rng([self._seed, training, epoch]).standard_normal()
        observed = float(score + noise)
        self.trace.append((training, epoch, observed))
        return observed

    def final(self, epochs: int) -> float:
        """Return the fully trained score, without noise, of the configuration chosen after `epochs` epochs.

        That is the configuration with the best last score among those trained for the most epochs.
        """
        last = {training: (epoch, score) for training, epoch, score in self.trace[:epochs]}
        return self._problem.function(self.configs[max(last, key=lambda training: last[training])])


def by_tune(budget: EpochBudget, problem: CurveProblem, seed: int, epochs: int, stopping: bool) -> None:
    """Run `tune` on a function that reports each epoch or, without early stopping, returns the last score."""

    def train(config: Config, trial: Trial) -> None:
        training = budget.begin(config)
        while not trial.should_stop and len(trial.curve) < EPOCHS:
            trial.report(budget.step(training))

    def whole(config: Config) -> float:
        training = budget.begin(config)
        return [budget.step(training) for _ in range(EPOCHS)][-1]

    given: dict[str, Any] = {"seed": seed, "progress": False}
    if stopping:
        tune(train, problem.search_space, epochs=EPOCHS, budget=epochs, **given)
    else:
        tune(whole, problem.search_space, budget=epochs // EPOCHS, **given)


def by_optuna(budget: EpochBudget, problem: CurveProblem, seed: int, epochs: int, pruned: bool) -> None:
    """Run Optuna's TPE, with or without `HyperbandPruner`."""
    optuna = extra_module("optuna", "optuna", "live studies")
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    pruner = optuna.pruners.HyperbandPruner(1, EPOCHS, 3) if pruned else optuna.pruners.NopPruner()
    space = space_of(problem.search_space)

    def train(trial: Any) -> float:
        training = budget.begin(active_of(space, lambda h: suggested(trial, h)))
        for epoch in range(1, EPOCHS + 1):
            score = budget.step(training)
            trial.report(score, epoch)
            if epoch < EPOCHS and trial.should_prune():
                raise optuna.TrialPruned
        return score

    sampler = optuna.samplers.TPESampler(seed=seed)
    search = optuna.create_study(direction="maximize", sampler=sampler, pruner=pruner)
    search.optimize(train, n_trials=epochs, n_jobs=1)


def by_syne_tune(budget: EpochBudget, problem: CurveProblem, seed: int, epochs: int, scheduler: str) -> None:
    """Run a scheduler of Syne Tune; conditions of hyperparameters are not passed on."""
    from syne_tune.backend import trial_status

    spaces = extra_module("syne_tune.config_space", "syne_tune", "live studies")
    baselines = extra_module("syne_tune.optimizer.baselines", "syne_tune", "live studies")
    logging.getLogger("syne_tune").setLevel(logging.ERROR)
    space = space_of(problem.search_space)
    domains = {axis["name"]: domain(spaces, Axis(**axis)) for axis in axes_of(space)}
    made = getattr(baselines, scheduler)
    search = made(domains, metric="score", time_attr="epoch", max_t=EPOCHS, do_minimize=False, random_seed=seed)
    for number in range(epochs):
        trial = trial_status.Trial(number, search.suggest().config, datetime.datetime.fromtimestamp(0))
        search.on_trial_add(trial)
        training = budget.begin(active_of(space, lambda h, given=trial.config: given[h.name]))  # type: ignore[misc]
        for epoch in range(1, EPOCHS + 1):
            result = {"score": budget.step(training), "epoch": epoch}
            if epoch == EPOCHS:
                search.on_trial_complete(trial, result)
            elif search.on_trial_result(trial, result) != "CONTINUE":
                search.on_trial_remove(trial)
                break


def by_dehb(budget: EpochBudget, problem: CurveProblem, seed: int, epochs: int) -> None:
    """Run DEHB; a configuration that is suggested again, such as a promoted one, continues its training."""
    dehb = extra_module("dehb", "dehb", "live studies")
    space = space_of(problem.search_space)
    with tempfile.TemporaryDirectory() as folder:
        search = dehb.DEHB(
            cs=to_configspace(space), min_fidelity=1, max_fidelity=EPOCHS, eta=3, n_workers=1, seed=seed,
            output_path=folder, log_level="ERROR", save_freq="end",
        )  # fmt: skip
        search.logger.remove()
        begun: dict[Any, tuple[int, list[float]]] = {}
        while True:
            job = search.ask()
            config = {k: v.item() if isinstance(v, np.generic) else v for k, v in dict(job["config"]).items()}
            key = tuple(sorted(config.items()))
            if key not in begun:
                begun[key] = budget.begin(config), []
            training, scores = begun[key]
            while len(scores) < round(job["fidelity"]):
                scores.append(budget.step(training))
            search.tell(job, {"fitness": -scores[round(job["fidelity"]) - 1], "cost": float(job["fidelity"])})


METHODS: dict[str, tuple[Callable[..., None], tuple[Any, ...]]] = {
    "tune": (by_tune, (True,)), "tune-whole": (by_tune, (False,)), "tpe-hyperband": (by_optuna, (True,)),
    "tpe": (by_optuna, (False,)), "syne-asha": (by_syne_tune, ("ASHA",)), "syne-bohb": (by_syne_tune, ("BOHB",)),
    "dehb": (by_dehb, ()),
}  # fmt: skip
"""Methods: function and further arguments. Syne Tune 0.16 has no MOBSTER."""


def play(problem: CurveProblem, optimiser: str, epochs: int, seed: int) -> list[study.ShortRow]:
    """Run a method within a budget of epochs; return rows for it and for the smaller ones of `SCORED`, ascending.

    Raises:
        ValueError: The method is unknown.
        RuntimeError: The method ended before the budget was used up.
    """
    budget, (method, given) = EpochBudget(problem, seed, epochs), METHODS[one_of("optimisers", optimiser, METHODS)]
    with contextlib.suppress(SpentError):
        method(budget, problem, seed, epochs, *given)
    if len(budget.trace) != epochs:
        raise RuntimeError(f"{optimiser} must use {epochs} epochs, got {len(budget.trace)}")
    scored = [b for b in sorted({epochs, *SCORED}) if b <= epochs]
    return [study.ShortRow(problem.name, optimiser, b, seed, budget.final(b)) for b in scored]


@screen.on()
def main() -> None:
    """Run the command."""
    study.command(__doc__, Path(__file__).with_name("epochs.csv"), METHODS, TRAININGS, SCORED, play)


if __name__ == "__main__":
    main()
