"""Searches with scikit-learn's interface (`fit`, `best_estimator_`, `cv_results_`), for pipelines and any scorer."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.model_selection import check_cv
from sklearn.model_selection._search import BaseSearchCV  # its `_run_search` is where custom searches belong
from sklearn.utils import check_random_state

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
        random_state: Seed of the agent.
        scoring: See `RandomizedSearchCV`, as for all below; with several metrics, `refit` names the one to maximise.
        n_jobs: Number of parallel fits: the folds of one configuration, or of several if jobs are left.
        refit: See `scoring`.
        cv: See `scoring`.
        verbose: See `scoring`.
        pre_dispatch: See `scoring`.
        error_score: See `scoring`.
        return_train_score: See `scoring`.
    """

    def __init__(
        self, estimator: Any, space: Any, *, n_iter: int = 20, agent: Any = None, out: Any = None,
        random_state: Any = None, scoring: Any = None, n_jobs: int | None = None, refit: Any = True, cv: Any = None,
        verbose: int = 0, pre_dispatch: Any = "2*n_jobs", error_score: Any = np.nan, return_train_score: bool = False,
    ) -> None:  # fmt: skip
        given = {"scoring": scoring, "n_jobs": n_jobs, "refit": refit, "cv": cv, "verbose": verbose}
        given |= {"pre_dispatch": pre_dispatch, "error_score": error_score, "return_train_score": return_train_score}
        super().__init__(estimator=estimator, **given)
        self.space, self.n_iter, self.agent, self.out, self.random_state = space, n_iter, agent, out, random_state

    def _run_search(self, evaluate_candidates: Callable[..., dict[str, Any]]) -> None:
        """Evaluate the configurations that the agent suggests; scikit-learn's hook for custom searches."""
        from joblib import effective_n_jobs

        self._seed = int(check_random_state(self.random_state).randint(10**9))
        self._splits: list[tuple[Any, Any]] = []
        self._failed: ValueError | None = None
        known = isinstance(self.space, Mapping)
        space = {name: _ranged(value) for name, value in self.space.items()} if known else self.space
        given = {"agent": self.agent, "budget": self.n_iter, "out": self.out, "seed": self._seed, "tolerate": True}
        with Search(space, **given) as search:
            if len(search.result):
                raise ValueError(
                    f"out must be a folder without a search, got {self.out}: cv_results_ needs all its fits"
                )
            together, last = 1, None
            while not search.done:
                trials = [search.ask()]
                while len(trials) < together and not search.done:
                    trials.append(search.ask())
                last = self._evaluate(evaluate_candidates, search, trials) or last
                if last is not None:
                    together = max(1, effective_n_jobs(self.n_jobs) // self._folds(last))
            if last is None and self._failed is not None:
                raise self._failed

    def _evaluate(
        self, evaluate_candidates: Callable[..., dict[str, Any]], search: Search, trials: list[Trial]
    ) -> dict[str, Any] | None:
        """Evaluate some trials and report their scores; return all results so far, or None if every fit failed."""
        results = self._fit(evaluate_candidates, [t.config for t in trials], 1.0)
        for trial, score in zip(trials, self._scores(results, len(trials)), strict=True):
            search.tell(trial, score) if np.isfinite(score) else search.tell(
                trial, error=self._failed or "score is NaN"
            )
        return results

    def _fit(
        self, evaluate_candidates: Callable[..., dict[str, Any]], configs: list[dict[str, Any]], fraction: float
    ) -> dict[str, Any] | None:
        """Fit to a fraction of the training sets; return all results so far, or None if every fit failed."""
        part = TrainingPart(self, fraction)
        try:
            return evaluate_candidates(configs, part, {"train_fraction": [fraction] * len(configs)})
        except ValueError as error:
            if "fits failed" not in str(error) or self.error_score == "raise":
                raise
            self._failed = error
            return None

    def _scores(self, results: dict[str, Any] | None, count: int) -> list[float]:
        """Return the mean test scores of the last `count` candidates; NaN without results."""
        if results is None:
            return [np.nan] * count
        metric = f"mean_test_{self.refit}" if isinstance(self.refit, str) else "mean_test_score"
        if metric not in results:
            raise ValueError(f"refit must name the metric to maximise where there are several, got {self.refit!r}")
        return [float(score) for score in results[metric][-count:]]

    @staticmethod
    def _folds(results: dict[str, Any]) -> int:
        return len({name.partition("_")[0] for name in results if name.startswith("split")})


class HalvingTuneSearchCV(TuneSearchCV):
    """Variant of `TuneSearchCV` that first fits configurations to a small part of the training set.

    Each part is three times as large as the previous one; a configuration continues while its score is in the best
    third of those on the same part. The best one is chosen on the whole set. `cv_results_` has the column
    `train_fraction`.
    """

    def _evaluate(
        self, evaluate_candidates: Callable[..., dict[str, Any]], search: Search, trials: list[Trial]
    ) -> dict[str, Any] | None:
        results: dict[str, Any] | None = None
        if trials[0].number == 0:
            self._reached: list[list[float]] = [[] for _ in range(LEVELS)]
        for trial in trials:
            for level in range(LEVELS):
                fraction = REDUCTION ** (level + 1.0 - LEVELS)
                results = self._fit(evaluate_candidates, [trial.config], fraction)
                (score,) = self._scores(results, 1)
                self._reached[level].append(score)
                better = sum(other > score for other in self._reached[level])
                if np.isnan(score) or better >= max(1, len(self._reached[level]) // REDUCTION):
                    break
            search.tell(trial, score) if np.isfinite(score) else search.tell(
                trial, error=self._failed or "score is NaN"
            )
        return results

    @staticmethod
    def _select_best_index(refit: Any, refit_metric: str, results: dict[str, Any]) -> int:
        if callable(refit):
            return int(BaseSearchCV._select_best_index(refit, refit_metric, results))
        fraction = np.asarray(results["train_fraction"])
        scores = np.where(fraction == fraction.max(), results[f"mean_test_{refit_metric}"], -np.inf)
        return int(np.nanargmax(scores))


LEVELS, REDUCTION = 3, 3
"""Number and ratio of the parts of the training set that `HalvingTuneSearchCV` fits: 1/9, 1/3, all of it."""


class TrainingPart:
    """Splitter whose training sets are random subsets of a search's training sets, the same in every call.

    Args:
        search: Search whose `cv` is divided.
        fraction: Fraction of each training set and class; at least two rows of a class remain, if it has them.
    """

    def __init__(self, search: TuneSearchCV, fraction: float) -> None:
        self._search, self._fraction = search, fraction

    def split(self, X: Any, y: Any = None, groups: Any = None, **given: Any) -> Iterator[tuple[Any, Any]]:
        """Yield the training and test indices of each split."""
        search = self._search
        if not search._splits:
            default = check_cv(search.cv, y, classifier=is_classifier(search.estimator))
            cv = getattr(search, "_checked_cv_orig", default)  # which has drawn the splits of an iterator
            search._splits = [*cv.split(X, y, **({} if groups is None else {"groups": groups}), **given)]
        labels = np.asarray(y) if is_classifier(search.estimator) and np.ndim(y) == 1 else np.zeros(_rows(X))
        rng = np.random.default_rng(search._seed)
        for train, test in search._splits:
            mixed = rng.permutation(train)
            yield train if self._fraction == 1.0 else np.sort(_part(mixed, labels[mixed], self._fraction)), test


def _rows(X: Any) -> int:
    return int(X.shape[0] if hasattr(X, "shape") else len(X))


def _part(rows: Any, labels: Any, fraction: float) -> Any:
    """Return the first rows of each class up to a fraction, at least two if the class has them."""
    _, classes, counts = np.unique(labels, return_inverse=True, return_counts=True)
    order = np.argsort(classes, kind="stable")
    within = np.empty(len(rows))
    within[order] = np.concatenate([np.arange(count) for count in counts])
    place = np.where(within < 2.0, within - 2.0, within / counts[classes])
    return rows[np.argsort(place, kind="stable")[: max(2 * len(counts), round(fraction * len(rows)))]]


def _ranged(value: Any) -> Any:
    """Convert a frozen distribution of SciPy to a range; return anything else unchanged."""
    name = getattr(getattr(value, "dist", None), "name", "")
    if name not in ("uniform", "loguniform", "reciprocal", "randint"):
        return value
    low, high = value.support()
    return (int(low), int(high)) if name == "randint" else (float(low), float(high), *(["log"] * (name != "uniform")))
