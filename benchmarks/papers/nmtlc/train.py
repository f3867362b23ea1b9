"""Training of the networks of `curve-ranker`: `python -m hpo_envs.benchmarks.papers.nmtlc.train`.

Each training step is a rung: random rows of a random table at a random resource, observed as by the agent; the loss is
over all pairs of rows. The command writes a network trained on all tables, and one for each left-out language, to the
file that the agent reads; it needs the extra `live`.
"""

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from hpo_envs.agents.multifidelity import curve_ranker as ranker
from hpo_envs.benchmarks.papers.nmtlc import analysis
from hpo_envs.families import registry
from hpo_envs.tables import screen, store
from hpo_envs.tables.checks import extra_module
from hpo_envs.tables.datasets.nmtlc import TABLES
from hpo_envs.tables.table import Floats, Table

STEPS, TRAINED_ROWS, RATE, DECAY = 1500, 48, 3e-3, 1e-3
"""Rungs, rows of each, learning rate and weight decay of Adam; chosen before any result was seen."""

ETA, DECIMALS = 3.0, 4
"""Reduction factor of the agent, and decimals of the stored weights."""


def rewards(table: Table) -> tuple[Floats, Floats, Floats]:
    """Return (rows, levels) minus log perplexity, (rows,) best of each run, and (levels,) resources of a table."""
    values = -np.log(-analysis.curves(table, "perplexity"))
    return values, values.max(axis=1), np.asarray(table.levels, np.float64)


def looked_at(levels: Floats, resource: float) -> npt.NDArray[np.intp]:
    """Return the (POINTS,) indices of the last checkpoints that the agent observes up to a resource.

    The resource is in units of the first checkpoint.
    """
    looks = resource * ETA ** (np.arange(1 - ranker.POINTS, 1) / ranker.STEPS)
    return analysis.level_at(levels / levels[0], looks)


def rung(data: tuple[Floats, Floats, Floats], rng: np.random.Generator) -> tuple[Floats, Floats, Floats]:
    """Return the inputs of the network for a random rung, (n, POINTS) and (n, 3), and (n,) best reward of each run."""
    values, best, levels = data
    rows = rng.permutation(len(values))[:TRAINED_ROWS]
    share = float(np.exp(rng.uniform(np.log(levels[0] / levels[-1]), np.log(1.0 / ETA))))
    curves = values[np.ix_(rows, looked_at(levels, share * levels[-1] / levels[0]))]
    return *ranker.inputs(curves, share), best[rows]


def train(tables: Sequence[Table], seed: int) -> dict[str, Floats]:
    """Train a network on tables; return its arrays, rounded, by name in the order of `shapes`."""
    torch: Any = extra_module("torch", "live", "trainings of curve rankers")
    rng, data = np.random.default_rng(seed), [rewards(t) for t in tables]
    w = {}
    for name, shape in ranker.shapes().items():
        start = rng.normal(0.0, 0.5 / np.sqrt(shape[-1]), shape) if name.endswith("weight") else np.zeros(shape)
        w[name] = torch.tensor(np.zeros(shape) if name.startswith("outer") else start, requires_grad=True)
    optimizer = torch.optim.Adam(w.values(), RATE, weight_decay=DECAY)
    for _ in range(STEPS):
        curves, more, best = (torch.tensor(x) for x in rung(data[rng.integers(len(data))], rng))
        scores = score(torch, w, curves, more)
        higher = best[:, None] > best[None, :]
        loss = torch.nn.functional.softplus(scores[None, :] - scores[:, None])[higher].mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return {name: np.round(x.detach().numpy(), DECIMALS) for name, x in w.items()}


def score(torch: Any, w: dict[str, Any], curves: Any, more: Any) -> Any:
    """Return (n,) scores of runs: `curve_ranker.score` in PyTorch."""
    leaky = torch.nn.functional.leaky_relu
    found = [more]
    for k in ranker.KERNELS:
        convolved = torch.nn.functional.conv1d(curves[:, None], w[f"conv{k}.weight"][:, None], w[f"conv{k}.bias"])
        found.append(leaky(convolved, ranker.SLOPE).amax(dim=2))
    hidden = leaky(torch.cat(found, dim=1) @ w["inner.weight"].T + w["inner.bias"], ranker.SLOPE)
    return more[:, 0] + (hidden @ w["outer.weight"].T)[:, 0]


@screen.on()
def main() -> None:
    """Train all networks and write `curve_ranker.WEIGHTS`."""
    languages = {name: set(registry.held_out_of([name])) for name in TABLES}
    records = []
    for without in ("", *sorted({x for group in languages.values() for x in group})):
        names = [name for name in TABLES if without not in languages[name]]
        arrays = train([store.load(name) for name in names], seed=0)
        numbers = np.concatenate([x.ravel() for x in arrays.values()]).tolist()
        seen = sorted({x for name in names for x in languages[name]})
        records.append({"name": f"without {without}" if without else "all", "languages": seen, "numbers": numbers})
        print(records[-1]["name"], len(names), flush=True)
    ranker.WEIGHTS.write_text(json.dumps(records, separators=(",", ":")) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
