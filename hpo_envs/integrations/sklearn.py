"""Searches with scikit-learn's interface (`fit`, `best_estimator_`, `cv_results_`), for pipelines and any scorer."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import is_classifier
from sklearn.model_selection import check_cv
from sklearn.model_selection._search import BaseSearchCV  # its `_run_search` is where custom searches belong
from sklearn.utils import check_random_state

from hpo_envs.core.params import check_int
from hpo_envs.tables.checks import scalar
from hpo_envs.tuning.search import Search
from hpo_envs.tuning.trial import Trial


class TuneSearchCV(BaseSearchCV):  # type: ignore[misc]
    """Cross-validated search of an estimator's parameters by an agent, in place of `RandomizedSearchCV`.

    Args:
        estimator: Estimator or pipeline.
        space: Search space, as in `tune`: `{"C": (1e-3, 1e3, "log"), "kernel": ["rbf", "poly"]}`; frozen `uniform`,
            `loguniform` and `randint` of SciPy are ranges, too.
        n_iter: Number of configurations.
        agent: See `tune`.
        out: Folder of the record, which must hold no search; None: nothing is stored.
        random_state: Seed of the agent, or a `RandomState` that draws it.
        scoring: See `RandomizedSearchCV`, as for all others; with several metrics, `refit` names the one to maximise.
        n_jobs: Number of parallel fits: the folds of one configuration, or of several if jobs are left.
        cv: See `scoring`; all configurations have the same splits.
        error_score: See `scoring`; a configuration is a failed evaluation if its mean score is not finite, and not in
            `cv_results_` if every fit fails.
    """

    _fractions: tuple[float, ...] = (1.0,)

    def __init__(
        self, estimator: Any, space: Any, *, n_iter: int = 20, agent: Any = None, out: Any = None,
        random_state: Any = None, scoring: Any = None, n_jobs: int | None = None, refit: Any = True, cv: Any = None,
        verbose: int = 0, pre_dispatch: Any = "2*n_jobs", error_score: Any = np.nan, return_train_score: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(estimator, scoring=scoring, n_jobs=n_jobs, refit=refit, cv=cv, verbose=verbose,
            pre_dispatch=pre_dispatch, error_score=error_score, return_train_score=return_train_score)  # fmt: skip
        self.space, self.n_iter, self.agent, self.out, self.random_state = space, n_iter, agent, out, random_state

    def _run_search(self, evaluate_candidates: Callable[..., dict[str, Any]]) -> None:
        """Evaluate the configurations that the agent suggests; scikit-learn's hook for custom searches."""
        check_int("n_iter", scalar(self.n_iter))
        self._seed = int(check_random_state(self.random_state).randint(10**9))
        self._splits, self._results, self._error = list[tuple[Any, Any]](), dict[str, Any](), ValueError("score is NaN")
        space = {k: _ranged(v) for k, v in self.space.items()} if isinstance(self.space, Mapping) else self.space
        given = {"agent": self.agent, "budget": self.n_iter, "out": self.out, "seed": self._seed, "tolerate": True}
        reached, together = {fraction: list[float]() for fraction in self._fractions}, 1
        with Search(space, **given) as search:
            if len(search.result):
                raise ValueError(f"out must be a folder without a search, got {self.out}: cv_results_ needs all fits")
            while trials := [t for t in (search.begin() for _ in range(together)) if t is not None]:
                for fraction, scores in reached.items():
                    fits, trials = zip(trials, self._fit(evaluate_candidates, trials, fraction), strict=True), []
                    for trial, score in fits:
                        scores.append(score)
                        best = sum(other > score for other in scores) < max(1, len(scores) // 3)
                        if best and fraction < 1.0 and np.isfinite(score):
                            trials.append(trial)  # to be fitted to the next part
                        else:
                            search.tell(trial, score, error=None if np.isfinite(score) else self._error)
                together = max(1, effective_n_jobs(self.n_jobs) // len(self._splits))
        if not self._results:
            raise self._error

    def _fit(self, evaluate: Callable[..., dict[str, Any]], trials: list[Trial], fraction: float) -> list[float]:
        """Fit to a fraction of each training set; return mean test scores, `error_score` if every fit fails."""
        if not trials:
            return []
        cv, more = SimpleNamespace(split=partial(self._split, fraction)), {"train_fraction": [fraction] * len(trials)}
        try:
            self._results = evaluate([t.config for t in trials], cv, more)
        except ValueError as error:
            if "fits failed" not in str(error) or self.error_score == "raise":
                raise
            self._error = error
            return [float(self.error_score)] * len(trials)
        metric = f"mean_test_{self.refit if isinstance(self.refit, str) else 'score'}"
        if metric not in self._results:
            raise ValueError(f"refit must name the metric to maximise where there are several, got {self.refit!r}")
        return [float(score) for score in self._results[metric][-len(trials) :]]

    def _split(self, fraction: float, X: Any, y: Any, **given: Any) -> Iterator[tuple[Any, Any]]:
        """Yield each split of `cv`, the same in every call, with a random fraction of each class to train on."""
        classes = is_classifier(self.estimator)
        if not self._splits:
            default = check_cv(self.cv, y, classifier=classes)
            cv = getattr(self, "_checked_cv_orig", default)  # which has drawn the splits of an iterator
            self._splits = [*cv.split(X, y, **given)]
        rng = np.random.default_rng(self._seed)
        for train, test in self._splits:
            rows = rng.permutation(train)
            labels = np.asarray(y)[rows] if classes and np.ndim(y) == 1 else np.zeros(len(rows))
            part = [r[: max(2, round(fraction * len(r)))] for r in (rows[labels == k] for k in np.unique(labels))]
            yield train if fraction == 1.0 else np.sort(np.concatenate(part)), test


class HalvingTuneSearchCV(TuneSearchCV):
    """Variant of `TuneSearchCV` that first fits configurations to a small part of the training set.

    Parts are 1/9, 1/3 and all of it, with at least two rows of each class; a configuration continues while its score is
    in the best third of those so far on the same part. The best one is chosen among those fitted to the whole set.
    `cv_results_` has a row for each part that a configuration was fitted to, and the column `train_fraction`.
    """

    _fractions = (1 / 9, 1 / 3, 1.0)

    @staticmethod
    def _select_best_index(refit: Any, refit_metric: str, results: dict[str, Any]) -> int:
        if callable(refit):
            return int(BaseSearchCV._select_best_index(refit, refit_metric, results))
        fraction = np.asarray(results["train_fraction"])
        scores = np.where(fraction == fraction.max(), results[f"mean_test_{refit_metric}"], -np.inf)
        return int(np.argmax(np.nan_to_num(scores, nan=-np.inf)))


def _ranged(value: Any) -> Any:
    """Convert a frozen distribution of SciPy to a range; return anything else unchanged."""
    name = getattr(getattr(value, "dist", None), "name", "")
    if name not in ("uniform", "loguniform", "reciprocal", "randint"):
        return value
    low, high = value.support()
    return (int(low), int(high)) if name == "randint" else (float(low), float(high), *(["log"] * (name != "uniform")))
