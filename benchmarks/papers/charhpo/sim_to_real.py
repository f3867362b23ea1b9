"""How far what a surrogate says carries over: CharHPO-v0's surrogate, CharMini's measured table, and live training.

    python -m hpo_envs.benchmarks.papers.charhpo.sim_to_real effects                 # hyperparameters, configurations
    python -m hpo_envs.benchmarks.papers.charhpo.sim_to_real agents                  # orders of agents on both tables
    python -m hpo_envs.benchmarks.papers.charhpo.sim_to_real live --out trained/     # minutes of training, resumable

The last one has the same agents train, and trains what they recommend after tuning on the surrogate.

The three have the same sixteen hyperparameters in the same order, so an action of the box [-1, 1]^16 means something on
each: the same place between the bounds, which are narrower for CharMini. On the table it is the nearest row. The
surrogate is of grapheme-to-phoneme conversion, as CharMini is, in four languages other than English.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt

from hpo_envs import agents
from hpo_envs.benchmarks.runs import problem_of
from hpo_envs.benchmarks.study import trainings
from hpo_envs.core import screen
from hpo_envs.tables import store
from hpo_envs.tables.datasets.charhpo import space as paper
from hpo_envs.tables.datasets.charmini.names import ARCHITECTURES
from hpo_envs.tables.datasets.charmini.space import space

Floats = npt.NDArray[np.float64]

AGENTS = ("random", "tpe", "cmaes", "box-bo")
LIVE_AGENTS = ("random", "tpe", "box-bo")
DRAWN = 2000
"""Configurations of the surrogate that effects are computed on."""
FEWEST = 8
"""Rows on which a hyperparameter has to be active to have an effect."""
LIVE = {"evaluations": 8, "epochs": 3, "seeds": 2}
"""Of each agent that trains."""
BEST = {"evaluations": 40, "seeds": 2}
"""Of each agent whose recommendation by the surrogate is trained."""


def surrogate(architecture: str) -> Any:
    """The surrogate's environment: the task is drawn at each reset."""
    return gym.make("CharHPO-v0", disable_env_checker=True, task="g2p", architecture=architecture)


def actions_of(architecture: str) -> Floats:
    """(rows, 16) the actions that stand for the rows of CharMini's table."""
    table = store.load(f"charmini/eng-{architecture}")
    return np.array([paper.action_of(space(architecture), table.config(row)) for row in range(len(table))])


def rank_correlation(a: Floats, b: Floats) -> float:
    """Spearman's."""
    from scipy.stats import spearmanr

    return float(spearmanr(a, b).statistic)


def effects_of(actions: Floats, configs: Floats, values: Floats, architecture: str) -> dict[str, float]:
    """Rank correlation of each ordered hyperparameter with a value, where it is active on enough rows and varies."""
    found = {}
    for j, h in enumerate(hyperparameters := space(architecture)):
        on = np.ones(len(values), bool)
        if h.condition is not None:
            i = [g.name for g in hyperparameters].index(h.condition[0])
            on = np.isin(configs[:, i], [hyperparameters[i].values.index(v) for v in h.condition[1]])
        if h.kind != "categorical" and on.sum() >= FEWEST and np.ptp(actions[on, j]) > 0 and np.ptp(values[on]) > 0:
            found[h.name] = rank_correlation(actions[on, j], values[on])
    return found


def effects(architecture: str) -> tuple[dict[str, tuple[float, float]], float]:
    """What a surrogate and CharMini say of hyperparameters and configurations.

    Returns:
        Effects by the surrogate, mean over its languages, and by CharMini; and the rank correlation of CharMini's rows
        with the mean ranks that the surrogate gives them, each at its place in the box.
    """
    table, known = store.load(f"charmini/eng-{architecture}"), actions_of(architecture)
    measured = effects_of(known, table.configs, table.final("accuracy"), architecture)
    function = surrogate(architecture).unwrapped.params.function
    drawn = np.random.default_rng(0).uniform(-1.0, 1.0, (DRAWN, known.shape[1]))
    by_task, ranks = [], []
    for task in range(len(function.tables)):
        answer = function.evaluate(np.full(DRAWN, task), drawn)
        by_task.append(effects_of(drawn, answer.configs, answer.metrics["accuracy"], architecture))
        accuracy = function.evaluate(np.full(len(known), task), known).metrics["accuracy"]
        ranks.append(accuracy.argsort().argsort())
    both = {name: (float(np.mean([e[name] for e in by_task])), measured[name]) for name in measured}
    return both, rank_correlation(np.mean(ranks, axis=0), table.final("accuracy"))


def play(name: str, seed: int, env: Any, budget: int, rows: Floats | None = None) -> tuple[Floats, Any]:
    """(budget,) rewards of an agent of the box in an environment, and what it recommends.

    Args:
        name: Registered name.
        seed: Of agent and episode.
        env: Of the box, or of rows.
        budget: Evaluations.
        rows: (rows, 16) actions that stand for the rows; None where actions are the box's.
    """
    env.reset(seed=seed)
    agent = agents.make(name, problem_of(surrogate("lstm")), seed)
    rewards = np.empty(budget)
    for k in range(budget):
        action = agent.ask()
        taken = action if rows is None else int(np.square(rows - action).sum(axis=1).argmin())
        _, rewards[k], _, _, info = env.step(taken)
        agent.tell(action, float(rewards[k]), info)
    return rewards, agent.recommend()


def ranked(rewards: Mapping[str, Sequence[Floats]]) -> dict[str, tuple[float, float]]:
    """Best reward so far by agent: mean over evaluations and seeds; standard error of its difference from the first's.

    Agents have the same seeds, and with them the same tasks of the surrogate.
    """
    means = {name: np.array([np.maximum.accumulate(r).mean() for r in runs]) for name, runs in rewards.items()}
    apart = {name: of - next(iter(means.values())) for name, of in means.items()}
    return {name: (float(of.mean()), float(apart[name].std(ddof=1) / len(of) ** 0.5)) for name, of in means.items()}


def alike(a: Mapping[str, tuple[float, float]], b: Mapping[str, tuple[float, float]]) -> tuple[int, int]:
    """Pairs of agents that two worlds order alike, and all pairs."""
    pairs = list(itertools.combinations([name for name in a if name in b], 2))
    return sum((a[x] > a[y]) == (b[x] > b[y]) for x, y in pairs), len(pairs)


def on_tables(architecture: str, seeds: int, budget: int) -> dict[str, dict[str, tuple[float, float]]]:
    """Scores of agents on the surrogate and on the table."""
    rows = actions_of(architecture)
    worlds: dict[str, tuple[Any, Floats | None]] = {
        "surrogate": (surrogate(architecture), None),
        "table": (gym.make(f"CharMini-eng-{architecture}-v0", disable_env_checker=True, budget=None), rows),
    }
    return {
        world: ranked({name: [play(name, seed, env, budget, of)[0] for seed in range(seeds)] for name in AGENTS})
        for world, (env, of) in worlds.items()
    }


def tasks() -> list[str]:
    """What is trained: `tune AGENT SEED` and `best AGENT SEED`."""
    tuned = [f"tune {name} {seed}" for seed in range(LIVE["seeds"]) for name in LIVE_AGENTS]
    return tuned + [f"best {name} {seed}" for seed in range(BEST["seeds"]) for name in LIVE_AGENTS]


def train(task: str, architecture: str = "lstm") -> dict[str, Any]:
    """Carries out one of `tasks`, really training; returns a record with its rewards."""
    what, name, seed = task.split()
    epochs = {"epochs": LIVE["epochs"]} if what == "tune" else {}
    env: Any = gym.make(f"CharMiniLive-eng-{architecture}-v0", disable_env_checker=True, budget=None, **epochs)
    if what == "tune":
        rewards, _ = play(name, int(seed), env, LIVE["evaluations"])
    else:
        _, action = play(name, int(seed), surrogate(architecture), BEST["evaluations"])
        env.reset(seed=0)
        rewards = np.array([env.step(action)[1]])
    env.close()
    return {"task": task, "rewards": rewards.tolist()}


def show_effects() -> None:
    """Prints the effects of hyperparameters."""
    for architecture in ARCHITECTURES:
        both, rows = effects(architecture)
        print(f"\n{architecture}: rank correlation with accuracy\n{'':18}CharHPO  CharMini")
        for name, pair in both.items():
            print(f"{name:18}{pair[0]:7.2f}{pair[1]:10.2f}")
        there, here = np.array([*both.values()]).T
        print(f"effects, surrogate and table: {rank_correlation(there, here):.2f}; rows ranked by both: {rows:.2f}")


def show_agents(seeds: int, budget: int) -> None:
    """Prints the scores of agents on the surrogate and the table."""
    for architecture in ARCHITECTURES:
        print(f"\n{architecture}: best accuracy so far, mean over {budget} evaluations and {seeds} seeds")
        worlds = on_tables(architecture, seeds, budget)
        show_worlds(worlds)


def show_worlds(worlds: Mapping[str, Mapping[str, tuple[float, float]]]) -> None:
    """Prints scores by world, ± the standard error of the difference from the first agent, and pairs ordered alike."""
    for name in next(iter(worlds.values())):
        cells = (f"{of[name][0]:8.2f} ± {of[name][1]:.2f}" if name in of else "" for of in worlds.values())
        print(f"{name:10}" + "".join(f"{cell:>18}" for cell in cells))
    for a, b in itertools.combinations(worlds, 2):
        same, pairs = alike(worlds[a], worlds[b])
        print(f"{a} and {b}: {same} of {pairs} pairs of agents in the same order")


def show_live(folder: Path, architecture: str = "lstm") -> None:
    """Trains what is missing, and prints what came of it."""
    trainings.conduct(tasks(), train, folder)
    found = {r["task"]: np.array(r["rewards"]) for r in trainings.records(folder)}
    tuned = {n: [found[f"tune {n} {s}"] for s in range(LIVE["seeds"])] for n in LIVE_AGENTS}
    print(f"best accuracy so far, {LIVE['evaluations']} trainings of {LIVE['epochs']} epochs, {LIVE['seeds']} seeds")
    worlds = on_tables(architecture, 20, LIVE["evaluations"])
    show_worlds({"live": ranked(tuned), **worlds})
    rows = store.load(f"charmini/eng-{architecture}").final("accuracy")
    print(
        f"\nrecommended by the surrogate, trained; the table's median is {np.median(rows):.1f}, best {rows.max():.1f}"
    )
    for name in LIVE_AGENTS:
        ends = np.concatenate([found[f"best {name} {s}"] for s in range(BEST["seeds"])])
        below = 100 * np.mean([(rows < end).mean() for end in ends])
        print(f"{name:10}{', '.join(f'{end:.1f}' for end in ends)}: better than {below:.0f} % of the rows")


@screen.on()
def main(arguments: Sequence[str] | None = None) -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=("effects", "agents", "live"))
    parser.add_argument("--seeds", type=int, default=20, help="of each agent on tables (default: %(default)s)")
    parser.add_argument("--budget", type=int, default=20, help="evaluations on tables (default: %(default)s)")
    parser.add_argument("--out", type=Path, default=Path("trained"), help="folder of trainings (default: %(default)s)")
    args = parser.parse_args(arguments)
    if args.part == "effects":
        show_effects()
    elif args.part == "agents":
        show_agents(args.seeds, args.budget)
    else:
        show_live(args.out)


if __name__ == "__main__":
    main()
