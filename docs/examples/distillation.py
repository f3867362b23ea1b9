"""Distil Bayesian optimisation into a recurrent policy, from runs that are stored (extra `rl`).

    python docs/examples/distillation.py            # about two minutes of one core

Runs of `bo-spread` on CharHPO's sweeps become one data set; a GRU learns to choose as they did from the history alone,
without a Gaussian process, and searches the sweeps of two unseen languages.
"""

import argparse
import fnmatch
import tempfile

import gymnasium as gym
import numpy as np
import torch
from torch import nn

from hpo_envs import run
from hpo_envs.benchmarks.analysis import regret
from hpo_envs.benchmarks.runs import Runs
from hpo_envs.integrations import histories
from hpo_envs.integrations.deployed import Deployed

UNITS, BATCH, HOW = 32, 32, {"budget": 20, "env_kwargs": {"subsample": 0.8}}


class Student(nn.Module):
    """Products of a GRU's state after the history and a network of each candidate's features."""

    def __init__(self) -> None:
        super().__init__()
        self.past = nn.GRU(68, UNITS, batch_first=True)
        self.one = nn.Sequential(nn.Linear(64, UNITS), nn.Tanh(), nn.Linear(UNITS, UNITS))

    def forward(self, history: torch.Tensor, candidates: torch.Tensor, count: torch.Tensor) -> torch.Tensor:
        """(b, n), of (b, T, 68) histories with (b,) evaluations and (b, n, 64) candidates."""
        states = torch.cat([torch.zeros(len(history), 1, UNITS), self.past(history)[0]], dim=1)
        state = states[torch.arange(len(history)), count]
        return (self.one(candidates) @ state[:, :, None])[..., 0]


def main() -> None:
    """Record, distil, and compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--steps", type=int, default=1500)
    args = parser.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    sweeps = [i for i in fnmatch.filter(gym.registry, "CharHPO-*-*-*-v0") if "hai" not in i and "geo-lstm" not in i]
    unseen = [i for i in sweeps if "-rom-" in i or "-geo-" in i]
    teacher = Runs([r for i in sweeps if i not in unseen for r in run("bo-spread", i, range(args.seeds), **HOW)])
    data = histories.read(histories.write(teacher, tempfile.mkdtemp()))
    past = torch.as_tensor(np.stack([h.observations() for h in data]))
    x = torch.as_tensor(np.stack([np.pad(2 * h.features - 1, ((0, 0), (0, 64 - h.features.shape[1]))) for h in data]))
    actions = torch.as_tensor(np.stack([h.actions for h in data]))
    student = Student()
    optimiser = torch.optim.Adam(student.parameters(), lr=3e-3)
    for _ in range(args.steps):
        at, t = torch.randint(len(data), (BATCH,)), torch.randint(20, (BATCH,))
        earlier = torch.arange(20) < t[:, None]  # what was evaluated cannot be chosen
        taken = torch.zeros(BATCH, x.shape[1]).scatter_add(1, actions[at], earlier.float())
        loss = nn.functional.cross_entropy(student(past[at, t], x[at], t) - 1e9 * taken, actions[at, t])
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()

    def policy(seen: dict[str, np.ndarray]) -> np.ndarray:
        history, candidates = (torch.as_tensor(seen[name]) for name in ("history", "hyperparameters"))
        with torch.no_grad():
            return student(history, candidates, history[:, :, 0].sum(dim=1).long()).numpy()

    given = {"policy": policy, "features": ("hyperparameters", "history"), "candidates": 160}
    for name, agent, more in (("random", "random", {}), ("bo-spread", "bo-spread", {}), ("student", Deployed, given)):
        runs = [r for i in unseen for r in run(agent, i, range(10), **HOW, **more)]
        print(f"{name:10} mean regret {np.mean([regret.after(r) for r in runs]):.3f}")


if __name__ == "__main__":
    main()
