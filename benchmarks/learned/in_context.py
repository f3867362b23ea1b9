"""A network in context beside `learned`: `python -m hpo_envs.benchmarks.learned.in_context`, needs the extra `live`.

Candidates attend to what was observed, as in prior-fitted networks (Mueller et al. 2022, "Transformers can do Bayesian
inference"): the network sees what other tables predict, the observations so far and the correlations between the two,
and gives each candidate a score. It is trained on the episodes of `learned`'s trainer and tested on the replicates of
`hpo-envs reproduce learned --only training`. It is an experiment, not an agent: docs/learned.md says how it fares.
"""

from __future__ import annotations

import argparse
import copy
import io
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch

from hpo_envs import registry
from hpo_envs.agents.models.stacked_gp import LENGTHS, START, robust
from hpo_envs.agents.transfer.learned import chosen
from hpo_envs.benchmarks.learned import reproduce, tasks
from hpo_envs.benchmarks.learned.evolution import Settings, play, scores
from hpo_envs.benchmarks.learned.train import Group, divided, groups
from hpo_envs.benchmarks.papers import common
from hpo_envs.benchmarks.runs.loop import one_blas_thread
from hpo_envs.core import screen
from hpo_envs.tables.files import atomic

Floats = npt.NDArray[np.float64]

SIMILARITY = 8.0
"""Of sources, where `learned`'s trainings begin to end; see `stacked_gp.Tables.expected`."""

INPUTS = 7
"""Of a candidate: see `InContext.forward`."""


class InContext(torch.nn.Module):
    """Scores of candidates from two layers in which each candidate attends to the observations.

    Attention has the logarithms of the correlations of candidate and observation in its scores, weighted by head.

    Args:
        width: Of the layers.
        heads: Of the attention.
    """

    def __init__(self, width: int = 32, heads: int = 4) -> None:
        super().__init__()
        self.heads = heads
        self.first = torch.nn.Linear(INPUTS, width)
        self.layers = torch.nn.ModuleList(
            torch.nn.ModuleDict(
                {
                    "norm": torch.nn.LayerNorm(width),
                    "query": torch.nn.Linear(width, width),
                    "key": torch.nn.Linear(width, width),
                    "value": torch.nn.Linear(width, width),
                    "near": torch.nn.Linear(LENGTHS, heads),
                    "out": torch.nn.Linear(width, width),
                    "feed": torch.nn.Sequential(
                        torch.nn.LayerNorm(width),
                        torch.nn.Linear(width, 2 * width),
                        torch.nn.GELU(),
                        torch.nn.Linear(2 * width, width),
                    ),
                }
            )
            for _ in range(2)
        )
        self.last = torch.nn.Linear(width, 1)

    def forward(self, inputs: torch.Tensor, rows: torch.Tensor, near: torch.Tensor) -> torch.Tensor:
        """(E, n) scores.

        Args:
            inputs: (E, n, INPUTS) expected reward, deviation among the sources, whether it was observed, what was
                observed in units of the observations' deviation, and below the incumbent, share of the budget left,
                and largest correlation with an observation.
            rows: (E, t) that were observed.
            near: (E, n, t, LENGTHS) logarithms of the correlations with these.
        """
        x = self.first(inputs)
        e, n, width = x.shape
        for layer in self.layers:
            if rows.shape[1]:
                normed = layer["norm"](x)
                observed = torch.gather(normed, 1, rows[..., None].expand(-1, -1, width))
                query, key, value = (
                    layer[name](of).view(e, -1, self.heads, width // self.heads).transpose(1, 2)
                    for name, of in (("query", normed), ("key", observed), ("value", observed))
                )
                bias = layer["near"](near).permute(0, 3, 1, 2)
                mixed = torch.nn.functional.scaled_dot_product_attention(query, key, value, attn_mask=bias)
                x = x + layer["out"](mixed.transpose(1, 2).reshape(e, n, width))
            x = x + layer["feed"](x)
        return self.last(x)[..., 0]


def episode(
    network: InContext, drawn: tasks.Episodes, budget: int, rng: np.random.Generator | None = None
) -> tuple[Floats, torch.Tensor]:
    """(E, budget) normalised regret between 0 and 1, and minus the mean gain that was to be expected.

    Args:
        network: Scores candidates.
        drawn: E episodes.
        budget: Evaluations.
        rng: Of rows that are drawn from the softmax of the scores; None: the best score is taken.
    """
    valid, e = drawn.tables.valid, np.arange(len(drawn.best))
    mean, apart = (v[0] for v in drawn.tables.expected(np.array([SIMILARITY])))
    free, seen, rows = valid.copy(), np.empty((len(e), 0)), np.empty((len(e), 0), np.intp)
    regrets = np.clip((drawn.best[:, None] - drawn.rewards) / drawn.span[:, None], 0.0, 1.0)
    low, losses = np.ones(len(e)), []
    for t in range(budget):
        inputs = np.zeros((*valid.shape, INPUTS), np.float32)
        inputs[..., 0], inputs[..., 1] = mean, np.sqrt(np.square(apart).sum(axis=1))
        inputs[..., 5] = 1.0 - t / budget
        near = drawn.correlations[e[:, None], :, rows].transpose(0, 3, 1, 2)  # (E, t, LENGTHS, n) -> (E, n, t, LENGTHS)
        if t:
            y = robust(seen)
            units = (y - y.mean(axis=1, keepdims=True)) / np.maximum(y.std(axis=1, keepdims=True), 1e-6)
            told = np.stack([np.ones_like(units), units, units - units.max(axis=1, keepdims=True)], axis=2)
            inputs[e[:, None], rows, 2:5] = told
            inputs[..., 6] = near.mean(axis=3).max(axis=2)
        score = network(torch.from_numpy(inputs), torch.from_numpy(rows), torch.log(torch.from_numpy(near) + 1e-3))
        score = score.masked_fill(~torch.from_numpy(free), -torch.inf)
        gain = torch.from_numpy(np.maximum(low[:, None] - regrets, 0.0).astype(np.float32))
        losses.append(-(torch.softmax(score, dim=1) * gain).sum(dim=1).mean())
        choice = score.detach().numpy().astype(np.float64)
        if rng is not None:
            choice = choice + rng.gumbel(size=choice.shape)
        row = np.where(free, choice, -np.inf).argmax(axis=1)
        free[e, row] = False
        rows = np.concatenate([rows, row[:, None]], axis=1)
        seen = np.concatenate([seen, drawn.rewards[e, row][:, None]], axis=1)
        low = np.minimum(low, regrets[e, row])
    curve = np.minimum.accumulate(regrets[e[:, None], rows], axis=1)
    return curve, torch.stack(losses).mean()


def fit(group: Group, settings: Settings, batches: int, seed: int) -> InContext:
    """The network that was best on the group's validation episodes.

    Args:
        group: What is trained on.
        settings: Of the draws, as of `learned`'s training.
        batches: Steps of the gradient.
        seed: Of all draws.
    """
    held_out, (seen, kept) = frozenset(group.without), divided(group, seed)
    checked = tasks.draw(kept, settings.validation, held_out, np.random.default_rng([seed, 1]), tasks.AS_USED)
    torch.manual_seed(seed)
    rng, network, begun = np.random.default_rng(seed), InContext(), time.process_time()
    adam = torch.optim.Adam(network.parameters(), 2e-3)
    falling = torch.optim.lr_scheduler.CosineAnnealingLR(adam, batches)
    best, kept_network = np.inf, network
    for b in range(batches + 1):
        if b % 25 == 0 or b == batches:
            with torch.no_grad():
                score = float(scores(episode(network, checked, reproduce.BUDGET)[0][None], settings.final).mean())
            print(group.name, seed, b, f"{score:.4f}", f"{time.process_time() - begun:.0f} s", flush=True)
            if score < best:
                best, kept_network = score, copy.deepcopy(network)
        if b == batches:
            break
        drawn = tasks.draw(seen, settings.episodes, held_out, rng, tasks.Draws())
        _, loss = episode(network, drawn, int(rng.choice(settings.budgets)), rng)
        adam.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        adam.step()
        falling.step()
    return kept_network


def tested(networks: Sequence[InContext], env_id: str, trials: int) -> Floats:
    """(2, methods, trials) anytime and final regret of the untrained `learned`, and of each network."""
    drawn = reproduce.replicates(tasks.task(env_id), range(trials))
    start = np.array([[*START.values()]])
    curves = [np.concatenate([play(start, d, reproduce.BUDGET)[0] for d in drawn])]
    with torch.no_grad():
        curves += [np.concatenate([episode(n, d, reproduce.BUDGET)[0] for d in drawn]) for n in networks]
    tasks.task.cache_clear()
    return np.stack([np.mean(curves, axis=2), np.array(curves)[..., -1]])


@screen.on()
def main(arguments: Sequence[str] | None = None) -> int:
    """Train the networks of each group and tests them on the tables whose languages they have not seen."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batches", type=int, default=120, help="steps of the gradient (default: %(default)s)")
    parser.add_argument("--seeds", type=int, default=3, help="trainings of each group (default: %(default)s)")
    parser.add_argument("--trials", type=int, default=reproduce.TRIALS, help="replicates (default: %(default)s)")
    parser.add_argument("--out", type=Path, default=Path("runs/in-context"), help="folder (default: %(default)s)")
    args = parser.parse_args(arguments)
    torch.set_num_threads(1)
    found: dict[tuple[str, str], Floats] = {}
    args.out.mkdir(parents=True, exist_ok=True)
    with one_blas_thread():
        for group in groups():
            networks = []
            for seed in range(args.seeds):
                file = args.out / f"{group.name}-{seed}.npz"
                if not file.exists():
                    network = fit(group, replace(Settings(), episodes=24), args.batches, seed)
                    np.savez(packed := io.BytesIO(), **{k: v.numpy() for k, v in network.state_dict().items()})
                    atomic.write(file, packed.getvalue())
                networks.append(InContext())
                networks[-1].load_state_dict({k: torch.from_numpy(v) for k, v in atomic.read_npz(file).items()})
            for env_id in tests(group):
                done = tested(networks, env_id, args.trials)
                names = ["untrained", *(f"seed {k}" for k in range(args.seeds))]
                found |= {(env_id, m): done[:, k] for k, m in enumerate(names)}
    means = [
        {"tables": f, "method": m, "anytime": f"{v[0]:.4f}", "final": f"{v[1]:.4f}"}
        for f in tasks.FAMILIES
        for m in names
        for v in [np.mean([d.mean(axis=1) for (i, n), d in found.items() if n == m and i.startswith(f)], axis=0)]
    ]
    common.show("normalised regret", means)
    differences = reproduce.overall(found)
    atomic.write_csv(args.out / "in_context.csv", means, tuple(means[0]))
    atomic.write_csv(args.out / "in_context_differences.csv", differences, tuple(differences[0]))
    common.show("differences, by the rule of docs/statistics.md", differences)
    return 0


def tests(group: Group) -> list[str]:
    """Ids whose languages the group has not seen, each in one group."""
    every = [i for f in tasks.FAMILIES for i in tasks.ids(f)]
    return [i for i in every if chosen(registry.languages_of(registry.SPECS[i].tables)).name == group.name]


if __name__ == "__main__":
    raise SystemExit(main())
