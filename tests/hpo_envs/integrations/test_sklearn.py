"""Searches with scikit-learn's interface: its own checks, and usual arguments of searches."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from joblib import parallel_config
from scipy.stats import loguniform, randint
from sklearn.datasets import load_digits, make_classification
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GroupKFold, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import check_estimator

from hpo_envs import load
from hpo_envs.integrations.sklearn import HalvingTuneSearchCV, TuneSearchCV
from tests.helpers import WIDE, rejects

X, Y = make_classification(150, 6, random_state=0)
SPACE: dict[str, Any] = {"C": (1e-3, 1e3, "log"), "kernel": ["rbf", "linear"]}
GIVEN: dict[str, Any] = {"n_iter": 2, "random_state": 0, "agent": "random", "cv": 2}


KINDS = [(TuneSearchCV, LogisticRegression(), "C"), (HalvingTuneSearchCV, LogisticRegression(), "C")]
KINDS += [(TuneSearchCV, Ridge(), "alpha"), (HalvingTuneSearchCV, Ridge(), "alpha")]
UNMET = {"check_supervised_y_2d": "DataConversionWarning is not caught, as of GridSearchCV"}


@pytest.mark.skipif(not WIDE, reason="takes minutes: nightly")
@pytest.mark.parametrize("kind, estimator, name", KINDS)
def test_checks_of_scikit_learn_pass(kind: Any, estimator: Any, name: str) -> None:
    search = kind(estimator, {name: (1e-2, 1e2, "log")}, error_score="raise", **{**GIVEN, "n_iter": 1})
    found = check_estimator(search, on_skip=None, expected_failed_checks=UNMET)
    assert sum(result["status"] == "passed" for result in found) > 40


def test_results_are_those_of_searches_of_scikit_learn(tmp_path: Path) -> None:
    pipeline = make_pipeline(StandardScaler(), SVC())
    space = {"svc__C": loguniform(1e-3, 1e3), "svc__gamma": (1e-4, 1, "log"), "standardscaler": [MinMaxScaler(), None]}
    space |= {"svc__degree": randint(2, 4)}
    given: dict[str, Any] = {"random_state": 1, "cv": KFold(3, shuffle=True), "n_jobs": 2, "return_train_score": True}
    with parallel_config("threading"):
        search = TuneSearchCV(pipeline, space, n_iter=8, out=tmp_path, **given).fit(X, Y)
    results = search.cv_results_
    assert len(results["params"]) == 8
    assert {"mean_fit_time", "std_test_score", "split2_train_score", "rank_test_score"} <= results.keys()
    assert results["rank_test_score"][search.best_index_] == 1
    assert search.best_score_ == results["mean_test_score"].max() > 0.8
    assert (search.predict(X).shape, search.best_estimator_["svc"].C) == (Y.shape, search.best_params_["svc__C"])
    tuned = load(tmp_path)
    assert [e.metrics["score"] for e in tuned] == results["mean_test_score"].tolist()
    assert {e.config["svc__degree"] for e in tuned} <= {2, 3}
    with pytest.raises(ValueError, match="out must be a folder without a search"):
        search.fit(X, Y)


def test_groups_weights_and_several_metrics_are_passed_on() -> None:
    groups = np.arange(len(X)) % 5
    given: dict[str, Any] = {"cv": GroupKFold(5), "scoring": ["accuracy", "roc_auc"], "n_iter": 4, "random_state": 0}
    search = TuneSearchCV(LogisticRegression(), {"C": (1e-3, 1e3, "log")}, refit="roc_auc", **given)
    search.fit(X, Y, groups=groups, sample_weight=np.linspace(0.1, 1.0, len(X)))
    assert search.best_score_ == search.cv_results_["mean_test_roc_auc"].max()
    with pytest.raises(ValueError, match="refit must name the metric to maximise where there are several, got False"):
        search.set_params(refit=False).fit(X, Y, groups=groups)


def test_failing_fits_are_failed_evaluations_unless_all_fail(tmp_path: Path) -> None:
    space = {"criterion": ["gini", "wrong"], "max_depth": (1, 6)}
    search = TuneSearchCV(DecisionTreeClassifier(), space, n_iter=8, random_state=0).fit(X, Y)
    assert search.best_params_["criterion"] == "gini"
    tuned = TuneSearchCV(DecisionTreeClassifier(), space, n_iter=8, random_state=0, error_score=0.25, out=tmp_path)
    scores = {e.config["criterion"]: e.metrics["score"] for e in load(tuned.fit(X, Y).out)}
    assert scores["wrong"] == 0.25 < scores["gini"] == tuned.cv_results_["mean_test_score"][-1]
    with pytest.raises(ValueError, match="All the 5 fits failed"):
        TuneSearchCV(DecisionTreeClassifier(), {"max_depth": (-3, -1)}, n_iter=3).fit(X, Y)


def test_halving_fits_few_configurations_on_all_data() -> None:
    x, y = load_digits(return_X_y=True)
    search = HalvingTuneSearchCV(SVC(), {**SPACE, "gamma": (1e-6, 1e-1, "log")}, n_iter=12, random_state=0, cv=3)
    search.fit(x[:600], y[:600])
    fraction, score = np.array(search.cv_results_["train_fraction"]), search.cv_results_["mean_test_score"]
    counts = [int((fraction == f).sum()) for f in (1 / 9, 1 / 3, 1.0)]
    assert counts[0] == 12 > counts[1] >= counts[2] >= 1
    assert fraction[search.best_index_] == 1.0
    for (whole, _), (train, _) in zip(*(search._split(f, x[:600], y[:600]) for f in (1.0, 1 / 9)), strict=True):
        assert {*train} <= {*whole}
        assert np.bincount(y[train]).tolist() == [max(2, round(n / 9)) for n in np.bincount(y[whole])]
    assert search.best_score_ == score[fraction == 1.0].max() > 0.9


@pytest.mark.parametrize("wrong", [0, 2.5, None])
def test_number_of_configurations_is_checked(wrong: Any) -> None:
    search = TuneSearchCV(LogisticRegression(), SPACE, n_iter=wrong)
    rejects("n_iter must be an int >= 1, got", search.fit, X, Y)


def test_scores_that_are_all_nan_do_not_end_halving() -> None:
    given: dict[str, Any] = {"n_iter": 3, "cv": 3, "random_state": 0, "scoring": lambda *_: np.nan}
    with pytest.warns(UserWarning, match="non-finite"):
        search = HalvingTuneSearchCV(LogisticRegression(), {"C": np.logspace(-3, 3, 7)}, **given).fit(X, Y)
    assert np.isnan(search.best_score_)
