"""Problems to tune: analytic and simulated functions, scikit-learn's models on its data sets, ids of this suite."""

import functools
import hashlib
import math
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np
from sklearn import datasets, preprocessing
from sklearn.decomposition import PCA
from sklearn.ensemble import GradientBoostingRegressor, HistGradientBoostingRegressor, RandomForestClassifier
from sklearn.feature_selection import SelectKBest
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import RidgeClassifier, SGDClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

import hpo_envs.families.registry  # noqa: F401  its import registers the ids
from hpo_envs.tables.table import Hyperparameter
from hpo_envs.tables.user.space import Points

Config = Mapping[str, Any]


@dataclass(frozen=True)
class LiveProblem:
    """A function to maximise; `name` is its name in results."""

    name: str
    space: Any  # as in `hpo_envs.tune`, or an `Id` that has one
    function: Callable[[Config], float]  # score without noise; higher is better
    noise: float = 0.0  # standard deviation of the normal noise of observed scores

    @property
    def search_space(self) -> Any:
        """The search space; that of an id is loaded on first use, together with its table."""
        return self.space.space if isinstance(self.space, Id) else self.space

    def observed(self, config: Config, seed: int, evaluation: int) -> tuple[float, float]:
        """Return the observed score, with noise seeded by problem, seed and evaluation, and the score without noise."""
        score = float(self.function(config))
        if not self.noise:
            return score, score
        key = hashlib.sha256(f"{self.name}:{seed}:{evaluation}".encode()).digest()
        return score + self.noise * np.random.default_rng(list(key)).standard_normal(), score


def branin(x: float, y: float) -> float:
    """Branin's function (Dixon and Szego 1978) on [-5, 10] x [0, 15], negated: maximum -0.397887."""
    curve = y - 5.1 / (4.0 * math.pi**2) * x * x + 5.0 / math.pi * x - 6.0
    return -(curve**2 + 10.0 * (1.0 - 1.0 / (8.0 * math.pi)) * math.cos(x) + 10.0)


_HARTMANN_ALPHA = np.array([1.0, 1.2, 3.0, 3.2])
_HARTMANN_A = np.array(
    [[10, 3, 17, 3.5, 1.7, 8], [0.05, 10, 17, 0.1, 8, 14], [3, 3.5, 1.7, 10, 17, 8], [17, 8, 0.05, 10, 0.1, 14]]
)
_HARTMANN_P = 1e-4 * np.array(
    [[1312, 1696, 5569, 124, 8283, 5886], [2329, 4135, 8307, 3736, 1004, 9991],
     [2348, 1451, 3522, 2883, 3047, 6650], [4047, 8828, 8732, 5743, 1091, 381]]
)  # fmt: skip


def hartmann6(config: Config) -> float:
    """Hartmann's function of six variables in [0, 1] (Dixon and Szego 1978): maximum 3.32237."""
    x = np.array([config[f"x{j}"] for j in range(6)])
    return float(_HARTMANN_ALPHA @ np.exp(-(_HARTMANN_A * (x - _HARTMANN_P) ** 2).sum(axis=1)))


def levy(config: Config) -> float:
    """Levy's function (Laguna and Marti 2005) of variables in [-10, 10], negated: maximum 0 where all are 1."""
    w = 1.0 + (np.array([*config.values()]) - 1.0) / 4.0
    middle = ((w[:-1] - 1.0) ** 2 * (1.0 + 10.0 * np.sin(math.pi * w[:-1] + 1.0) ** 2)).sum()
    last = (w[-1] - 1.0) ** 2 * (1.0 + math.sin(2.0 * math.pi * w[-1]) ** 2)
    return -float(math.sin(math.pi * w[0]) ** 2 + middle + last)


def ellipsoid(config: Config) -> float:
    """Negative log10 of an ellipsoid of sixteen variables with weights from 1 to 100 and an off-centre maximum of 3."""
    x = np.array([config[f"x{j:02d}"] for j in range(16)])
    centre = 0.5 + 0.35 * np.cos(1.0 + 2.0 * np.arange(16))
    return -math.log10(1e-3 + float((100.0 ** (np.arange(16) / 15.0) * (x - centre) ** 2).sum()))


def shifted_branin(config: Config) -> float:
    """Branin's function with integers on one axis; a category shifts the other axis and the score."""
    shift, offset = {"a": (0.0, 0.0), "b": (2.5, -15.0), "c": (-3.0, -5.0), "d": (5.0, -40.0)}[config["kind"]]
    return branin(config["x"] + shift, config["y"]) + offset


def schedule(config: Config) -> float:
    """Simulated accuracy of a training: a ridge in log learning rate and batch size, which the optimizer shifts."""
    best = {"sgd": -1.2, "adam": -3.0, "lamb": -2.4}[config["optimizer"]]
    top = {"sgd": 0.93, "adam": 0.92, "lamb": 0.90}[config["optimizer"]]
    offset = math.log10(config["lr"]) - best - 0.5 * math.log10(config["batch"] / 64.0)
    loss = 0.12 * offset**2 if offset < 0 else 0.12 * offset**2 + 0.6 * max(0.0, offset - 0.7)
    if config["optimizer"] == "sgd":
        loss += 0.25 * (config["momentum"] - 0.9) ** 2 + (0.02 if not config["nesterov"] else 0.0)
    if config["optimizer"] == "adam":
        loss += 0.02 * (math.log10(1.0 - config["beta2"]) + 2.5) ** 2
    loss += 0.01 * (math.log10(config["weight_decay"]) + 4.0) ** 2 + 0.3 * (config["dropout"] - 0.2) ** 2
    loss += 0.004 * (config["layers"] - 6) ** 2 + 0.05 * (config["warmup"] - 0.06) ** 2 / 0.01
    return float(max(0.0, top - loss))


@functools.cache
def halves(name: str, rows: int) -> tuple[np.ndarray, ...]:
    """Return features (standardised), targets, features, targets: two random halves of `rows` rows of `load_{name}`."""
    x, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(x))[:rows]
    x, y, half = preprocessing.StandardScaler().fit_transform(x[order]), y[order], rows // 2
    return x[:half], y[:half], x[half:], y[half:]


def _score(model: Any, name: str, rows: int) -> float:
    """Return the mean accuracy (of classifiers) or R^2 of a model in two-fold cross-validation on `halves`."""
    x, y, v, w = halves(name, rows)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return 0.5 * float(model.fit(x, y).score(v, w) + model.fit(v, w).score(x, y))


def svm_digits(config: Config, data: str = "digits", rows: int = 300) -> float:
    """Accuracy of a support vector machine on 300 digits, or on `rows` rows of other data."""
    return _score(SVC(**config, max_iter=5000), data, rows)


def network_wine(config: Config) -> float:
    """Accuracy of a multilayer perceptron after 8 epochs on the wine data; 0 if its weights diverge."""
    given = dict(config)
    layers = (given.pop("units"),) * given.pop("layers")
    try:
        return _score(MLPClassifier(layers, max_iter=8, random_state=0, **given), "wine", 178)
    except ValueError as error:
        if "non-finite" not in str(error):
            raise
        return 0.0


def neighbours_digits(config: Config) -> float:
    """Accuracy of nearest neighbours in principal components of 300 digits."""
    given = dict(config)
    pca = PCA(given.pop("components"), whiten=given.pop("whiten"), random_state=0, svd_solver="full")
    return _score(make_pipeline(pca, KNeighborsClassifier(**given)), "digits", 300)


def valleys(config: Config) -> float:
    """Rastrigin's function (1974) of eight integers, negated: maximum 0, off centre; a local one every fourth step."""
    z = np.array([config[f"n{j}"] for j in range(8)]) - np.array([-9, 6, 3, -14, 11, -2, 7, -6])
    return -float((z * z / 16.0 + 5.0 * (1.0 - np.cos(0.5 * math.pi * z))).sum())


def tiles(config: Config) -> float:
    """Minus the simulated loss of throughput (log2) of a tiled matrix product, by edges, cache, vectors and threads."""
    size = {"m": 500, "n": 360, "k": 1000}
    ragged = sum(math.log2(math.ceil(size[a] / config[a]) * config[a] / size[a]) for a in size)
    bytes_used = 8 * (config["m"] * config["k"] + config["k"] * config["n"] + config["m"] * config["n"])
    missed = max(0.0, math.log2(bytes_used / 32768)) + 0.3 * max(0.0, math.log2(32768 / bytes_used))
    vectors = 0.5 * math.log2(math.ceil(config["n"] / 8) * 8 / config["n"]) + 0.1 * (config["k"] % config["unroll"])
    threads = config["threads"]
    left = math.log2(math.ceil(48 / threads) * threads / 48) + 0.2 * abs(threads - 12) / 12
    return -float(2.0 * ragged + 0.5 * missed + vectors + left + 0.05 * (config["prefetch"] - 5) ** 2 / 5)


def styblinski5(config: Config) -> float:
    """Function of Styblinski and Tang (1990) of five variables, negated: maximum 195.830829 where all are -2.903534."""
    x = np.array([config[f"x{j}"] for j in range(5)])
    return -0.5 * float((x**4 - 16.0 * x**2 + 5.0 * x).sum())


def policy(config: Config) -> float:
    """Simulated return of a trained policy, at most 100; the best learning rate depends on batch size and network."""
    rate, entropy = math.log10(config["lr"]), math.log10(config["entropy"])
    wanted = -3.2 + 0.4 * math.log2(config["batch"] / 256.0) / 3.0 - (0.5 if config["network"] == "gru" else 0.0)
    misfit = (rate - wanted) ** 2 / 0.8 + (entropy + 2.3) ** 2 / 3.0 + (math.log10(1.0 - config["gamma"]) + 2.0) ** 2
    misfit += (config["clip"] - 0.2) ** 2 / 0.1 + 0.05 * abs(config["epochs"] - 6)
    misfit += {"mlp": 0.1, "gru": 0.0, "cnn": 0.5}[config["network"]]
    return 100.0 * math.exp(-misfit)


def sparse30(config: Config) -> float:
    """-log(1 + Branin) of two of fourteen real numbers; one of eight integers and one of eight choices matter, too."""
    value = branin(15.0 * config["r03"] - 5.0, 15.0 * config["r10"])
    choice = {"a": 1.5, "b": 0.7, "c": 0.0, "d": 2.0}[config["c5"]]
    return float(-math.log1p(-value) - 0.1 * (config["i2"] - 9) ** 2 - choice)


def _table(name: str, *shape: int) -> np.ndarray:
    return np.random.default_rng(list(hashlib.sha256(name.encode()).digest())).random(shape)


def mixed44(config: Config) -> float:
    """Function of 16 real numbers, 14 integers and 14 categories with decaying weights; some categories interact."""
    kinds, total = {"r": 16, "i": 14, "c": 14}, 0.0
    for kind, count in kinds.items():
        order, best = _table(kind, count).argsort(), 0.15 + 0.7 * _table(f"{kind} best", count)
        for k, j in enumerate(order.tolist()):
            value, weight = config[f"{kind}{j:02d}"], 0.75**k
            if kind == "c":
                neighbour = config[f"c{order[k - 1]:02d}"] if k % 3 == 1 else 0
                total += weight * _table(f"c{j}", 4, 4)[neighbour, value]
            else:
                value = value if kind == "r" else (value - 1) / 19.0
                total += 3.0 * weight * min((value - best[j]) ** 2, 0.2)
    return -total


def dense40(config: Config) -> float:
    """Function to which 16 real numbers, 12 integers and 12 categories all contribute; neighbours interact."""
    x = np.array([config[f"r{j:02d}"] for j in range(16)] + [config[f"i{j:02d}"] / 15.0 for j in range(12)])
    weight, best = 0.5 + _table("dense weight", 28), _table("dense best", 28)
    off = x - best
    kinds = [config[f"c{j:02d}"] for j in range(12)]
    chosen = sum(_table(f"dense {j}", 5)[kind] for j, kind in enumerate(kinds))
    chosen += sum(0.5 * _table(f"dense pair {j}", 5, 5)[kinds[j], kinds[j + 1]] for j in range(0, 12, 2))
    return -float((weight * off**2).sum() + 0.5 * (off[:-1] * off[1:]).sum() + 0.4 * chosen)


def branches(config: Config) -> float:
    """Function with six branches; each has two real variables of its own, and all share a third one."""
    k = "abcdef".index(config["branch"])
    x, y = config[f"{config['branch']}0"], config[f"{config['branch']}1"]
    height, centre = (0.6, 0.95, 0.7, 1.0, 0.8, 0.5)[k], 0.2 + 0.6 * _table("branches", 6, 2)[k]
    width = (0.4, 0.15, 0.3, 0.12, 0.25, 0.5)[k]
    hill = math.exp(-((x - centre[0]) ** 2 + (y - centre[1]) ** 2) / (2.0 * width**2))
    return float(height * (0.4 + 0.6 * hill) - 0.3 * (config["shared"] - 0.3 - 0.05 * k) ** 2)


def training_tree(config: Config) -> float:
    """Negative simulated loss of a training with nested choices: optimizer and its schedule, model and its norm."""
    loss = 0.03 * (config["epochs"] - 14) ** 2 / 14
    rate = math.log10(config["lr"]) + (3.0 if config["optimizer"] == "adam" else 1.0)
    loss += 0.25 * rate**2 + (0.2 if config["optimizer"] == "sgd" else 0.0)
    if config["optimizer"] == "sgd":
        loss += 0.4 * (math.log10(1.0 - config["momentum"]) + 1.3) ** 2
        if config["schedule"] == "step":
            loss += 0.15 + 0.1 * (config["drops"] - 3) ** 2 - 0.3 * math.exp(-((config["factor"] - 0.3) ** 2) / 0.02)
        elif config["schedule"] == "cosine":
            loss += 0.05 - 0.35 * math.exp(-((config["warmup"] - 0.1) ** 2) / 0.01)
    if config["model"] == "conv":
        loss += 0.3 * abs(math.log2(config["width"] / 48)) - 0.3 * (config["kernel_size"] == 5)
        if config["norm"] == "group":
            loss += 0.05 * abs(config["groups"] - 4) - 0.25
    elif config["model"] == "attention":
        loss += 0.2 * abs(config["heads"] - 6) / 2 + 0.1 * (config["depth"] - 4) ** 2 / 4 - 0.2
        loss += 0.5 * (config["dropout"] - 0.15) ** 2 / 0.02
    else:
        loss += 0.4
    return float(-loss)


def pipeline_digits(config: Config) -> float:
    """Accuracy of a pipeline on 300 digits: an optional reduction of the features, then one of four classifiers."""
    given = dict(config)
    reduction, classifier, steps = given.pop("reduction"), given.pop("classifier"), []
    if reduction == "pca":
        steps.append(PCA(given.pop("components"), whiten=given.pop("whiten"), random_state=0, svd_solver="full"))
    elif reduction == "best":
        steps.append(SelectKBest(k=given.pop("k")))
    if classifier == "svm":
        steps.append(SVC(**given, max_iter=5000))
    elif classifier == "neighbours":
        steps.append(KNeighborsClassifier(**given))
    elif classifier == "ridge":
        steps.append(RidgeClassifier(10.0 ** given["ridge"]))
    else:
        steps.append(DecisionTreeClassifier(**given, random_state=0))
    return _score(make_pipeline(*steps), "digits", 300)


class Id:
    """A function: the reward of a configuration on an id with box actions; `options` are those of `reset`."""

    def __init__(self, name: str, **options: Any) -> None:
        self.name, self.options = name, options

    @functools.cached_property
    def _env(self) -> Any:
        return gym.make(self.name, budget=None, disable_env_checker=True)

    @functools.cached_property
    def _points(self) -> Points:
        return Points(self.space)

    @property
    def space(self) -> tuple[Hyperparameter, ...]:
        """The search space of the id's only task under these options."""
        function = self._env.unwrapped.params.function
        (task,) = function.choose(self.options)
        space: tuple[Hyperparameter, ...] = function.spaces[task]
        return space

    def __call__(self, config: Config) -> float:
        """Return the reward of a configuration, the same at each call."""
        unit = self._points.unit(self._points.row(config)[None])[0]
        self._env.reset(seed=0, options=self.options)
        return float(self._env.step((2.0 * unit - 1.0).astype(np.float32))[1])


_X6 = {f"x{j}": (0.0, 1.0) for j in range(6)}
LEPOR = Id("CushLEPOR-ted-ende-v0")
TRANSDUCTION = Id("CharHPO-v0", table="g2p-dut-transformer")

# fmt: off
PROBLEMS: tuple[LiveProblem, ...] = (
    LiveProblem("branin", {"x": (-5.0, 10.0), "y": (0.0, 15.0)}, lambda c: branin(c["x"], c["y"])),
    LiveProblem("hartmann6", _X6, hartmann6),
    LiveProblem("hartmann6-noise", _X6, hartmann6, noise=0.2),
    LiveProblem("levy8", {f"x{j}": (-10.0, 10.0) for j in range(8)}, levy),
    LiveProblem("ellipsoid16", {f"x{j:02d}": (0.0, 1.0) for j in range(16)}, ellipsoid),
    LiveProblem("branin-shifts", {"kind": ["d", "a", "c", "b"], "x": (-5.0, 10.0), "y": (0, 15)}, shifted_branin),
    LiveProblem("schedule", {
        "optimizer": ["sgd", "adam", "lamb"], "lr": (1e-6, 1.0, "log"), "batch": (8, 1024, "log"),
        "momentum": {"low": 0.0, "high": 0.99, "if": {"optimizer": ["sgd"]}},
        "nesterov": {"choices": [False, True], "if": {"optimizer": ["sgd"]}},
        "beta2": {"low": 0.9, "high": 0.9999, "if": {"optimizer": ["adam"]}}, "weight_decay": (1e-7, 1e-1, "log"),
        "dropout": (0.0, 0.6), "layers": (1, 12), "warmup": (0.0, 0.3),
    }, schedule, noise=0.004),
    LiveProblem("svm-digits", {
        "kernel": ["rbf", "poly", "sigmoid", "linear"], "C": (1e-3, 1e3, "log"),
        "gamma": {"low": 1e-6, "high": 1.0, "log": True, "if": {"kernel": ["rbf", "poly", "sigmoid"]}},
        "degree": {"low": 2, "high": 5, "if": {"kernel": ["poly"]}},
        "coef0": {"low": -1.0, "high": 1.0, "if": {"kernel": ["poly", "sigmoid"]}},
    }, svm_digits),
    LiveProblem("forest-cancer", {
        "n_estimators": (4, 24, "log"), "max_depth": (1, 12), "max_features": (0.05, 1.0),
        "min_samples_leaf": (1, 30, "log"), "criterion": ["gini", "entropy"], "bootstrap": [False, True],
    }, lambda c: _score(RandomForestClassifier(**c, random_state=0), "breast_cancer", 300)),
    LiveProblem("boosting-diabetes", {
        "learning_rate": (1e-3, 1.0, "log"), "n_estimators": (5, 50, "log"), "max_depth": (1, 6),
        "subsample": (0.3, 1.0), "min_samples_leaf": (1, 40, "log"), "max_features": (0.1, 1.0),
        "loss": ["squared_error", "huber"], "alpha": {"low": 0.5, "high": 0.99, "if": {"loss": ["huber"]}},
    }, lambda c: _score(GradientBoostingRegressor(**c, random_state=0), "diabetes", 200)),
    LiveProblem("network-wine", {
        "layers": (1, 3), "units": (4, 64, "log"), "activation": ["relu", "tanh", "logistic"],
        "solver": ["adam", "sgd"], "learning_rate_init": (1e-4, 1.0, "log"), "alpha": (1e-6, 1.0, "log"),
        "batch_size": (4, 64, "log"), "momentum": {"low": 0.0, "high": 0.99, "if": {"solver": ["sgd"]}},
        "beta_1": {"low": 0.5, "high": 0.99, "if": {"solver": ["adam"]}},
    }, network_wine),
    LiveProblem("ridge-diabetes", {
        "kernel": ["linear", "rbf", "laplacian", "polynomial"], "alpha": (1e-4, 1e3, "log"),
        "gamma": {"low": 1e-5, "high": 10.0, "log": True, "if": {"kernel": ["rbf", "laplacian", "polynomial"]}},
        "degree": {"low": 1, "high": 4, "if": {"kernel": ["polynomial"]}},
        "coef0": {"low": 0.0, "high": 3.0, "if": {"kernel": ["polynomial"]}},
    }, lambda c: max(-1.0, _score(KernelRidge(**c), "diabetes", 200))),
    LiveProblem("neighbours-digits", {
        "components": (1, 50, "log"), "whiten": [False, True], "n_neighbors": (1, 60, "log"),
        "weights": ["uniform", "distance"], "metric": ["euclidean", "manhattan", "chebyshev", "cosine"],
    }, neighbours_digits),
    LiveProblem("linear-cancer", {
        "loss": ["hinge", "log_loss", "modified_huber", "perceptron"], "penalty": ["l2", "l1", "elasticnet"],
        "l1_ratio": {"low": 0.0, "high": 1.0, "if": {"penalty": ["elasticnet"]}}, "alpha": (1e-7, 1e-1, "log"),
        "learning_rate": ["optimal", "constant", "invscaling", "adaptive"],
        "eta0": {"low": 1e-5, "high": 1.0, "log": True,
         "if": {"learning_rate": ["constant", "invscaling", "adaptive"]}},
        "power_t": {"low": 0.1, "high": 0.9, "if": {"learning_rate": ["invscaling"]}}, "average": [False, True],
    }, lambda c: _score(SGDClassifier(**c, max_iter=5, tol=None, random_state=0), "breast_cancer", 569)),
    LiveProblem("cushlepor-ted-ende", LEPOR, LEPOR),
    LiveProblem("charhpo-g2p-dut", TRANSDUCTION, TRANSDUCTION),
    LiveProblem("styblinski5-noise", {f"x{j}": (-5.0, 5.0) for j in range(5)}, styblinski5, noise=60.0),
    LiveProblem("policy-noise", {
        "lr": (1e-5, 1e-1, "log"), "entropy": (1e-4, 1e-1, "log"), "gamma": (0.9, 0.999), "clip": (0.05, 0.8),
        "batch": (32, 4096, "log"), "epochs": (1, 20), "network": ["mlp", "gru", "cnn"],
    }, policy, noise=12.0),
    LiveProblem("valleys8", {f"n{j}": (-20, 20) for j in range(8)}, valleys),
    LiveProblem("tiles6", {
        "m": (1, 128, "log"), "n": (1, 128, "log"), "k": (1, 256, "log"), "unroll": (1, 16), "threads": (1, 32),
        "prefetch": (0, 16),
    }, tiles),
    LiveProblem("sparse30",
        {f"r{j:02d}": (0.0, 1.0) for j in range(14)}
        | {f"i{j}": (0, 12) for j in range(8)}
        | {f"c{j}": ["a", "b", "c", "d"] for j in range(8)}, sparse30),
    LiveProblem("mixed44",
        {f"r{j:02d}": (0.0, 1.0) for j in range(16)}
        | {f"i{j:02d}": (1, 20) for j in range(14)}
        | {f"c{j:02d}": {"choices": [0, 1, 2, 3]} for j in range(14)}, mixed44),
    LiveProblem("dense40",
        {f"r{j:02d}": (0.0, 1.0) for j in range(16)}
        | {f"i{j:02d}": (0, 15) for j in range(12)}
        | {f"c{j:02d}": {"choices": [0, 1, 2, 3, 4]} for j in range(12)}, dense40),
    LiveProblem("hartmann6-in-60", {f"x{j:02d}": (0.0, 1.0) for j in range(60)},
        lambda c: hartmann6({f"x{j}": c[f"x{9 * j + 4:02d}"] for j in range(6)})),
    LiveProblem("branches6",
        {"branch": [*"abcdef"], "shared": (0.0, 1.0)}
        | {f"{b}{k}": {"low": 0.0, "high": 1.0, "if": {"branch": [b]}} for b in "abcdef" for k in range(2)}, branches),
    LiveProblem("training-tree", {
        "optimizer": ["sgd", "adam"], "lr": (1e-5, 1.0, "log"),
        "momentum": {"low": 0.0, "high": 0.99, "if": {"optimizer": ["sgd"]}},
        "schedule": {"choices": ["none", "step", "cosine"], "if": {"optimizer": ["sgd"]}},
        "drops": {"low": 1, "high": 6, "if": {"schedule": ["step"]}},
        "factor": {"low": 0.05, "high": 0.9, "if": {"schedule": ["step"]}},
        "warmup": {"low": 0.0, "high": 0.5, "if": {"schedule": ["cosine"]}}, "model": ["mlp", "conv", "attention"],
        "width": {"low": 8, "high": 128, "log": True, "if": {"model": ["conv"]}},
        "kernel_size": {"choices": [3, 5, 7], "if": {"model": ["conv"]}},
        "norm": {"choices": ["batch", "group"], "if": {"model": ["conv"]}},
        "groups": {"low": 1, "high": 16, "if": {"norm": ["group"]}},
        "heads": {"low": 1, "high": 12, "if": {"model": ["attention"]}},
        "depth": {"low": 1, "high": 10, "if": {"model": ["attention"]}},
        "dropout": {"low": 0.0, "high": 0.6, "if": {"model": ["attention"]}}, "epochs": (1, 30),
    }, training_tree),
    LiveProblem("histboost-diabetes", {
        "learning_rate": (5e-3, 1.0, "log"), "max_iter": (3, 20), "max_leaf_nodes": (2, 31, "log"),
        "min_samples_leaf": (1, 40, "log"), "l2_regularization": (1e-6, 1e2, "log"), "max_features": (0.1, 1.0),
        "max_bins": (4, 255, "log"), "loss": ["squared_error", "absolute_error"],
    }, lambda c: max(-1.0, _score(
        HistGradientBoostingRegressor(**c, early_stopping=False, random_state=0), "diabetes", 200))),
    LiveProblem("pipeline-digits", {
        "reduction": ["none", "pca", "best"],
        "components": {"low": 2, "high": 50, "log": True, "if": {"reduction": ["pca"]}},
        "whiten": {"choices": [False, True], "if": {"reduction": ["pca"]}},
        "k": {"low": 2, "high": 60, "log": True, "if": {"reduction": ["best"]}},
        "classifier": ["tree", "ridge", "svm", "neighbours"],
        "max_depth": {"low": 1, "high": 12, "if": {"classifier": ["tree"]}},
        "min_samples_leaf": {"low": 1, "high": 30, "log": True, "if": {"classifier": ["tree"]}},
        "ridge": {"low": -4.0, "high": 5.0, "if": {"classifier": ["ridge"]}},
        "C": {"low": 1e-3, "high": 1e3, "log": True, "if": {"classifier": ["svm"]}},
        "kernel": {"choices": ["rbf", "poly"], "if": {"classifier": ["svm"]}},
        "gamma": {"low": 1e-6, "high": 1.0, "log": True, "if": {"kernel": ["rbf", "poly"]}},
        "degree": {"low": 2, "high": 5, "if": {"kernel": ["poly"]}},
        "n_neighbors": {"low": 1, "high": 60, "log": True, "if": {"classifier": ["neighbours"]}},
        "weights": {"choices": ["uniform", "distance"], "if": {"classifier": ["neighbours"]}},
    }, pipeline_digits),
)
# fmt: on
