"""Studies as data: default seeds (fewer for slow agents), subsample, wildcards of ids, names of agents, TOML files.

    seeds = 100                                  # 0 to 99; or "100-199", or a list; default: 100, or 20 for slow agents
    budget = 50                                  # optional; "all" reads the whole table; default: each id's own
    environments = [
        "NMTHPO-*-v0",                           # ids, with wildcards
        { id = "NMTLC-swen-v0", cost = "evaluations", budget = 200 },
    ]
    agents = [
        "random",                                # registered names; "all": see `Registration.entrant`
        { name = "wide", algorithm = "bo-ucb", hyperparameters = { beta = 4.0 } },
        "my_agents:Greedy",                      # module:factory, looked for next to the file, too
        "policy:ppo.npz",                        # a trained policy, see integrations.candidate_policy.save_policy
    ]

`objective`, `cost`, `shuffle`, `subsample` and `transfer` (family, NMTHPO, ...: the meta-training tasks of
the agents) may be set next to `budget`, for all environments or for one; with the ids TableHPO-v0 and TableLC-v0 also
`table`, the name of a saved table. A pattern stands for the ids that are installed. By default each seed is a
replication: where actions are configurations it sees a random 80 % of them; `subsample = 1` gives all seeds the whole
table. Agents run on the environments that they can work on; `isolate = true` runs each of them in a separate process.
"""

from __future__ import annotations

import contextlib
import fnmatch
import importlib.util
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import gymnasium as gym

from hpo_envs import agents as registry
from hpo_envs.agents.registry import install, supported
from hpo_envs.benchmarks.runs import problem_of
from hpo_envs.benchmarks.runs.loop import MOST_SEEDS
from hpo_envs.families import registry as env_registry
from hpo_envs.families.registry import SPECS
from hpo_envs.tables.checks import nearest, one_of, parsed, scalar

SETTINGS = ("table", "budget", "objective", "cost", "shuffle", "subsample", "transfer")
"""Settings of environments in a study: their arguments, and `transfer`."""

POLICY = "hpo_envs.agents.transfer.policy:Policy"
"""The agent that runs files of trained policies."""


@dataclass(frozen=True)
class Environment:
    """An id and its arguments.

    Attributes:
        id: Registered id.
        kwargs: Arguments of the environment.
        transfer: Distribution of the source tasks of the agents, see `hpo_envs.benchmarks.run`; None: no source tasks.
    """

    id: str
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    transfer: str | None = None

    def problem(self) -> registry.Problem:
        """Return the `Problem` that agents get in this environment; a `ValueError` without the source tasks."""
        with contextlib.closing(gym.make(self.id, disable_env_checker=True, **self.kwargs)) as env:
            return problem_of(env, self.transfer)


@dataclass(frozen=True)
class Entrant:
    """An agent and its name in results.

    Attributes:
        name: Name in results, unique in a study.
        algorithm: Registered name, or `module:factory`.
        hyperparameters: Arguments of the agent.
        isolated: Whether it runs in a separate process, so that its code is imported only there. A string is the
            interpreter of another environment, which has its packages.
    """

    name: str
    algorithm: str
    hyperparameters: Mapping[str, Any] = field(default_factory=dict)
    isolated: bool | str = False

    def describe(self, header: Mapping[str, Any]) -> dict[str, Any]:
        """Return a header with the entrant's name, algorithm and isolation, and without the folder of a policy file."""
        named = {**header, "agent": self.name}
        if self.name != self.algorithm:
            named["algorithm"] = self.algorithm
        if self.algorithm == POLICY:  # the sha256 identifies the file
            file = Path(header["hyperparameters"]["file"]).name
            named["hyperparameters"] = {**header["hyperparameters"], "file": file}
        if self.isolated:
            named["isolated"] = True
        return named

    def fits(self, problem: registry.Problem, /, **more: Any) -> bool:
        """Return whether the agent, with `more` hyperparameters, supports a problem; see `Agent.supports`."""
        given = {**self.hyperparameters, **more}
        if self.algorithm == POLICY:
            from hpo_envs.agents.transfer import policy

            return policy.fits(problem, **given)
        if ":" not in self.algorithm:
            return registry.fits(self.algorithm, problem, **given)
        if not self.isolated:
            return supported(self.algorithm, getattr(registry.factory(self.algorithm), "supports", ()), problem)
        from hpo_envs.benchmarks.runs import isolation

        return supported(self.algorithm, isolation.supports_of(self.algorithm, self.isolated), problem)


@dataclass(frozen=True)
class Study:
    """A study: environments x agents x seeds.

    Attributes:
        environments: Environments with distinct ids.
        agents: Entrants with distinct names.
        seeds: Distinct ints >= 0, sorted.
        subsample: Fraction of the configurations in each run, drawn with its seed, if actions are configurations and
            the environment sets no other.
        by_cost: Whether registered agents that need over a second per run have only the first `SLOW_SEEDS` seeds.
    """

    environments: tuple[Environment, ...]
    agents: tuple[Entrant, ...]
    seeds: tuple[int, ...]
    subsample: float = 1.0
    by_cost: bool = False

    def seeds_of(self, agent: Entrant, problem: registry.Problem) -> tuple[int, ...]:
        """Return the seeds of an agent on a problem: all, or with `by_cost` the first `SLOW_SEEDS` if it is slow."""
        known = self.by_cost and agent.algorithm in registry.AGENTS
        return self.seeds[:SLOW_SEEDS] if known and registry.slow(agent.algorithm, problem) else self.seeds


SUBSAMPLE = 0.8
"""`subsample` of studies that set none: each seed sees a random 80 % of the configurations."""

SEEDS, SLOW_SEEDS = 100, 20
"""Default numbers of seeds: in general, and of agents that take more than a second per run."""

LONGEST_NAME = 120
"""Maximum length of an agent's percent-encoded name, because file names contain it."""


def from_file(path: Path) -> Study:
    """Read a study file; its folder is appended to `sys.path`, so that agents in it can be imported.

    Raises:
        FileNotFoundError: The file does not exist.
        ValueError: The file is not TOML, an entry is not valid, or a module next to the file is hidden by another.
    """
    data, folder = parsed(path, tomllib.loads, "a TOML file"), path.resolve().parent
    if str(folder) not in sys.path:
        sys.path.append(str(folder))
    try:
        study = from_data(data)
        for module in {a.algorithm.partition(":")[0].partition(".")[0] for a in study.agents if ":" in a.algorithm}:
            here = [p.resolve() for p in (folder / module / "__init__.py", folder / f"{module}.py") if p.is_file()]
            found = Path(getattr(importlib.util.find_spec(module), "origin", None) or "") if here else Path()
            if here and found.resolve() not in here:
                raise ValueError(f"agents of module {module} must be those next to the file, got {found}")
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    return study


def from_data(data: Mapping[str, Any]) -> Study:
    """Build a study from the content of a study file.

    Raises:
        ValueError: See `from_file`.
    """
    _known(data, ("environments", "agents", "seeds", "isolate", *SETTINGS), "key of a study")
    for key in ("environments", "agents"):
        if key not in data:
            raise ValueError(f"a study must have {key}, got {', '.join(data) or 'nothing'}")
    shared = {k: data[k] for k in SETTINGS if k in data}
    environments = [e for entry in _listed(data["environments"]) for e in _environments(entry, shared)]
    agents = [c for entry in _listed(data["agents"]) for c in entrants(entry, data.get("isolate", False))]
    _distinct("environments", [e.id for e in environments])
    _distinct("agents", [c.name for c in agents])
    by_cost = "seeds" not in data
    return Study(tuple(environments), tuple(agents), seeds_of(data.get("seeds", SEEDS)), SUBSAMPLE, by_cost)


def seeds_of(given: Any) -> tuple[int, ...]:
    """Return the sorted seeds of `100` (0 to 99), `"100-199"`, or a list of such ranges and of single seeds.

    Raises:
        ValueError: The value has another form or is empty, or seeds are repeated, too large or over `MOST_SEEDS`.
    """
    given = given.tolist() if hasattr(given, "tolist") else given
    if type(given) is int and 1 <= given <= MOST_SEEDS:
        return tuple(range(given))
    found: list[int] = []
    several = isinstance(given, (list, tuple, range))
    for entry in map(scalar, given if several else [given]):
        match = re.fullmatch(r"(\d+)-(\d+)", entry) if isinstance(entry, str) else None
        first, last = map(int, match.groups()) if match else (entry, entry)
        if isinstance(last, int) and last >= 2**63:
            raise ValueError(f"seeds must be below 2**63, got {entry!r}")
        if match and 0 <= last - first < MOST_SEEDS - len(found):
            found.extend(range(first, last + 1))
        elif several and type(entry) is int and entry >= 0 and len(found) < MOST_SEEDS:
            found.append(entry)
        else:
            raise ValueError(
                f'seeds must be an int >= 1, "first-last" or a list of these and ints >= 0, at most {MOST_SEEDS} '
                f"together, got {given!r}"
            )
    _distinct("seeds", found)
    return tuple(sorted(found))


def _environments(entry: Any, shared: Mapping[str, Any]) -> list[Environment]:
    given: dict[str, Any] = dict(entry) if isinstance(entry, Mapping) else {"id": entry}
    _known(given, ("id", *SETTINGS), "key of an environment")
    pattern = given.pop("id", None)
    if not isinstance(pattern, str):
        raise ValueError(f"an environment must be an id or a table with an id, got {entry!r}")
    pattern = "*" if pattern == "all" else pattern
    if set(pattern) & set("*?["):
        own = [s.id for s in env_registry.own()] if env_registry.names_user_tables(pattern) else []
        ids = fnmatch.filter([*(i for i, s in SPECS.items() if env_registry.installed(s)), *own], pattern)
    else:
        ids = [pattern] if env_registry.find(pattern) else []
    if not ids:
        raise ValueError(
            f"environment must be a registered id (hpo-envs list), got {pattern!r}{nearest(pattern, [*SPECS])}"
        )
    kwargs = {**shared, **given}
    for one in ids:
        family = env_registry.family_of(one)
        if lacking := {**family.example}.keys() - kwargs if family else ():
            raise ValueError(f"environment must need no {', '.join(sorted(lacking))} (see hpo-envs tune), got {one!r}")
    if kwargs.get("budget") == "all":
        kwargs["budget"] = None
    if isinstance(names := kwargs.get("objective"), (list, tuple)) and names:
        kwargs["objective"] = tuple(names) if len(names) > 1 else names[0]
    asked = kwargs.pop("transfer", None)
    if not asked:
        return [Environment(i, kwargs) for i in ids]
    from hpo_envs.benchmarks.runs import transfer

    return [Environment(i, kwargs, transfer.resolve(i, asked)) for i in ids]


def entrants(entry: Any, isolated: Any) -> list[Entrant]:
    """Return the agents of an entry of `agents` in a study; `isolated` applies unless the entry sets `isolate`.

    Raises:
        ValueError: The entry is not valid, the agent cannot be run, or a file is not that of a trained policy.
    """
    given: dict[str, Any] = dict(entry) if isinstance(entry, Mapping) else {"name": entry}
    isolated = given.get("isolate", isolated)
    if not isinstance(isolated, (bool, str)) or isolated == "":
        raise ValueError(f"isolate must be true, false or an interpreter, got {isolated!r}")
    if entry == "all":
        return [Entrant(n, n, isolated=isolated) for n, e in registry.AGENTS.items() if e.entrant and e.installed]
    _known(given, ("name", "algorithm", "hyperparameters", "isolate"), "key of an agent")
    name = given.get("name", given.get("algorithm"))
    algorithm, hyperparameters = given.get("algorithm", name), given.get("hyperparameters", {})
    if not (isinstance(name, str) and isinstance(algorithm, str) and isinstance(hyperparameters, Mapping)):
        raise ValueError(
            "an agent must be a name or a table with a name, whose algorithm is a text and hyperparameters a table, "
            f"got {entry!r}"
        )
    if nan := [k for k, v in hyperparameters.items() if v != v]:  # NaN differs from itself, so no run would be found
        raise ValueError(f"hyperparameters of agent {name!r} must not be NaN, got {nan[0]} = nan")
    if not 0 < len(quote(name, safe="")) <= LONGEST_NAME or not name.isprintable():
        raise ValueError(
            f"an agent's name must be 1 to {LONGEST_NAME} printable characters, as in file names, got {name!r:.200}"
        )
    if name in registry.AGENTS and algorithm != name:
        raise ValueError(f"an agent must not have the name of another one, got {name!r} for {algorithm!r}")
    if algorithm.startswith("policy:"):
        from hpo_envs.agents.transfer import policy_file

        file = Path(algorithm.removeprefix("policy:"))
        name = name if name != algorithm else f"policy:{file.name}"
        return [Entrant(name, POLICY, {**hyperparameters, **policy_file.arguments(str(file))}, isolated)]
    if ":" in algorithm and not isolated:
        registry.factory(algorithm)
    elif ":" in algorithm:
        if importlib.util.find_spec(algorithm.partition(":")[0].partition(".")[0] or "?") is None:
            raise ValueError(f"agent must be importable as module:factory, got {algorithm!r}")
    elif not (entry := registry.entry(algorithm)).installed and not isinstance(isolated, str):
        raise ValueError(f"agent {algorithm} must have its package installed, got none: {install(entry.extra or '')}")
    return [Entrant(name, algorithm, hyperparameters, isolated)]


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _known(given: Mapping[str, Any], keys: Collection[str], what: str) -> None:
    for key in given:
        one_of(what, key, keys)


def _distinct(what: str, values: list[Any]) -> None:
    if not values:
        raise ValueError(f"{what} must not be empty, got none")
    if twice := [v for v, count in Counter(values).items() if count > 1]:
        raise ValueError(f"{what} must be distinct, got {min(twice)!r} twice")
