"""Tunes a support vector machine with four workers; stopped or killed, it goes on: python tune_sklearn.py mine/."""

import sys

import hpo_envs


def train(config: dict) -> float:
    """Mean accuracy in three folds."""
    from sklearn import datasets, model_selection, svm

    return model_selection.cross_val_score(svm.SVC(**config), *datasets.load_digits(return_X_y=True), cv=3).mean()


SPACE = {"C": (1e-2, 1e3, "log"), "gamma": (1e-5, 1e-1, "log"), "kernel": ["rbf", "sigmoid"]}

if __name__ == "__main__":
    print(hpo_envs.tune(train, SPACE, budget=40, workers=4, out=sys.argv[1]))
