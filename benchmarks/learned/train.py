"""Training of the agent `learned`: `python -m hpo_envs.benchmarks.learned.train`.

Evolution strategies on whole runs: P models times E episodes in one batch. Writes `learned.json`, the hyperparameters
for each group of tables and seed with the training languages, and `training.csv`, a log of all validations. The shipped
files are the output of this command without arguments.
"""

import argparse
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from hpo_envs.agents.models.gp.stacked import START, StackedGP
from hpo_envs.benchmarks.learned import tasks
from hpo_envs.benchmarks.runs import transfer
from hpo_envs.benchmarks.runs.limits import one_blas_thread
from hpo_envs.families import registry
from hpo_envs.tables import screen
from hpo_envs.tables.catalogue import canonical
from hpo_envs.tables.files import atomic
from hpo_envs.tables.table import Floats

SEEDS = 3
"""Number of trainings for each group."""

SIGMA = np.array([0.5, 0.5, 0.5, 0.5, 0.5, 0.25, 8.0, 0.7, 0.7, 0.7, 0.7, 0.5, 0.2, 0.3, 0.2, 0.2])
"""Standard deviation of the perturbation of each entry of `START`; factors are perturbed as logarithms."""


@dataclass(frozen=True)
class Settings:
    """Settings of the training."""

    generations: int = 40  # number of gradient steps
    pairs: int = 6  # mirrored pairs of models per generation
    episodes: int = 16  # runs of each model per generation, the same for all models
    budgets: tuple[int, ...] = (10, 20, 20, 30)  # one of which is drawn
    final: float = 0.5  # weight of the final regret, relative to the mean regret
    rate: float = 0.15  # step size in units of `SIGMA`, of Adam with moments 0.9 and 0.98; it falls linearly to a fifth
    shrink: float = 0.998  # factor of the distance from the start in each generation
    every: int = 10  # generations between two validations
    validation: int = 40  # number of validation episodes


def play(numbers: Floats, episodes: tasks.PaddedEpisodes, budget: int) -> Floats:
    """Return the (P, E, budget) normalised regret of P models after each evaluation, clipped to [0, 1]."""
    e, valid = np.arange(len(episodes.best)), episodes.tables.valid
    shape = (len(numbers), len(e))

    def columns(rows: npt.NDArray[np.intp]) -> Floats:
        return np.asarray(episodes.correlations[e, :, rows])

    model = StackedGP(numbers, episodes.tables, columns, budget)
    free, seen = np.broadcast_to(valid, (*shape, valid.shape[1])).copy(), np.empty((*shape, budget))
    rows = np.where(valid, model.expected, -np.inf).argmax(axis=2)
    for t in range(budget):
        np.put_along_axis(free, rows[..., None], False, axis=2)
        seen[..., t] = episodes.rewards[e, rows]
        if t + 1 < budget:
            model.observe(rows)
            scores = model.log_improvement(seen[..., : t + 1], 1.0 - (t + 1) / budget)
            rows = np.where(free, scores, -np.inf).argmax(axis=2)
    regret = (episodes.best[:, None] - np.maximum.accumulate(seen, axis=2)) / episodes.span[:, None]
    return np.asarray(np.clip(regret, 0.0, 1.0))


def scores(regret: Floats, final: float) -> Floats:
    """Return (P, E) scores, lower is better: the mean regret plus `final` times the final regret."""
    return np.asarray(regret.mean(axis=2) + final * regret[..., -1])


def evolve(
    seen: Sequence[tasks.TableTask],
    validation: Sequence[tasks.TableTask],
    held_out: frozenset[str],
    settings: Settings,
    seed: int,
    log: Callable[[int, float, float], None] = lambda *_: None,
) -> Floats:
    """Return (len(START),) hyperparameters: the best mean of late iterates on the validation tables, else the last.

    The mean at a generation is that of the second half of the iterates by then, or `START` at generation 0.

    Args:
        seen: Tasks for training.
        validation: Tables of other training languages; empty: no early stopping.
        held_out: Languages whose tables are not used as source tasks.
        settings: Settings of the evolution strategy.
        seed: Seed of all draws.
        log: Function called with the generation, the score on the validation episodes, and CPU seconds so far.
    """
    s, rng, how, begun = settings, np.random.default_rng(seed), tasks.EpisodeDistribution(), time.process_time()
    first = np.array([*START.values()])
    at, steps = first, np.zeros((2, len(first)))
    iterates: list[Floats] = []
    kept: list[tuple[float, Floats]] = []
    checked = tasks.draw(validation or seen, s.validation, held_out, np.random.default_rng([seed, 1]), tasks.AS_USED)

    def look(generation: int) -> None:
        mean = first if not generation else np.mean(iterates[generation // 2 :], axis=0)
        score = float(scores(play(mean[None], checked, 20), s.final).mean())
        kept.append((score if validation else -generation, mean))
        log(generation, score, time.process_time() - begun)

    look(0)
    for g in range(s.generations):
        episodes, budget = tasks.draw(seen, s.episodes, held_out, rng, how), int(rng.choice(s.budgets))
        e = rng.standard_normal((s.pairs, len(at)))
        found = scores(play(np.concatenate([at + SIGMA * e, at - SIGMA * e]), episodes, budget), s.final)
        # Episodes count alike, however hard they are.
        found = (found / (found.mean(axis=0) + 0.05)).mean(axis=1)
        apart = found[s.pairs :] - found[: s.pairs]
        gradient = (apart[:, None] * e).mean(axis=0) / max(float(apart.std()), 1e-9)
        steps = np.stack([0.9 * steps[0] + 0.1 * gradient, 0.98 * steps[1] + 0.02 * gradient**2])
        mean, square = steps[0] / (1 - 0.9 ** (g + 1)), steps[1] / (1 - 0.98 ** (g + 1))
        rate = s.rate * (1 - 0.8 * g / s.generations)
        at = first + s.shrink * (at + rate * SIGMA * mean / (np.sqrt(square) + 1e-8) - first)
        iterates.append(at)
        if (g + 1) % s.every == 0 or g + 1 == s.generations:
            look(g + 1)
    return min(kept, key=lambda pair: pair[0])[1]


@dataclass(frozen=True)
class Group:
    """A group of tables for training."""

    name: str  # of the weights
    families: tuple[str, ...]  # distributions of the tables
    without: tuple[str, ...] = ()  # languages left out as targets and as sources

    @property
    def languages(self) -> dict[str, tuple[str, ...]]:
        """Languages of the tables for training, by id."""
        every = {i: registry.held_out_of(registry.SPECS[i].tables) for f in self.families for i in tasks.ids(f)}
        return {i: languages for i, languages in every.items() if not set(self.without) & set(languages)}


def groups() -> list[Group]:
    """Return the groups: CharHPO, for use in translation; for each half of CharHPO's languages, all other tables."""
    languages = sorted(set(transfer.distributions()["CharHPO"].held_out.values()))
    halves = (languages[::2], languages[1::2])
    without = (Group(f"without {' '.join(h)}", tasks.FAMILIES, tuple(map(canonical, h))) for h in halves)
    return [Group("CharHPO", ("CharHPO",)), *without]


def divided(group: Group, seed: int) -> tuple[list[tasks.TableTask], list[tasks.TableTask]]:
    """Return the tables for training, and for early stopping those of a random quarter of its CharHPO languages."""
    known = group.languages
    sweeps = sorted({x for i in tasks.ids("CharHPO") for x in known.get(i, ())})
    stops = set(np.random.default_rng(seed).permutation(sweeps)[: -(-len(sweeps) // 4)].tolist())
    seen = [tasks.task(i) for i, languages in known.items() if not stops & set(languages)]
    return seen, [tasks.task(i) for i, languages in known.items() if stops & set(languages)]


def fit(group: Group, settings: Settings, seed: int, log: list[dict[str, object]]) -> Floats:
    """Train once and return the (len(START),) hyperparameters.

    The seed also draws the languages for early stopping; `log` gets a record of each validation.
    """
    seen, kept = divided(group, seed)

    def note(generation: int, score: float, seconds: float) -> None:
        record = {"weights": group.name, "seed": seed, "generation": generation}
        log.append({**record, "validation": f"{score:.4f}", "cpu_seconds": f"{seconds:.1f}"})
        print(*log[-1].values(), flush=True)

    return evolve(seen, kept, frozenset(group.without), settings, seed, note)


@screen.on()
def main(arguments: Sequence[str] | None = None) -> None:
    """Train the selected weights and save them."""
    parser = argparse.ArgumentParser(prog="python -m hpo_envs.benchmarks.learned.train", description=__doc__)
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


if __name__ == "__main__":
    main()
