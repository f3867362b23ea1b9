"""Trains the weights of the `learned` agent: `python -m hpo_envs.benchmarks.learned.train`.

Writes one `.npz` file per family with one set of weights per fold, and a log of every training. The shipped files and
`benchmarks/learned/training_*.csv` are the output of this command without arguments. The network for the character
sweeps is the one trained on the NMT tables, so that it has seen none of them; what the sweeps teach each other is
computed anew for each language left out.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from hpo_envs import registry
from hpo_envs.agents.models.mixture import Family
from hpo_envs.agents.transfer import learned
from hpo_envs.benchmarks.learned import tables
from hpo_envs.benchmarks.learned.evolution import Settings, Trainer
from hpo_envs.benchmarks.learned.tables import Task
from hpo_envs.benchmarks.runs.loop import one_blas_thread
from hpo_envs.core import screen
from hpo_envs.tables import store
from hpo_envs.tables.files import atomic

Floats = npt.NDArray[np.float64]

JAPANESE = "ja"
"""Fold of the NMT tables that leaves out both directions between Japanese and English."""

LOGGED = 10
"""Generations between two lines of the log."""


@dataclass(frozen=True)
class File:
    """Weights that are trained and shipped together.

    Attributes:
        name: The family of their tables, `generic` for all, or `FAMILY-embedded`.
        teacher: File whose network they have, where that is another one.
        folds: Folds besides those of one language.
    """

    name: str
    teacher: str = ""
    folds: tuple[str, ...] = ()


FILES = {
    f.name: f
    for f in (File("nmthpo", folds=(JAPANESE,)), File("charhpo", "nmthpo"), File("generic"), File("nmthpo-embedded"))
}

EPILOG = """examples:
  python -m hpo_envs.benchmarks.learned.train                             everything, as shipped
  python -m hpo_envs.benchmarks.learned.train --only nmthpo --fold zhen   one fold: the NMT tables without zh-en
  python -m hpo_envs.benchmarks.learned.train --generations 2 --out /tmp/w    a quick look
"""


@dataclass(frozen=True)
class Trained:
    """Weights of one fold.

    Attributes:
        fold: Language left out, empty for none.
        weights: (SIZE,).
        knowledge: What the other tables of its family taught; None without a family.
        languages: Of all tables that both were fitted to.
        log: (fold, generation, fitness, CPU seconds) every `LOGGED` generations.
        seconds: CPU seconds of the training, length-scales included.
    """

    fold: str
    weights: Floats
    knowledge: Family | None
    languages: tuple[str, ...]
    log: tuple[tuple[str, int, float, float], ...]
    seconds: float


def folds(file: str) -> list[str]:
    """Folds of a file: none left out, then each language."""
    if file == learned.GENERIC:
        return [""]
    family = file.partition("-")[0]
    return ["", *tables.folds(family), *FILES[file].folds]


def seen(every: Sequence[Task], fold: str) -> list[Task]:
    """The tasks that a fold trains on."""
    out = {JAPANESE: ("jaen", "enja")}.get(fold, (fold,))
    return [t for t in every if t.language not in out]


def languages_of(every: Sequence[Task]) -> tuple[str, ...]:
    """Languages besides English of the tables of tasks."""
    return registry.languages_of(t.name for t in every)


def tasks_of(file: str, kind: str) -> list[Task]:
    """Tasks that a file is trained on: of its family, or of all families."""
    chosen = "surrogate" if file.endswith("-embedded") else kind
    if file == learned.GENERIC:
        return [t for family in tables.FAMILIES for t in tables.tasks(family, chosen)]
    return tables.tasks(file.partition("-")[0], chosen)


def train_fold(every: Sequence[Task], fold: str, family: bool, settings: Settings, seed: int) -> Trained:
    """Trains one fold; `family` says whether what the tables taught is known to the network."""
    begun = time.process_time()
    own, log = seen(every, fold), []

    def note(generation: int, fitness: float, seconds: float) -> None:
        if generation % LOGGED == 0 or generation == settings.generations - 1:
            log.append((fold, generation, fitness, seconds))

    weights = Trainer(own, family, settings, seed).train(note)
    known = tables.knowledge(own) if family else None
    return Trained(fold, weights, known, languages_of(own), tuple(log), time.process_time() - begun)


def train_file(file: str, chosen: Sequence[str], kind: str, settings: Settings, seed: int) -> list[Trained]:
    """Trains folds of a file; where another family teaches, all folds share one network."""
    from tqdm.auto import tqdm

    every = tasks_of(file, kind)
    if FILES[file].teacher:
        taught = tasks_of(FILES[file].teacher, kind)
        network = train_fold(taught, "", True, settings, seed)
        both = {f: languages_of([*taught, *seen(every, f)]) for f in chosen}
        return [replace(network, fold=f, knowledge=tables.knowledge(seen(every, f)), languages=both[f]) for f in chosen]
    family = file != learned.GENERIC
    return [train_fold(every, f, family, settings, seed) for f in tqdm(chosen, desc=file, unit="fold")]


def save(trained: Sequence[Trained], names: Sequence[str], path: Path) -> None:
    """Writes the weights of all folds, rounded to float32."""
    arrays: dict[str, npt.NDArray[np.generic]] = {
        "feature_names": np.array(list(names), dtype=np.str_),
        "folds": np.array([t.fold for t in trained], dtype=np.str_),
        "languages": np.array([" ".join(t.languages) for t in trained], dtype=np.str_),
        "weights": np.array([t.weights for t in trained], dtype=np.float32),
    }
    known = [t.knowledge for t in trained if t.knowledge is not None]
    if known:
        arrays["lengths"] = np.array([k.lengths for k in known], dtype=np.float32)
        arrays["prior"] = np.array([k.prior for k in known], dtype=np.float32)
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(path, **arrays)  # type: ignore[arg-type]


@screen.on()
def main(arguments: Sequence[str] | None = None) -> int:
    """Trains what was asked for."""
    parser = argparse.ArgumentParser(
        prog="python -m hpo_envs.benchmarks.learned.train",
        description="Trains the weights of the agent `learned` by evolution strategies.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--only", choices=FILES, help="one file instead of all")
    parser.add_argument("--fold", help="one fold instead of all; writes only that one")
    parser.add_argument("--kind", choices=store.KINDS[1:], default="measured", help="tables (default: %(default)s)")
    parser.add_argument("--generations", type=int, default=Settings().generations, help="default: %(default)s")
    parser.add_argument("--seed", type=int, default=0, help="default: %(default)s")
    parser.add_argument("--out", type=Path, default=Path("runs/learned-weights"), help="folder (default: %(default)s)")
    args = parser.parse_args(arguments)
    settings = replace(Settings(), generations=args.generations)
    for file in [args.only] if args.only else FILES:
        _train_file(file, args, settings)
    return 0


def _train_file(file: str, args: argparse.Namespace, settings: Settings) -> None:
    chosen = folds(file) if args.fold is None else [args.fold]
    if not set(chosen) <= set(folds(file)):
        raise SystemExit(f"--fold must be one of {', '.join(folds(file)[1:])} for {file}, got {args.fold!r}")
    with one_blas_thread():
        trained = train_file(file, chosen, args.kind, settings, args.seed)
    generic = file == learned.GENERIC
    names = () if generic else store.load(tables.names(file.partition("-")[0])[0], "surrogate").feature_names
    save(trained, names, args.out / f"learned_{file}.npz")
    distinct = trained[:1] if FILES[file].teacher else trained
    names_of_log = ("file", "fold", "generation", "fitness", "cpu_seconds", "seed")
    rows = [
        (file, fold or "-", generation, f"{fitness:.4f}", f"{seconds:.1f}", args.seed)
        for t in distinct
        for fold, generation, fitness, seconds in t.log
    ]
    log = [dict(zip(names_of_log, row, strict=True)) for row in rows]
    atomic.write_csv(args.out / f"training_{file}.csv", log, names_of_log)
    print(f"{file}: {sum(t.seconds for t in distinct):.0f} CPU seconds for {len(distinct)} network(s)", flush=True)


if __name__ == "__main__":
    raise SystemExit(main())
