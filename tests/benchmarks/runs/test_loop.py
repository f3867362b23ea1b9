"""The run loop: results, refused input, and when it stops."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hpo_envs.benchmarks.comparison import targets
from hpo_envs.benchmarks.runs import run


def test_target_stops_run_where_it_is_met() -> None:
    free = run("random", "NMTHPO-zhen-v0", range(5))
    threshold = float(np.median([r.rewards.max() for r in free]))
    stopped = run("random", "NMTHPO-zhen-v0", range(5), target=lambda a, r: r >= threshold)
    for a, b in zip(free, stopped, strict=True):
        k = targets.first_reaching(a.rewards >= threshold)
        assert len(b) == min(k, len(a))
        assert np.array_equal(a.actions[: len(b)], b.actions)


def test_target_is_asked_of_every_evaluation() -> None:
    """Also of the evaluation with which the budget ends a run."""
    asked: list[tuple[Any, float]] = []
    (one,) = run("random", "NMTHPO-zhen-v0", [3], target=lambda *a: asked.append(a))
    assert asked == list(zip(one.actions.tolist(), one.rewards.tolist(), strict=True))


@pytest.mark.parametrize(
    ("seeds", "message"),
    [
        ([], "1 to 1000000 distinct ints, got \\[\\]"), ([1, 1], "1 to 1000000 distinct ints"), ([-1], "ints >= 0"),
        ([1.5], "got 1.5"), ([2**63], "below 2"), (3, "got 3"), (range(10**10), "1 to 1000000 .* got range"),
    ],
)  # fmt: skip
def test_seeds_are_validated(seeds: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        run("random", "NMTHPO-zhen-v0", seeds)


def test_arguments_and_factories_are_validated() -> None:
    for _ in range(2):  # the first call of an id also makes a scalar environment
        for given, message in (({"sed": 1}, r"got .*\{.*'sed': 1\}: .*'sed'"), (3, "a mapping of arguments, got 3")):
            with pytest.raises(ValueError, match=f"env_kwargs must be .*{message}"):
                run("random", "NMTHPO-zhen-v0", [0], env_kwargs=given)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="env_kwargs must be arguments of FunctionHPO-v0, got {}: .*'function'"):
        run("random", "FunctionHPO-v0", [0])
    with pytest.raises(ValueError, match="agent must be a factory of objects with ask, .*, got None"):
        run(lambda problem, seed: None, "NMTHPO-zhen-v0", [0])  # type: ignore[arg-type, return-value]


THREADS = """
import json, sys
from hpo_envs import agents
from hpo_envs.benchmarks import run
from threadpoolctl import threadpool_info

pools = []

def watched(problem, seed):
    agent = agents.make("bo", problem, seed)
    ask = agent.ask
    def noted():
        action = ask()
        pools.append([[p["filepath"], p["num_threads"]] for p in threadpool_info() if p["user_api"] == "blas"])
        return action
    agent.ask = noted
    return agent

run(watched, "NMTHPO-zhen-v0", [0], budget=6)
maps = open("/proc/self/maps").read().splitlines() if sys.platform == "linux" else []
print(json.dumps([pools, sorted({line.split()[-1] for line in maps if "openblas" in line})]))
"""


def test_agents_have_one_blas_thread() -> None:
    """In a separate process; libraries that are loaded already, as here, are limited in any case."""
    env = {**os.environ, "OPENBLAS_NUM_THREADS": "2", "OMP_NUM_THREADS": "2", "MKL_NUM_THREADS": "2"}
    done = subprocess.run([sys.executable, "-c", THREADS], env=env, capture_output=True, text=True, check=True)
    pools, loaded = json.loads(done.stdout)
    assert len(pools) == 6
    assert {*loaded} <= {path for path, _ in pools[0]}  # before 3.5, threadpoolctl does not see SciPy's
    assert {threads for asked in pools for _, threads in asked} == {1}


@pytest.mark.parametrize("isolate", [False, True])
def test_runs_say_that_agent_could_not_differ_from_random_search(isolate: bool) -> None:
    for agent, budget, expected in (("bo", 3, True), ("bo", 4, None), ("random", 9, True), ("bo-spread", 1, None)):
        made = run(agent, "NMTHPO-zhen-v0", [0, 1], budget=budget, isolate=isolate)
        assert [r.header.get("random_search") for r in made] == [expected] * 2


FORKS = """
import os
from hpo_envs import run
from hpo_envs.agents.random import RandomSearch

class Forks(RandomSearch):
    def ask(self):
        os.fork()
        return super().ask()

if __name__ == "__main__":
    for isolate in (False, True):
        agent = "script:Forks" if isolate else Forks
        print(len(run(agent, "NMTHPO-zhen-v0", [0, 1], budget=3, isolate=isolate)), flush=True)
"""


@pytest.mark.hostile
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_agent_that_forks_leaves_one_run(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(FORKS)
    done = subprocess.run([sys.executable, "-W", "ignore", "script.py"], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "2\n2\n"), done.stderr
