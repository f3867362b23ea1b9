"""The model of tune_sklearn.py with Syne Tune, which starts a process a trial: python tune_sklearn_synetune.py."""

import argparse

from syne_tune import Reporter, StoppingCriterion, Tuner
from syne_tune.backend import LocalBackend
from syne_tune.config_space import choice, loguniform
from syne_tune.optimizer.baselines import CQR
from tune_sklearn import train

SPACE = {"C": loguniform(1e-2, 1e3), "gamma": loguniform(1e-5, 1e-1), "kernel": choice(["rbf", "sigmoid"])}

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--C", type=float)
    parser.add_argument("--gamma", type=float)
    parser.add_argument("--kernel")
    config, _ = parser.parse_known_args()
    if config.C is not None:  # a trial
        Reporter()(score=train({"C": config.C, "gamma": config.gamma, "kernel": config.kernel}))
    else:
        tuner = Tuner(
            LocalBackend(__file__),
            CQR(SPACE, metric="score", do_minimize=False),
            StoppingCriterion(max_num_trials_finished=40),
            n_workers=4,
        )
        tuner.run()
        config = tuner.best_config()[1]
        print(train(config), config)
