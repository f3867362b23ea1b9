"""Training of the agent `in-context`: `python -m hpo_envs.benchmarks.learned.in_context`.

Training is supervised: states of searches on sampled tasks are recorded once, and networks learn to choose the
candidate with the largest gain over the best evaluation so far; the loss knows the rewards, the network only the
history. The command writes `in_context.npz`: weights for each part of `TRAINING_PARTS` that is left out, and weights
trained on all parts.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from hpo_envs.agents.models import candidate_net, candidate_set
from hpo_envs.agents.transfer import policy_file
from hpo_envs.agents.transfer.policy_file import PolicyWeights
from hpo_envs.benchmarks.learned.policy import CANDIDATES, EVALUATIONS, SKIP
from hpo_envs.benchmarks.tasks import pools
from hpo_envs.benchmarks.tasks.sampled import Draws, SampledTasks
from hpo_envs.tables import screen
from hpo_envs.tables.checks import one_of
from hpo_envs.wrappers import for_training

TRAINING_PARTS: Mapping[str, tuple[str, ...]] = {
    "characters": ("CharHPO", "CharMini"), "translation": ("NMTHPO", "NMTLC"), "TaskSet": ("TaskSet",),
    "TextMini": ("TextMini",), "cells": ("CellMini", "NASBenchNLP"), "functions": (),
}  # fmt: skip
"""Families of each part of the training data (left out as a whole); functions are drawn from random models."""

INPUTS = ("posterior",)

HIDDEN, BATCH = 16, 128

RATE, WARMING = 4e-3, 50
"""Learning rate, and number of steps of its warm-up."""


@dataclass(frozen=True)
class States:
    """Recorded states of E searches of T evaluations over n candidates."""

    columns: npt.NDArray[np.float16]  # (E, T, n, columns) observations before each evaluation
    context: npt.NDArray[np.float16]  # (E, T, CONTEXT) observations of the episode
    free: npt.NDArray[np.bool_]  # (E, T, n) mask of unevaluated candidates
    gains: npt.NDArray[np.float16]  # (E, T, n) gain of each candidate over the best reward so far
    words: npt.NDArray[np.str_]  # (E,) language or task group of the table; empty for functions

    def without(self, words: set[str]) -> States:
        """Return the states of functions and of tables outside of these languages and task groups."""
        kept = ~np.isin(self.words, sorted(words))
        return States(*(array[kept] for array in vars(self).values()))


def record(
    part: str, searches: int, seed: int = 0, half: int | None = None, inputs: tuple[str, ...] = INPUTS
) -> States:
    """Return states of searches on sampled tasks of a part; they sample by expected improvement or at random.

    `part` is one of `TRAINING_PARTS`; with `half`, only configurations in this half of each space are used, see
    `pools.in_half`. `inputs` are the recorded groups of columns, of which `posterior` is the last.
    """
    found = pools.pools(TRAINING_PARTS[part], half=half) if TRAINING_PARTS[part] else []
    how = Draws((0.3, 1.0), 0.25, 0.0 if found else 1.0, 0.5, (0.0, 0.0))
    tasks = SampledTasks(searches, found, CANDIDATES, EVALUATIONS, how)
    envs, rng = for_training(tasks, CANDIDATES, inputs), np.random.default_rng(seed)
    observation, info = envs.reset(seed=seed)
    words = np.array(["" if i < 0 else found[i].held_out[0] for i in info["task"]])
    # Inverse: 0 samples uniformly.
    temperature = rng.choice((0.0, 4.0, 12.0, 40.0), (searches, 1), p=(0.15, 0.35, 0.25, 0.25))
    careless = rng.choice([0.0, 0.15], (searches, 1))
    rewards, best, states = tasks.rewards, np.zeros(searches), []
    for _ in range(EVALUATIONS):
        columns, free = observation["candidates"], observation["mask"] > 0.5
        gains = np.maximum(rewards - best[:, None], 0.0) * free
        states.append((columns.astype(np.float16), observation["context"].astype(np.float16), free, gains))
        scores = columns[..., -1] * temperature + rng.gumbel(size=free.shape)
        scores = np.where(rng.random((searches, 1)) < careless, rng.random(free.shape), scores)
        observation, gain, *_ = envs.step(np.where(free, scores, -np.inf).argmax(axis=1))
        best += gain
    columns, context, free, gains = (np.stack(parts, axis=1) for parts in zip(*states, strict=True))
    return States(columns, context, free, gains.astype(np.float16), words)


def fit(
    states: Mapping[str, States], seed: int, steps: int, blind: bool = False, inputs: tuple[str, ...] = INPUTS
) -> candidate_net.NetArrays:
    """Train one network for `steps` gradient steps to maximise the expected gain of its choice; return its weights.

    A gain counts in the mean of the best rewards from its step on and, with weight 0.5, in the last one. A `blind`
    network, a rival without adaptation, observes the candidates as before the first evaluation. `inputs` are the
    recorded groups of columns, or the first of them.
    """
    import torch

    from hpo_envs.agents.transfer.scoring_network import ScoringNetwork

    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    width = candidate_set.columns(inputs)
    network = ScoringNetwork(width, HIDDEN, SKIP if inputs[-1] == "posterior" and not blind else 0.0)
    optimiser = torch.optim.AdamW(network.parameters(), lr=RATE, weight_decay=1e-3)
    shares = {part: 2 if part == "functions" else 1 for part in states}
    for step in range(steps):
        parts = []
        for part, s in states.items():
            size = BATCH * shares[part] // sum(shares.values())
            e, t = rng.integers(len(s.words), size=size), rng.integers(1, EVALUATIONS, size)
            late = (EVALUATIONS - t) / EVALUATIONS + 0.5
            shown = 0 * t if blind else t
            parts.append(
                (s.columns[e, shown, :, :width], s.free[e, t], s.context[e, shown], s.gains[e, t] * late[:, None])
            )
        x, free, context, gains = (torch.as_tensor(np.concatenate(p)) for p in zip(*parts, strict=True))
        scores, _ = network(x.float(), free, context.float())
        chosen = torch.softmax(scores.masked_fill(~free, -1e9), dim=1)
        loss = -(chosen * gains.float()).sum(dim=1).mean()
        for group in optimiser.param_groups:
            group["lr"] = RATE * min(1.0, (step + 1) / WARMING) * (1.0 - step / steps)
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call,unused-ignore]
        torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimiser.step()
    return network.arrays()


def train(
    states: Mapping[str, States], without: str | None, seeds: int, steps: int, blind: bool = False,
    inputs: tuple[str, ...] = INPUTS,
) -> PolicyWeights:  # fmt: skip
    """Return weights trained without a part and without data that share a language or task group with it.

    `without` None: on all parts.
    `seeds` networks are trained for `steps` gradient steps each, and their log probabilities averaged; `blind` and
    `inputs`: see `fit`.
    """
    left_out = words_of(without)
    kept = {part: s.without(left_out) for part, s in states.items() if part != without}
    words = frozenset(word for s in kept.values() for word in s.words if word)
    members = tuple(fit(kept, seed, steps, blind, inputs) for seed in range(seeds))
    name = "all" if without is None else f"without {without}"
    return PolicyWeights(name, words, inputs, CANDIDATES, HIDDEN, members)


def words_of(part: str | None) -> set[str]:
    """Return the languages and task groups of a part's tables; none for functions and None, ValueError if unknown."""
    families = () if part is None else TRAINING_PARTS[one_of("part", part, TRAINING_PARTS)]
    return {word for p in pools.pools(families) for word in p.held_out} if families else set()


@screen.on()
def main(arguments: Sequence[str] | None = None) -> None:
    """Record states, train networks on all parts and with each part left out, and save them."""
    parser = argparse.ArgumentParser(prog="python -m hpo_envs.benchmarks.learned.in_context", description=__doc__)
    parser.add_argument("--searches", type=int, default=512, help="recorded for each part (default: %(default)s)")
    parser.add_argument("--steps", type=int, default=200, help="of each network (default: %(default)s)")
    parser.add_argument("--seeds", type=int, default=3, help="networks for each part (default: %(default)s)")
    parser.add_argument("--out", type=Path, default=Path("runs/in-context"), help="folder (default: %(default)s)")
    args = parser.parse_args(arguments)
    begun = time.process_time()
    states = {part: record(part, args.searches) for part in TRAINING_PARTS}
    print(f"{sum(len(s.words) for s in states.values())} searches: {time.process_time() - begun:.0f} s", flush=True)
    made = []
    for without in (None, *TRAINING_PARTS):
        made.append(train(states, without, args.seeds, args.steps))
        print(f"{made[-1].name}: {time.process_time() - begun:.0f} s", flush=True)
    args.out.mkdir(parents=True, exist_ok=True)
    print(policy_file.write(args.out / "in_context.npz", made))


if __name__ == "__main__":
    main()
