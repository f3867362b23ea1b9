"""Training of the agent `learned-policy`: `python -m hpo_envs.benchmarks.learned.policy`.

Writes `policy.npz`, and `policy.csv` with the regret on validation languages, on which early stopping is based.
"""

import argparse
import functools
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPRegressor

from hpo_envs.agents.models import candidate_set
from hpo_envs.agents.models.gp.sources import SourceGP, source_gp
from hpo_envs.agents.models.gp.stacked import START, distance, scaled
from hpo_envs.agents.transfer import learned, policy_file
from hpo_envs.agents.transfer.policy_file import SourceNetworks
from hpo_envs.benchmarks.tasks import pools as table_pools
from hpo_envs.benchmarks.tasks.pools import TaskPool
from hpo_envs.benchmarks.tasks.sampled import Draws, SampledTasks
from hpo_envs.tables import screen
from hpo_envs.tables.files import atomic
from hpo_envs.tables.table import Floats
from hpo_envs.wrappers import for_training

FEATURES = ("prior", "stacked")
"""Features of the policy: predictions of source tasks, and the Gaussian process of `learned`."""

OBJECTIVES = {"NMTHPO": "bleu", "CharHPO": "accuracy"}

SKIP = 4.0
"""Weight of the last column before training, which makes probabilities proportional to expected improvement."""

CANDIDATES, ENVS, COPIES, EVALUATIONS = 64, 64, 8, 20

UNITS, CROSSED = 16, 4000
"""Units of the networks that imitate source tasks, and number of crossovers added to their tables."""

EVERY, LOOKS = 4, 128
"""Updates between two validations, and number of validation episodes."""


def with_sources(pools: Sequence[TaskPool]) -> list[TaskPool]:
    """Return each pool with predictions of source tasks: Gaussian processes of other pools.

    These have the same features and no common language; a pool without such others is unchanged.
    """
    found = []
    for pool in pools:
        others = [o for o in pools if o.feature_names == pool.feature_names and not {*o.languages} & {*pool.languages}]
        if others:
            models, fitted = learned.fit_sources([(o.x, o.y) for o in others])
            distances = np.array([distance(o.x, pool.x) for o in others])
            predictions = np.array([m.predict(pool.x) for m in models])
            pool = replace(pool, predictions=predictions, distances=distances, fitted=fitted)
        found.append(pool)
    return found


@functools.cache
def usable(family: str) -> tuple[TaskPool, ...]:
    """Return the task pools of a family's tables, scored by its metric in `OBJECTIVES`; cached."""
    return tuple(table_pools.pools((family,), objective=OBJECTIVES[family]))


def prior(family: str) -> SourceNetworks:
    """Return networks that imitate Gaussian processes, each of which is fitted to one usable table of a family."""
    pools = usable(family)
    models = [source_gp(p.x, p.y) for p in pools]
    networks = np.stack([imitation(p.x, m) for p, m in zip(pools, models, strict=True)])
    spaces = [[p.x.mean(axis=0), p.x.std(axis=0), m.lengths] for p, m in zip(pools, models, strict=True)]
    return SourceNetworks(pools[0].feature_names, tuple(p.languages for p in pools), networks, np.array(spaces))


def imitation(x: Floats, model: SourceGP) -> Floats:
    """Return a network fitted to a model's predictions on (n, d) features and crossovers of them.

    The columns of its (UNITS, d + 2) weights are those of the inputs, the bias and the output, as in `SourceNetworks`.
    """
    rng = np.random.default_rng(0)
    one, other = x[rng.integers(len(x), size=(2, CROSSED))]
    points = np.concatenate([x, np.where(rng.random(one.shape) < 0.5, one, other)])
    settings: dict[str, Any] = {"activation": "tanh", "solver": "lbfgs", "alpha": 1e-2, "max_iter": 400}
    network = MLPRegressor(hidden_layer_sizes=(UNITS,), random_state=0, **settings)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        network.fit(2.0 * points - 1.0, scaled(model.predict(points)))
    (into, out), bias = network.coefs_, network.intercepts_[0]
    return np.concatenate([into.T, bias[:, None], out], axis=1)


def fit(weights: learned.LearnedNumbers, seed: int, steps: int, log: list[dict[str, Any]]) -> policy_file.PolicyWeights:
    """Train weights for `steps` evaluations, rounded up to whole updates; return the best on validation languages.

    The tables and hyperparameters of the training are those of `weights` (of the agent `learned`). The seed also draws
    the validation languages; `log` gets a record of each validation between updates.
    """
    pools = [p for family in OBJECTIVES for p in usable(family) if {*p.languages} <= weights.languages]
    languages = sorted({x for p in pools for x in p.languages if p.name.startswith("charhpo")})
    kept = set(np.random.default_rng(seed).permutation(languages)[: -(-len(languages) // 4)].tolist())
    train = with_sources([p for p in pools if not kept & {*p.languages}])
    stop = [p for p in with_sources(pools) if kept & {*p.languages}]
    numbers = dict(zip(START, weights.numbers.mean(axis=0).tolist(), strict=True))
    as_used = Draws((0.8, 0.8), 0.0, 0.0, 0.0, (0.9, 0.0))
    tasks = SampledTasks(ENVS, train, CANDIDATES, EVALUATIONS, Draws(sources=(0.8, 0.25)), COPIES)
    envs, looks = (
        for_training(e, CANDIDATES, FEATURES, numbers=numbers)
        for e in (tasks, SampledTasks(LOOKS, stop, CANDIDATES, EVALUATIONS, as_used))
    )
    random = f"{regret(None, looks)[0]:.4f}"
    found, best = [], []
    begun, updates = time.process_time(), -(-steps // (ENVS * EVALUATIONS))

    def look(mean: Floats) -> tuple[float, float]:
        score = regret(mean, looks)
        best.append((score[0] + 0.5 * score[1], mean))
        return score

    for update, w in enumerate(iterates(candidate_set.width(FEATURES), envs, updates, seed)):
        found.append(w)
        if update % EVERY == 0 or update == updates:
            anytime, final = look(np.mean(found[update // 2 :], axis=0))
            record = {"weights": weights.name, "seed": seed, "steps": update * ENVS * EVALUATIONS}
            record |= {"anytime": f"{anytime:.4f}", "final": f"{final:.4f}", "random": random}
            log.append(record | {"cpu_seconds": f"{time.process_time() - begun:.1f}"})
            print(*log[-1].values(), flush=True)
    trained = min(best, key=lambda pair: pair[0])[1]
    for factor in (2.0, 4.0, 8.0):  # larger weights are less random
        look(factor * trained)
    shipped = min(best, key=lambda pair: pair[0])[1].astype(np.float32)
    seen = frozenset(x for p in pools for x in p.languages)
    return policy_file.PolicyWeights(
        weights.name, seen, FEATURES, CANDIDATES, 0, ({"skip.weight": shipped[None]},), numbers=numbers
    )


def iterates(width: int, envs: Any, updates: int, seed: int) -> Iterator[Floats]:
    """Yield the (width,) weights before the first and after each update, which plays an episode in each of `envs`.

    The Kullback-Leibler divergence of an update falls linearly from 0.03 towards 0.
    """
    w, rng, (observation, _) = np.eye(width)[-1] * SKIP, np.random.default_rng(seed), envs.reset(seed=seed)
    yield w
    for update in range(updates):
        gradients, advantages, observation = play(w, envs, observation, rng)
        w = w + natural_step(gradients, advantages, 0.03 * (1 - update / updates))
        yield w


def probabilities(w: Floats, observation: dict[str, Any]) -> Floats:
    """Return the (E, n) probabilities of candidates: proportional to exp(w' columns), 0 if evaluated or padding."""
    scores = np.where(observation["mask"] > 0.5, observation["candidates"] @ w, -np.inf)
    p = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(p / p.sum(axis=1, keepdims=True))


def sample(p: Floats, rng: np.random.Generator) -> npt.NDArray[np.intp]:
    """Sample (E,) indices of candidates from (E, n) probabilities."""
    drawn = (p.cumsum(axis=1) < rng.random((len(p), 1))).sum(axis=1)
    return np.asarray(np.minimum(drawn, p.shape[1] - 1), np.intp)


def play(w: Floats, envs: Any, observation: Any, rng: np.random.Generator) -> tuple[Floats, Floats, Any]:
    """Play an episode in each of E environments; return gradients, advantages and the next observation.

    Gradients are those of the log probabilities, (steps * E, columns); advantages are (steps * E,), relative to the
    mean of an episode's `COPIES`.
    """
    gradients, gains = [], []
    for _ in range(EVALUATIONS):
        p = probabilities(w, observation)
        actions = sample(p, rng)
        columns = observation["candidates"]
        gradients.append(columns[np.arange(len(p)), actions] - (p[:, None] @ columns)[:, 0])
        observation, gain, *_ = envs.step(actions)
        gains.append(gain)
    # A gain counts in the mean of the best rewards so far from its step on, and half in the last one.
    late = np.arange(EVALUATIONS, 0, -1)[:, None] / EVALUATIONS + 0.5
    returns = np.cumsum((np.array(gains) * late)[::-1], axis=0)[::-1].reshape(EVALUATIONS, -1, COPIES)
    return np.concatenate(gradients), (returns - returns.mean(axis=2, keepdims=True)).ravel(), observation


def natural_step(gradients: Floats, advantages: Floats, divergence: float) -> Floats:
    """Return the (columns,) step along the natural gradient with a given Kullback-Leibler divergence."""
    # With the ridge, weights of nearly constant columns change little.
    fisher = gradients.T @ gradients / len(gradients) + 0.2 * np.eye(gradients.shape[1])
    gradient = gradients.T @ advantages / len(gradients)
    direction = np.linalg.solve(fisher, gradient)
    return np.asarray(np.sqrt(2.0 * divergence / max(float(gradient @ direction), 1e-12)) * direction)


def regret(w: Floats | None, envs: Any) -> tuple[float, float]:
    """Return the mean and final normalised regret of weights (None: random search) over the same episodes each time."""
    rng, (observation, _) = np.random.default_rng(0), envs.reset(seed=0)
    gained, lost = np.zeros(envs.num_envs), []
    w = np.zeros(observation["candidates"].shape[2]) if w is None else w
    for _ in range(envs.unwrapped.budget):
        observation, rewards, *_ = envs.step(sample(probabilities(w, observation), rng))
        gained += rewards
        lost.append(1.0 - gained.mean())
    return float(np.mean(lost)), float(lost[-1])


@screen.on()
def main(arguments: Sequence[str] | None = None) -> None:
    """Train the selected weights; write them, networks of source tasks and a log of the validation."""
    parser = argparse.ArgumentParser(prog="python -m hpo_envs.benchmarks.learned.policy", description=__doc__)
    groups = {w.name: w for w in learned.shipped()}
    parser.add_argument("--only", choices=list(groups), help="one group of tables instead of all")
    parser.add_argument("--steps", type=int, default=30_720, help="of each training (default: %(default)s)")
    parser.add_argument("--seeds", type=int, default=3, help="trainings of each group (default: %(default)s)")
    parser.add_argument("--out", type=Path, default=Path("runs/policy"), help="folder (default: %(default)s)")
    args = parser.parse_args(arguments)
    log: list[dict[str, Any]] = []
    made = []
    for name, weights in groups.items():
        if args.only in (None, name):
            trained = [fit(weights, seed, args.steps, log) for seed in range(args.seeds)]
            made.append(replace(trained[0], members=tuple(t.members[0] for t in trained)))
    args.out.mkdir(parents=True, exist_ok=True)
    policy_file.write(args.out / "policy.npz", made, [prior(family) for family in OBJECTIVES])
    atomic.write_csv(args.out / "policy.csv", log, tuple(log[0]))


if __name__ == "__main__":
    main()
