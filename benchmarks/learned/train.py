"""Trains the weights of the agent `learned`: `python -m hpo_envs.benchmarks.learned.train`.

Writes `learned.json`, the numbers of each group of tables and seed with the languages that they have seen, and
`training.csv`, a log of every training. The shipped files are the output of this command without arguments.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from hpo_envs.agents.models.stacked_gp import START
from hpo_envs.benchmarks.learned import tasks
from hpo_envs.benchmarks.learned.evolution import Settings, train
from hpo_envs.benchmarks.runs import transfer
from hpo_envs.benchmarks.runs.loop import one_blas_thread
from hpo_envs.families import registry
from hpo_envs.tables import screen
from hpo_envs.tables.catalogue import canonical
from hpo_envs.tables.files import atomic

Floats = npt.NDArray[np.float64]

SEEDS = 3
"""Trainings of each group."""

VALIDATION = 4
"""One of so many of the sweeps' training languages is left for early stopping."""

EPILOG = """examples:
  python -m hpo_envs.benchmarks.learned.train                          everything, as shipped
  python -m hpo_envs.benchmarks.learned.train --only CharHPO --seeds 1 --generations 5 --out /tmp/w    a quick look
"""


@dataclass(frozen=True)
class Group:
    """Tables that weights are trained on.

    Attributes:
        name: Of the weights.
        families: Distributions of the tables.
        without: Languages that are left out, of targets and of sources.
    """

    name: str
    families: tuple[str, ...]
    without: tuple[str, ...] = ()

    @property
    def languages(self) -> dict[str, tuple[str, ...]]:
        """Id -> languages, of the tables trained on."""
        every = {i: registry.languages_of(registry.SPECS[i].tables) for f in self.families for i in tasks.ids(f)}
        return {i: languages for i, languages in every.items() if not set(self.without) & set(languages)}


def groups() -> list[Group]:
    """All sweeps, for translation tables; and all tables without each half of the sweeps' languages, for that half."""
    languages = sorted(set(transfer.distributions()["CharHPO"].languages.values()))
    halves = (languages[::2], languages[1::2])
    without = (Group(f"without {' '.join(h)}", tasks.FAMILIES, tuple(map(canonical, h))) for h in halves)
    return [Group("CharHPO", ("CharHPO",)), *without]


def divided(group: Group, seed: int) -> tuple[list[tasks.Task], list[tasks.Task]]:
    """The tables to train on, and those of languages that are left for early stopping, drawn by the seed."""
    known = group.languages
    sweeps = sorted({x for i in tasks.ids("CharHPO") for x in known.get(i, ())})
    stops = set(np.random.default_rng(seed).permutation(sweeps)[: -(-len(sweeps) // VALIDATION)].tolist())
    seen = [tasks.task(i) for i, languages in known.items() if not stops & set(languages)]
    return seen, [tasks.task(i) for i, languages in known.items() if stops & set(languages)]


def fit(group: Group, settings: Settings, seed: int, log: list[dict[str, object]]) -> Floats:
    """(len(START),) numbers of one training.

    Args:
        group: What is trained on.
        settings: Of the evolution strategy.
        seed: Of all draws, and of the languages left for early stopping.
        log: Gets a record for each look at these.
    """
    seen, kept = divided(group, seed)

    def note(generation: int, score: float, seconds: float) -> None:
        record = {"weights": group.name, "seed": seed, "generation": generation}
        log.append({**record, "validation": f"{score:.4f}", "cpu_seconds": f"{seconds:.1f}"})
        print(*log[-1].values(), flush=True)

    return train(seen, kept, frozenset(group.without), settings, seed, note)


@screen.on()
def main(arguments: Sequence[str] | None = None) -> int:
    """Train the selected weights."""
    parser = argparse.ArgumentParser(
        prog="python -m hpo_envs.benchmarks.learned.train",
        description="Trains the weights of the agent `learned` by evolution strategies.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--only", choices=[g.name for g in groups()], help="one group of tables instead of all")
    parser.add_argument("--generations", type=int, default=Settings().generations, help="default: %(default)s")
    parser.add_argument("--seeds", type=int, default=SEEDS, help="default: %(default)s")
    parser.add_argument("--out", type=Path, default=Path("runs/learned-weights"), help="folder (default: %(default)s)")
    args = parser.parse_args(arguments)
    settings, file = replace(Settings(), generations=args.generations), []
    log: list[dict[str, object]] = []
    for group in groups():
        if args.only not in (None, group.name):
            continue
        with one_blas_thread():
            numbers = [fit(group, settings, seed, log) for seed in range(args.seeds)]
        languages = sorted({language for some in group.languages.values() for language in some})
        seeds = [{"seed": k, "numbers": np.round(n, 4).tolist()} for k, n in enumerate(numbers)]
        file.append({"name": group.name, "languages": languages, "seeds": seeds})
    args.out.mkdir(parents=True, exist_ok=True)
    text = json.dumps({"names": list(START), "tables": "measured", "weights": file}, indent=1)
    atomic.write(args.out / "learned.json", text + "\n")
    atomic.write_csv(args.out / "training.csv", log, ("weights", "seed", "generation", "validation", "cpu_seconds"))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
