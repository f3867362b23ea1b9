"""Train a policy that scores configurations in JAX: whole episodes in one `lax.scan`, on any device (extra `jax`).

    python docs/examples/jax_policy.py                       # 16,384 episodes an update: for a GPU
    python docs/examples/jax_policy.py --episodes 256        # a minute of one core

Trains on CharHPO's sweeps by REINFORCE and prints the mean regret on two unseen languages, with history and blind.
"""

import argparse
import fnmatch
import functools
import time

import gymnasium as gym
import jax
import jax.numpy as jnp

import hpo_envs  # noqa: F401  registers the ids
from hpo_envs.integrations.jax import EpisodeState, TaskBatch, export, free, reset, sample, standardised, step

HORIZON, SCALES, HIDDEN = 20, (0.4, 1.2), 16


def columns(batch: TaskBatch, state: EpisodeState) -> jax.Array:
    """(R, 6): rewards of near evaluations at two length-scales, how near they are, budget left, 1."""
    x = batch.features[state.task]
    seen = jnp.arange(HORIZON) < state.steps
    apart = jnp.square(x[:, None] - x[state.rows]).sum(axis=2)
    near = [jnp.where(seen, jnp.exp(-apart / (2.0 * s * s)), 0.0) for s in SCALES]
    found = [k @ standardised(state) / (k.sum(axis=1) + 0.1) for k in near]
    left = jnp.full(len(x), 1.0 - state.steps / HORIZON)
    return jnp.stack([*found, *(k.max(axis=1) for k in near), left, jnp.ones(len(x))], axis=1)


def scores(w: dict[str, jax.Array], x: jax.Array) -> jax.Array:
    """(R,) logits of the configurations."""
    return jnp.tanh(x @ w["inner"]) @ w["outer"]


def episode(batch: TaskBatch, w: dict[str, jax.Array], key: jax.Array, blind: bool) -> tuple[jax.Array, jax.Array]:
    """(H,) log probabilities of the actions and (H,) best normalised rewards after each."""
    key, first = jax.random.split(key)
    start = reset(batch, first, HORIZON)
    low, high = batch.scales[start.task]

    def one(state: EpisodeState, key: jax.Array) -> tuple[EpisodeState, tuple[jax.Array, jax.Array]]:
        mask = free(batch, state)
        s = jnp.where(
            mask, scores(w, columns(batch, state._replace(steps=0 * state.steps) if blind else state)), -jnp.inf
        )
        row = sample(key, jax.lax.stop_gradient(s), mask)
        state, _, _ = step(batch, state, row)
        return state, (jax.nn.log_softmax(s)[row], jnp.maximum((state.best - low) / (high - low), 0.0))

    # Recomputed in the backward pass: 1.7 GB instead of 12 with 16,384 episodes.
    return jax.lax.scan(jax.checkpoint(one), start, jax.random.split(key, HORIZON))[1]


def loss(w: dict[str, jax.Array], batch: TaskBatch, keys: jax.Array, blind: bool) -> tuple[jax.Array, jax.Array]:
    """REINFORCE with the mean of each step as baseline; a return is the mean best reward from its step on."""
    log_p, best = jax.vmap(functools.partial(episode, batch, w, blind=blind))(keys)
    later = jnp.cumsum(best[:, ::-1], axis=1)[:, ::-1] / HORIZON
    advantage = (later - later.mean(axis=0)) / later.std(axis=0)
    return -(log_p * jax.lax.stop_gradient(advantage)).mean(), 1.0 - best.mean()


@functools.partial(jax.jit, static_argnames=("episodes", "blind"))
def update(w, moments, batch, key, k, episodes, blind):  # type: ignore[no-untyped-def]
    """One step of Adam."""
    (_, regret), g = jax.value_and_grad(loss, has_aux=True)(w, batch, jax.random.split(key, episodes), blind)
    m, v = (jax.tree.map(lambda a, b, p=p: 0.9 * a + 0.1 * b**p, old, g) for p, old in enumerate(moments, 1))
    rate = 0.03 / (1.0 - 0.9 ** (k + 1.0))
    w = jax.tree.map(lambda a, b, c: a - rate * b / (jnp.sqrt(c / (1.0 - 0.9 ** (k + 1.0))) + 1e-8), w, m, v)
    return w, (m, v), regret


def train(batch: TaskBatch, episodes: int, updates: int, blind: bool) -> dict[str, jax.Array]:
    """The weights after all updates."""
    w = {"inner": 0.5 * jax.random.normal(jax.random.key(0), (6, HIDDEN)), "outer": jnp.zeros(HIDDEN)}
    moments = (jax.tree.map(jnp.zeros_like, w),) * 2
    keys = jax.random.split(jax.random.key(1), updates)
    for k in range(updates):
        w, moments, regret = update(w, moments, batch, keys[k], float(k), episodes, blind)
        jax.block_until_ready(w)
        if k == 0:
            begun = time.perf_counter()  # the first update compiles
    seconds = (time.perf_counter() - begun) / max(updates - 1, 1)
    print(f"{'blind' if blind else 'with history':12} training regret {float(regret):.3f}, {seconds:.1f} s an update,",
          f"{episodes * HORIZON / seconds:,.0f} evaluations/s", flush=True)  # fmt: skip
    return w


def main() -> None:
    """Train both policies."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--episodes", type=int, default=16_384)
    parser.add_argument("--updates", type=int, default=60)
    args = parser.parse_args()
    sweeps = fnmatch.filter(gym.registry, "CharHPO-*-*-*-v0")
    sweeps = [i for i in sweeps if "hai-lstm" not in i and "geo-lstm" not in i]  # best = median
    unseen = [i for i in sweeps if "-rom-" in i or "-geo-" in i]
    batch, test = export([i for i in sweeps if i not in unseen]), export(unseen)
    for blind in (False, True):
        w = train(batch, args.episodes, args.updates, blind)
        _, regret = jax.jit(loss, static_argnames="blind")(w, test, jax.random.split(jax.random.key(9), 1024), blind)
        print(f"{'':12} regret on {len(unseen)} unseen sweeps {float(regret):.3f}")


if __name__ == "__main__":
    main()
