"""The classifiers of the joint space, on weights of n-grams."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.decomposition import TruncatedSVD
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import BernoulliNB, ComplementNB, MultinomialNB
from sklearn.svm import LinearSVC

from hpo_envs.tables import Floats, Ints, draws, exact

Classifier = tuple[Callable[[Any], Ints], int]
"""Function from (texts, n-grams) weights to (texts,) class indices, and the size of the model: parameters (of linear
models, those that are not 0) and tree nodes."""

PASSES, BATCH, BITS, DECIMALS = 50, 64, 12, 9
"""Largest number of passes of a linear model; texts of an update; significant bits of derivatives; decimals of scores,
so that equal scores are equal on every processor."""


def fit(x: sparse.csr_matrix, y: Ints, config: Mapping[str, Any], key: int) -> Classifier:
    """Train the classifier of a configuration.

    Args:
        x: (texts, n-grams) weights.
        y: (texts,) class indices, each of which occurs.
        config: Natural values of the hyperparameters.
        key: Key of the random draws.
    """
    return _FITS[config["classifier"]](x, y, config, key)


def _best(scores: Floats) -> Ints:
    scores = np.round(scores, DECIMALS)
    return (scores > 0).astype(np.int64) if scores.ndim == 1 else scores.argmax(axis=1)


def _linear(model: Any, x: Any, y: Ints) -> Classifier:
    model.fit(x, y)
    parts = getattr(model, "estimators_", [model])
    size = sum(int(np.count_nonzero(np.round(part.coef_, DECIMALS)) + part.intercept_.size) for part in parts)
    return (lambda z: _best(model.decision_function(z))), size


def _logistic(x: Any, y: Ints, config: Mapping[str, Any], key: int) -> Classifier:
    weight = "balanced" if config["logistic_balanced"] else None
    one = LogisticRegression(
        solver="liblinear", dual=True, C=config["logistic_c"], class_weight=weight, max_iter=PASSES,
        random_state=key % 2**31,
    )  # fmt: skip
    return _linear(one if y.max() == 1 else OneVsRestClassifier(one), x, y)


def _svm(x: Any, y: Ints, config: Mapping[str, Any], key: int) -> Classifier:
    loss, seed = config["svm_loss"], key % 2**31
    return _linear(LinearSVC(C=config["svm_c"], loss=loss, dual=True, max_iter=PASSES, random_state=seed), x, y)


def _bayes(x: Any, y: Ints, config: Mapping[str, Any], key: int) -> Classifier:
    kinds = {"multinomial": MultinomialNB, "complement": ComplementNB, "bernoulli": BernoulliNB}
    model = kinds[config["bayes_kind"]](alpha=config["bayes_alpha"]).fit(x, y)
    return (lambda z: _best(model.predict_joint_log_proba(z))), model.feature_log_prob_.size


def _lsa(x: Any, size: int, key: int) -> tuple[Callable[[Any], Floats], int]:
    """Return a function from weights to (texts, `size` or fewer) latent semantic vectors, and its number of weights.

    A single n-gram is complemented by one that no text has, since the analysis needs two.
    """

    def wide(z: Any) -> Any:
        return sparse.csr_matrix((z.data, z.indices, z.indptr), (z.shape[0], max(2, z.shape[1])))

    size = max(1, min(size, min(wide(x).shape) - 1))
    model = TruncatedSVD(size, n_iter=3, random_state=key % 2**31).fit(wide(x))
    return (lambda z: model.transform(wide(z))), model.components_.size


def _neighbours(x: Any, y: Ints, config: Mapping[str, Any], key: int) -> Classifier:
    lsa, size = _lsa(x, config["neighbours_size"], key)
    kept, classes = _unit(lsa(x)), np.eye(y.max() + 1)[y]

    def predict(z: Any) -> Ints:
        alike = np.round(_unit(lsa(z)) @ kept.T, DECIMALS)
        near = np.argsort(-alike, axis=1, kind="stable")[:, : config["neighbours_count"]]
        votes = np.take_along_axis(alike, near, 1) if config["neighbours_weighted"] else np.ones(near.shape)
        return _best((votes[..., None] * classes[near]).sum(axis=1))

    return predict, size + kept.size


def _unit(x: Floats) -> Floats:
    return np.asarray(x / np.maximum(np.sqrt((x * x).sum(axis=1, keepdims=True)), 1e-12))


def _boosting(x: Any, y: Ints, config: Mapping[str, Any], key: int) -> Classifier:
    lsa, size = _lsa(x, config["boosting_size"], key)
    model = HistGradientBoostingClassifier(
        learning_rate=config["boosting_rate"], max_iter=config["boosting_rounds"], early_stopping=False,
        max_leaf_nodes=config["boosting_leaves"], min_samples_leaf=5, random_state=key % 2**31,
    ).fit(np.round(lsa(x), DECIMALS), y)  # fmt: skip
    nodes = sum(len(tree.nodes) for trees in model._predictors for tree in trees)

    def predict(z: Any) -> Ints:
        return _best(model.decision_function(np.round(lsa(z), DECIMALS)))

    return predict, size + nodes


def _forest(x: Any, y: Ints, config: Mapping[str, Any], key: int) -> Classifier:
    features = 0.1 if config["forest_features"] == "tenth" else config["forest_features"]
    model = RandomForestClassifier(
        config["forest_trees"], max_features=features, min_samples_leaf=config["forest_leaf"], random_state=key % 2**31
    ).fit(x, y)
    nodes = sum(int(tree.tree_.node_count) for tree in model.estimators_)
    return (lambda z: _best(model.predict_proba(z))), nodes


def _embeddings(x: Any, y: Ints, config: Mapping[str, Any], key: int) -> Classifier:
    """Train a softmax on weighted sums of learned vectors (Joulin et al. 2017) by AdaGrad on rounded derivatives."""
    size, right = config["embeddings_size"], np.eye(y.max() + 1)[y]
    u = draws.uniform_many(draws.sequence(np.array([key], np.uint64), x.shape[1] * size))
    vectors, output = (2.0 * u.reshape(-1, size) - 1.0) / size, np.zeros((size, right.shape[1]))
    moments = [np.full(part.shape, 1e-6) for part in (vectors, output)]
    for epoch in range(config["embeddings_epochs"]):
        order = draws.sequence(np.array([draws.mix(key, epoch)], np.uint64), len(y))
        for rows in np.array_split(np.argsort(order, kind="stable"), -(-len(y) // BATCH)):
            part = x[rows]
            seen, part.indices = np.unique(part.indices, return_inverse=True)
            part = sparse.csr_matrix((part.data, part.indices, part.indptr), (len(rows), len(seen)))
            hidden = part @ vectors[seen]
            wrong = (_softmax(hidden @ output) - right[rows]) / len(rows)
            slopes = [part.T @ (wrong @ output.T), hidden.T @ wrong]
            places: tuple[Any, ...] = (seen, slice(None))
            for weights, moment, slope, at in zip((vectors, output), moments, slopes, places, strict=True):
                rounded = exact.rounded(slope, BITS)
                moment[at] += rounded * rounded
                weights[at] -= config["embeddings_rate"] * rounded / np.sqrt(moment[at])
    return (lambda z: _best(z @ vectors @ output)), vectors.size + output.size


def _softmax(scores: Floats) -> Floats:
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))


_FITS = {
    "logistic": _logistic, "svm": _svm, "bayes": _bayes, "neighbours": _neighbours, "boosting": _boosting,
    "forest": _forest, "embeddings": _embeddings,
}  # fmt: skip
