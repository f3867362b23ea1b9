"""Study of the reference scores of spaces that no table lists: best known reward and median of random search.

    python -m hpo_envs.benchmarks.references            # three minutes of processor time; writes references.json
    python -m hpo_envs.benchmarks.references --missing  # only tables that have changed; it can be resumed

On a box: `RANDOM` uniform points, then an evolution strategy from the best of them. Cells: random ones and the table's,
then regularised evolution through the environment. Repeat it whenever a table or the code of an environment
changes: each scale is stored under the hash of its table. Results beyond the best known have regret 0.
"""

import argparse
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np

from hpo_envs.benchmarks import runs
from hpo_envs.benchmarks.analysis import scales
from hpo_envs.benchmarks.runs.episodes import kind_of_action
from hpo_envs.families.registry import SPECS, installed
from hpo_envs.tables import VERSION, screen
from hpo_envs.tables.files import atomic
from hpo_envs.tables.table import Floats

RANDOM = 4096
"""Random actions per task of a box; the standard error of their median is about 2 % of their standard deviation."""

PARENTS, CHILDREN, GENERATIONS = 16, 256, 60
"""Settings of the evolution strategy: parents, children per generation, generations."""

CELLS = {"random": (4, 500), "regularized-evolution": (4, 500)}
"""(number of seeds, cells per run) by agent."""

VARIANTS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("CharHPO-v0", {"noise": False}),
    *(("CushLEPOR-ted-ende-v0", {"objective": name}) for name in ("system_pearson", "rmse")),
)
"""(id, arguments) of further problems: these arguments change the problem of the id."""


def on_box(params: Any, task: int, *, points: int = RANDOM, generations: int = GENERATIONS) -> tuple[float, float]:
    """Return (best reward found, median reward of random actions) on a task (an index) of a box with one objective.

    The evolution strategy keeps the best of parents and children. Each child is a parent with about a third of its
    coordinates changed by steps of various sizes, or redrawn.
    """
    rng = np.random.default_rng(task)

    def rewards(actions: Floats) -> Floats:
        answer = params.function.evaluate(np.full(len(actions), task), actions)
        out: Floats = params.signs[0] * answer.metrics[params.objectives[0]]
        return out

    actions = rng.uniform(-1.0, 1.0, (points, *params.action_space.shape))
    values = rewards(actions)
    reference = float(np.median(values))
    for _ in range(generations):
        kept = np.argsort(-values, kind="stable")[:PARENTS]
        actions, values = actions[kept], values[kept]
        children = actions[rng.integers(len(actions), size=CHILDREN)]
        steps = 10.0 ** rng.uniform(-4.0, 0.0, (CHILDREN, 1)) * rng.standard_normal(children.shape)
        moved = np.where(rng.random((CHILDREN, 1)) < 0.2, rng.uniform(-1.0, 1.0, children.shape), children + steps)
        children = np.clip(np.where(rng.random(children.shape) < 1 / 3, moved, children), -1.0, 1.0)
        actions, values = np.concatenate([actions, children]), np.concatenate([values, rewards(children)])
    return float(values.max()), reference


def of_cells(env_id: str, kwargs: dict[str, Any], known: float, effort: float = 1.0) -> tuple[float, float]:
    """Return (best reward found, at least `known`, median of random cells); `effort` scales the cells of each run."""
    found = {}
    for agent, (seeds, budget) in CELLS.items():
        made = runs.run(agent, env_id, range(seeds), budget=max(1, round(effort * budget)), env_kwargs=kwargs)
        found[agent] = np.concatenate([r.rewards for r in made])
    return max(known, *(float(rewards.max()) for rewards in found.values())), float(np.median(found["random"]))


def study(known: Mapping[str, dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield a record (`name`, `best`, `reference`) for each task of the installed box and cell ids and of `VARIANTS`.

    Records in `known`, by name, are yielded unchanged instead of computed.
    """
    whole = [i for i, s in SPECS.items() if installed(s) and kind_of_action(i, {}) in ("box", "graph")]
    for env_id, kwargs in (*((i, {}) for i in whole), *VARIANTS):
        arguments = {k: v for k, v in kwargs.items() if k not in scales.ELSEWHERE}
        env: Any = gym.make(env_id, disable_env_checker=True, **kwargs)
        params = env.unwrapped.params
        for task in range(len(params.tables)):
            name = scales.name_of(env_id, params, task, arguments)
            if name in known:
                yield known[name]
                continue
            if params.kind == "box":
                best, reference = on_box(params, task)
            else:
                t, metric = params.table, params.objectives[0]
                ends = params.signs[0] * t.values[:, :, -1, t.metric(metric)]
                best, reference = of_cells(env_id, dict(kwargs), float(np.nanmax(ends)))
            yield {"name": name, "best": best, "reference": reference}


@screen.on()
def main(argv: list[str] | None = None) -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=scales.REFERENCES, help="default: %(default)s")
    parser.add_argument("--missing", action="store_true", help="keep what is in the file")
    args = parser.parse_args(argv)
    before = json.loads(args.out.read_text(encoding="utf-8"))["references"] if args.missing else []
    known = {r["name"]: r for r in before}
    found: dict[str, dict[str, Any]] = {}
    for reference in study(known):
        found[reference["name"]] = reference
        if reference["name"] not in known:
            print(reference, flush=True)
            _write(args.out, {**known, **found})
    _write(args.out, found)


def _write(path: Path, found: Mapping[str, dict[str, Any]]) -> None:
    command = "python -m hpo_envs.benchmarks.references"
    made = {"command": command, "hpo_envs": VERSION, "references": [*found.values()]}
    atomic.write(path, (json.dumps(made, indent=1) + "\n").encode())


if __name__ == "__main__":
    main()
