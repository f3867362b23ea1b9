"""Trains the weights of the agent `learned-policy`: `python -m hpo_envs.integrations.train_policy` (extra `rl`).

Writes `policy.npz`, and `policy.csv` and `policy-training.png`, the regret on languages kept for early stopping after
every few updates.
"""

from __future__ import annotations

import argparse
import functools
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from hpo_envs.agents.models.stacked_gp import START, distance
from hpo_envs.agents.transfer import learned, policy_file
from hpo_envs.agents.transfer.ridge import Prior
from hpo_envs.benchmarks import plots
from hpo_envs.integrations.sb3 import SB3VecEnv
from hpo_envs.tables.catalogue import canonical
from hpo_envs.tables.files import atomic
from hpo_envs.tasks import for_training, sampled
from hpo_envs.tasks.sampled import Draws, Pool, SampledTasks

FEATURES = ("observed", "posterior", "prior", "stacked")
"""What the network reads: nothing that names a family's hyperparameters."""

OBJECTIVES = {"NMTHPO": "bleu", "CharHPO": "accuracy"}

SKIP = 6.0
"""Training starts from the 1.5th power of the expected improvement of the stacked process."""

CANDIDATES, ENVS, BUDGET = 64, 64, 20

EVERY, LOOKS = 4, 64
"""Updates between two looks at the validation episodes, and their number."""


def with_sources(pools: Sequence[Pool]) -> list[Pool]:
    """Each pool twice: with Gaussian processes of those of other languages as source tasks, and with ridges of them."""
    found = []
    for pool in pools:
        others = [o for o in pools if o.feature_names == pool.feature_names and not {*o.languages} & {*pool.languages}]
        if not others:
            found.append(pool)
            continue
        models, fitted = learned.fit_sources([(o.x, o.y) for o in others])
        distances = np.array([distance(o.x, pool.x) for o in others])
        predictions = np.array([m.predict(pool.x) for m in models])
        found.append(replace(pool, predictions=predictions, distances=distances, fitted=fitted))
        prior = Prior.fit(pool.feature_names, frozenset(), [(o.x, o.y) for o in others])
        found.append(replace(pool, predictions=prior.predict(pool.x)[1:], distances=prior.distances(pool.x)))
    return found


@functools.cache
def usable(family: str) -> tuple[Pool, ...]:
    """A family's tables whose best result is above the median one."""
    return tuple(sampled.pools((family,), objective=OBJECTIVES[family]))


def priors() -> list[Prior]:
    """Ridge regressions, fitted to NMTHPO without each language and to CharHPO without each half of the languages."""
    found = []
    for family, groups in (("NMTHPO", None), ("CharHPO", halves())):
        pools = usable(family)
        for left_out in groups or [{x} for x in sorted({x for p in pools for x in p.languages})]:
            kept = [p for p in pools if not left_out & {*p.languages}]
            languages = frozenset(x for p in kept for x in p.languages)
            found.append(Prior.fit(kept[0].feature_names, languages, [(p.x, p.y) for p in kept]))
    return found


def halves() -> list[set[str]]:
    """The held-out languages of each set of weights of `learned`."""
    named = [w.name.partition("without ")[2].split() for w in learned.shipped()]
    return [{canonical(x) for x in names} for names in named if names]


def fit(
    weights: learned.Weights, seed: int, steps: int, log: list[dict[str, Any]], features: tuple[str, ...] = FEATURES
) -> tuple[policy_file.Trained, float]:
    """One training: the network that scored best on languages kept from it, and that score.

    Args:
        weights: Of `learned`, whose tables and numbers it is trained with.
        seed: Of all draws, and of the languages kept for early stopping.
        steps: Evaluations.
        log: Gets a record of each look at these.
        features: Groups of columns.
    """
    import torch
    from sb3_contrib import MaskablePPO
    from stable_baselines3.common.callbacks import BaseCallback

    from hpo_envs.integrations.candidate_policy import CandidatePolicy

    torch.set_num_threads(1)
    pools = [p for family in OBJECTIVES for p in usable(family) if {*p.languages} <= weights.languages]
    languages = sorted({x for p in pools for x in p.languages if p.name.startswith("charhpo")})
    kept = set(np.random.default_rng(seed).permutation(languages)[: -(-len(languages) // 4)].tolist())
    train = with_sources([p for p in pools if not kept & {*p.languages}])
    stop = [p for p in with_sources(pools) if kept & {*p.languages}]
    numbers = dict(zip(START, weights.numbers.mean(axis=0).tolist(), strict=True))
    as_used = Draws((0.8, 0.8), 0.0, 0.0, 0.0, (0.9, 0.0))
    more: dict[str, Any] = {"features": features, "numbers": numbers}
    envs = for_training(SampledTasks(ENVS, train, CANDIDATES, BUDGET, Draws(sources=(0.8, 0.25))), CANDIDATES, **more)
    looks = for_training(SampledTasks(LOOKS, stop, CANDIDATES, BUDGET, as_used), CANDIDATES, **more)
    random = f"{regret(None, looks)[0]:.4f}"
    begun = time.process_time()
    best: list[Any] = [np.inf, {}]

    class Looks(BaseCallback):
        def _on_step(self) -> bool:
            return True

        def _on_rollout_start(self) -> None:
            update = self.num_timesteps // (ENVS * BUDGET)
            if update % EVERY == 0 or self.num_timesteps >= steps:
                self.look()

        def _on_training_end(self) -> None:
            self.look()

        def look(self) -> None:
            score = regret(self.model.policy, looks)
            if score[0] + 0.5 * score[1] < best[0]:
                best[:] = score[0] + 0.5 * score[1], self.model.policy.weights()
            log.append(
                {
                    "weights": weights.name,
                    "seed": seed,
                    "steps": self.num_timesteps,
                    "anytime": f"{score[0]:.4f}",
                    "final": f"{score[1]:.4f}",
                    "random": random,
                    "cpu_seconds": f"{time.process_time() - begun:.1f}",
                }
            )
            print(*log[-1].values(), flush=True)

    settings: dict[str, Any] = {"n_steps": BUDGET, "batch_size": 320, "n_epochs": 4, "gamma": 0.95, "gae_lambda": 1.0}
    model = MaskablePPO(
        CandidatePolicy,
        SB3VecEnv(envs),
        learning_rate=lambda left: 4e-3 * left,
        ent_coef=0.0,
        policy_kwargs={"skip": SKIP},
        seed=seed,
        device="cpu",
        **settings,
    )
    model.learn(steps, Looks())
    trained = policy_file.Trained(
        weights.name,
        frozenset(x for p in pools for x in p.languages),
        features,
        CANDIDATES,
        model.policy.hidden,
        (best[1],),
        numbers=numbers,
    )
    return trained, float(best[0])


def regret(policy: Any, envs: Any) -> tuple[float, float]:
    """Mean and final normalised regret of sampled actions (None: random search), on the same episodes at every call."""
    import torch

    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    observation, _ = envs.reset(seed=0)
    gained, lost = np.zeros(envs.num_envs), []
    for _ in range(envs.unwrapped.budget):
        masks = envs.action_masks()
        actions = (
            policy.predict(observation, action_masks=masks)[0]
            if policy
            else (masks * rng.random(masks.shape)).argmax(1)
        )
        observation, rewards, *_ = envs.step(actions)
        gained += rewards
        lost.append(1.0 - gained.mean())
    return float(np.mean(lost)), float(lost[-1])


def picture(log: Sequence[dict[str, Any]], path: Path) -> None:
    """Draw the regret of all trainings against evaluations, and that of the untrained policy and of random search."""
    names = list(dict.fromkeys(row["weights"] for row in log))
    figure, (axes,) = plots.panels(1, len(names), (3.2 * len(names), 3.8), sharey=True)
    of_seeds, random = [], []
    for a, name in zip(axes, names, strict=True):
        rows = [row for row in log if row["weights"] == name]
        seeds = len({row["seed"] for row in rows})
        curves = np.array([row["anytime"] for row in rows], dtype=float).reshape(seeds, -1)
        of_seeds.append(curves)
        random.append(np.mean([float(row["random"]) for row in rows]))
        thousands = [int(row["steps"]) / 1000 for row in rows][: curves.shape[1]]
        a.axhline(random[-1], color="0.6", linewidth=3, label="random search")
        a.axhline(curves[:, 0].mean(), color="black", linestyle="--", label="untrained policy")
        a.plot(thousands, curves.T, color=plots.COLOURS[0], linewidth=0.6)
        a.plot(
            thousands,
            curves.mean(axis=0),
            color=plots.COLOURS[0],
            linewidth=2.5,
            label=f"trained, mean of {seeds} seeds",
        )
        a.set_xlabel("training evaluations (thousands)")
        a.set_title(name.replace("without ", "trained without\n").replace("CharHPO", "trained on\nall of CharHPO"))
    axes[0].set_ylabel("mean normalised regret on languages\nheld out for early stopping (0: best)")
    axes[0].set_ylim(0, None)
    axes[0].legend(loc="lower left", frameon=False)
    first, last = (np.mean([c[:, at].mean() for c in of_seeds]) for at in (0, -1))
    figure.suptitle(
        f"Training changes the policy's regret from {first:.2f} to {last:.2f}; random search has {np.mean(random):.2f}"
    )
    plots.save(figure, path)


def main(arguments: Sequence[str] | None = None) -> int:
    """Train and save the selected networks."""
    parser = argparse.ArgumentParser(prog="python -m hpo_envs.integrations.train_policy", description=__doc__)
    groups = {w.name: w for w in learned.shipped()}
    parser.add_argument("--only", choices=list(groups), help="one group of tables instead of all")
    parser.add_argument("--steps", type=int, default=60_000, help="of each training (default: %(default)s)")
    parser.add_argument("--seeds", type=int, default=3, help="trainings of each group (default: %(default)s)")
    parser.add_argument("--out", type=Path, default=Path("runs/policy"), help="folder (default: %(default)s)")
    args = parser.parse_args(arguments)
    log: list[dict[str, Any]] = []
    made = []
    for name, weights in groups.items():
        if args.only in (None, name):
            trained = [fit(weights, seed, args.steps, log)[0] for seed in range(args.seeds)]
            made.append(replace(trained[0], members=tuple(t.members[0] for t in trained)))
    args.out.mkdir(parents=True, exist_ok=True)
    policy_file.write(args.out / "policy.npz", made, priors())
    atomic.write_csv(args.out / "policy.csv", log, tuple(log[0]))
    picture(log, args.out / "policy-training")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
