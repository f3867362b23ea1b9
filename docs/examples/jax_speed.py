"""Evaluations per second of processor time in JAX and in NumPy, on one core, as CSV (extra `jax`).

python docs/examples/jax_speed.py > docs/examples/jax_speed.csv
"""

import fnmatch
import functools
import os
import time
from collections.abc import Callable

os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"

import gymnasium as gym
import jax
import numpy as np

import hpo_envs  # noqa: F401  registers the ids
from hpo_envs.integrations.jax import EpisodeState, export, random_row, reset, step

IDS, STEPS, ROWS = sorted(fnmatch.filter(gym.registry, "CharHPO-*-*-*-v0"))[:20], 20, 200

ALONE, GIVEN, FREE = "given; rewards alone", "given", "random free row"


def seconds(play: Callable[[], object]) -> float:
    """The best of five, after one that compiles."""
    play()
    times = []
    for _ in range(5):
        begun = time.process_time()
        play()
        times.append(time.process_time() - begun)
    return min(times)


def in_jax(n: int, actions: str) -> float:
    """Seconds of an episode of n environments on all tables; the compiler omits the state where it is not returned."""
    batch, keys = export(IDS), jax.random.split(jax.random.key(0), (n, STEPS))
    rows = jax.random.randint(jax.random.key(1), (n, STEPS), 0, ROWS)

    def one(state: EpisodeState, given: tuple[jax.Array, jax.Array]) -> tuple[EpisodeState, jax.Array]:
        row, key = given
        state, reward, _ = step(batch, state, random_row(batch, state, key) if actions == FREE else row)
        return state, reward

    begin = jax.vmap(functools.partial(reset, batch))
    whole = jax.vmap(functools.partial(jax.lax.scan, one))
    play = jax.jit(lambda r, k: whole(begin(k[:, 0]), (r, k))[1 if actions == ALONE else slice(None)])
    return seconds(lambda: jax.block_until_ready(play(rows, keys)))


def in_numpy(n: int, actions: str) -> float:
    """Seconds of an episode of n environments on one table."""
    envs = gym.make_vec(IDS[0], num_envs=n, autoreset_mode=gym.vector.AutoresetMode.SAME_STEP)
    rng = np.random.default_rng(0)
    rows = rng.integers(ROWS, size=(STEPS, n))

    def play() -> None:
        envs.reset(seed=0)
        for given in rows:
            if actions == FREE:
                given = np.where(envs.unwrapped.action_masks(), rng.random((n, ROWS), np.float32), -1.0).argmax(axis=1)
            envs.step(given)

    return seconds(play)


if __name__ == "__main__":
    print("episodes,actions,jax,numpy")
    for n in (4096, 16_384):
        for actions in (ALONE, GIVEN, FREE):
            found = [n * STEPS / f(n, actions) for f in (in_jax, in_numpy)]
            print(n, actions, *(f"{x:.0f}" for x in found), sep=",", flush=True)
