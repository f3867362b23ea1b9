"""Print the settings of the external optimizers as a table.

    python -m hpo_envs.commands.adapters            # with the measured overhead of each suggestion
    python -m hpo_envs.commands.adapters --quick    # without

Space, design, choice, reported outcomes and settings are from the section `Given` of the classes' docstrings.
"""

import argparse
import time
import warnings
from collections.abc import Sequence

import gymnasium as gym
import numpy as np

from hpo_envs import agents
from hpo_envs.agents.registry import load, version_of
from hpo_envs.benchmarks.runs import problem_of
from hpo_envs.commands.docstrings import doc_of
from hpo_envs.tables import screen

COLUMNS = ("space", "initial", "choice", "told", "settings")
"""Entries of the section `Given` of a docstring."""

TASKS = ("CharHPO-inflection-alb-lstm-v0", "NMTHPO-zhen-mo-v0", "CharMiniLC-eng-lstm-v0", "CharHPO-v0")
"""Ids for the measurement of the overhead, which uses the first one that the agent supports."""

SUGGESTIONS = 20


def rows() -> dict[tuple[str, ...], list[str]]:
    """Return names of agents -> texts of `COLUMNS` (empty if undocumented), for each class of external optimizers."""
    found: dict[str, list[str]] = {}
    for name in agents.names():
        if agents.entry(name).extra:
            found.setdefault(agents.entry(name).target, []).append(name)
    each = {tuple(names): doc_of(load(target)).items("Given") for target, names in found.items()}
    return {names: [given.get(column, "") for column in COLUMNS] for names, given in each.items()}


def overhead(name: str) -> float:
    """Return the mean CPU time in ms of `ask` plus `tell` on the first of `TASKS` that fits the agent; NaN if none."""
    for env_id in TASKS:
        env = gym.make(env_id, disable_env_checker=True)
        if not agents.fits(name, problem := problem_of(env)):
            continue
        env.reset(seed=0)
        agent, spent = agents.make(name, problem, 0), 0.0
        for _ in range(SUGGESTIONS):
            start = time.process_time()
            action = agent.ask()
            spent += time.process_time() - start
            _, reward, *_, info = env.step(action)
            start = time.process_time()
            agent.tell(action, reward, info)
            spent += time.process_time() - start
        return 1000 * spent / SUGGESTIONS
    return float("nan")


@screen.on()
def main(argv: Sequence[str] | None = None) -> int:
    """Print the table and return 0; without `--quick`, measure the overhead of each installed agent."""
    parser = argparse.ArgumentParser(prog="hpo_envs.commands.adapters", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="do not measure the overhead")
    quick = parser.parse_args(argv).quick
    print("| agent | package |", " | ".join([*COLUMNS, "ms"]), "|\n|" + "---|" * (len(COLUMNS) + 3))
    for names, given in rows().items():
        package = ", ".join(" ".join(pair) for pair in version_of(names[0]).items())
        taken = []
        for name in names:
            if not quick and agents.entry(name).installed:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    taken.append(overhead(name))
        shown = ", ".join("" if np.isnan(ms) else f"{ms:.3g}" for ms in taken)
        print(f"| {', '.join(f'`{n}`' for n in names)} | {package} |", " | ".join([*given, shown]), "|", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
