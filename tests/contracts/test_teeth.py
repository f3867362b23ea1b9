"""Teeth of the contracts: for each rule an object that breaks it, and the message."""

import dataclasses
import itertools
import pickle
import re
from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from hpo_envs.agents import AGENTS as REGISTERED
from hpo_envs.agents import Agent, Problem
from hpo_envs.benchmarks.runs import run
from hpo_envs.core.family import Family, Spec
from hpo_envs.families import registry
from hpo_envs.families.nmthpo.page import NMTHPOEnv, NMTHPOVectorEnv
from hpo_envs.tables import store
from hpo_envs.tables.table import Table
from hpo_envs.testing import (
    AGENT_RULES,
    ENV_RULES,
    FAMILY_RULES,
    TABLE_RULES,
    check_agent,
    check_env,
    check_family,
    check_table,
)
from hpo_envs.testing import agents as contract
from hpo_envs.testing.rules import finite, same

COVERS = (
    "hpo_envs.core.family",
    "hpo_envs.testing.agents",
    "hpo_envs.testing.envs",
    "hpo_envs.testing.families",
    "hpo_envs.testing.rules",
    "hpo_envs.testing.tables",
)
"""Modules whose rules are broken in this file."""


def caught(check: Callable[[], None], *, subject: str, rule: str, why: str) -> None:
    """Expect the message of a broken rule."""
    with pytest.raises(AssertionError, match=f"^{re.escape(f'{subject} breaks the rule {rule!r}: ')}.*{why}"):
        check()


# -- environments ------------------------------------------------------------------------------------------------------


class Honest(NMTHPOEnv):
    """An environment that breaks no rule."""


class HonestBatch(NMTHPOVectorEnv):
    """A vectorized environment that breaks no rule."""


class Wide(NMTHPOEnv):
    def reset(self, **kwargs: Any) -> Any:
        observation, info = super().reset(**kwargs)
        return observation.astype(np.float64), info


class Infinite(NMTHPOEnv):
    def step(self, action: Any) -> Any:
        observation, _, *rest = super().step(action)
        return observation, float("inf"), *rest


class Free(NMTHPOEnv):
    def step(self, action: Any) -> Any:
        *rest, info = super().step(action)
        return *rest, {k: v for k, v in info.items() if k != "cost"}


class Unseeded(NMTHPOEnv):
    calls = itertools.count()

    def step(self, action: Any) -> Any:
        observation, reward, *rest = super().step(action)
        return observation, reward + next(self.calls), *rest


class Sharing(NMTHPOEnv):
    def reset(self, **kwargs: Any) -> Any:
        observation, info = super().reset(**kwargs)
        self.history = {"steps": 0}
        return observation, {**info, "history": self.history}

    def step(self, action: Any) -> Any:
        *rest, info = super().step(action)
        self.history["steps"] = self.history.get("steps", 0) + 1
        return *rest, {**info, "history": self.history}


class Closure(NMTHPOEnv):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.scale = lambda reward: reward


class Short(NMTHPOEnv):
    def step(self, action: Any) -> Any:
        if getattr(self, "stepped", False):
            raise RuntimeError("one step is enough")
        self.stepped = True
        return super().step(action)


class Restarting(NMTHPOEnv):
    over = False

    def step(self, action: Any) -> Any:
        if self.over:
            self.reset()
        out = super().step(action)
        self.over = bool(out[2])
        return out


class Lenient(NMTHPOEnv):
    def step(self, action: Any) -> Any:
        try:
            return super().step(action)
        except ValueError:
            return super().step(0)


class Generous(NMTHPOEnv):
    def __init__(self, *args: Any, budget: Any = 20, **kwargs: Any) -> None:
        super().__init__(*args, budget=budget if budget else 20, **kwargs)


class Overmasked(NMTHPOEnv):
    def step(self, action: Any) -> Any:
        *rest, info = super().step(action)
        return *rest, info | {"action_mask": np.ones_like(info["action_mask"])}


class Numpys(NMTHPOEnv):
    def config(self, action: Any) -> dict[str, Any]:
        return {name: np.float32(0.5) for name in super().config(action)}


class Sloppy(NMTHPOVectorEnv):
    def step(self, actions: Any) -> Any:
        observation, reward, *rest = super().step(actions)
        return observation, reward + 1e-9, *rest


class Forgetful(NMTHPOVectorEnv):
    def step(self, actions: Any) -> Any:
        *rest, info = super().step(actions)
        if self.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP:
            info = {k: v for k, v in info.items() if "final_obs" not in k}
        return *rest, info


class Copying(NMTHPOVectorEnv):
    def step(self, actions: Any) -> Any:
        observation, *rest = super().step(actions)
        return observation.copy(), *rest


class Scribbling(NMTHPOVectorEnv):
    def step(self, actions: Any) -> Any:
        out = super().step(actions)
        actions[:] = 0
        return out


ENVS: list[tuple[str, type[NMTHPOEnv], type[NMTHPOVectorEnv] | None, str]] = [
    ("gymnasium", Wide, None, "AssertionError|observation"),
    ("bounds", Infinite, None, "rewards must be finite, got inf"),
    ("bounds", Free, None, r"info\['cost'\] must be >= 0, got None"),
    ("repeatable", Unseeded, None, "the same seed must give the same trajectory"),
    ("private", Sharing, None, "results of a step must be copies"),
    ("copies", Closure, None, "(pickle|PicklingError|AttributeError)"),
    ("time-limit", Short, None, "RuntimeError: one step is enough"),
    ("reset-needed", Restarting, None, "a step after the end must raise a ResetNeeded, got none"),
    ("bad-actions", Lenient, None, "action 'x' must raise a ValueError, got none"),
    ("bad-arguments", Generous, None, "budget=0 must raise a ValueError, got none"),
    ("masks", Overmasked, None, r"action_masks\(\) must be the mask of info, as bool"),
    ("configurations", Numpys, None, "TypeError: Object of type float32 is not JSON serializable"),
    ("batch-next-step", Honest, Sloppy, "the reward must be that of the scalar form"),
    ("batch-same-step", Honest, Forgetful, r"info\['final_obs'\] must be that of the scalar form"),
    ("batch-copy", Honest, Copying, "copy=False must return the same array each time"),
    ("batch-actions", Honest, Scribbling, "a step must not write into its actions"),
]


@pytest.mark.parametrize(
    ("rule", "env", "vector", "why"), ENVS, ids=[f"{e[0]}-{(e[2] or e[1]).__name__}" for e in ENVS]
)
def test_broken_environments_are_rejected(rule: str, env: Any, vector: Any, why: str) -> None:
    def check() -> None:
        check_env(env, vector=vector, rules=[rule], pair="zhen")

    caught(check, subject=f"environment {env.__name__}", rule=rule, why=why)


def test_honest_environments_are_accepted() -> None:
    check_env(Honest, vector=HonestBatch, pair="zhen")


# -- agents ------------------------------------------------------------------------------------------------------------


class Plain(Agent):
    """Uniform search that breaks no rule."""

    def __init__(self, problem: Problem, seed: int) -> None:
        super().__init__(problem, seed)
        self.best: tuple[float, Any] = (-np.inf, self.draw())

    def draw(self) -> Any:
        if self.problem.levels is None:
            return int(self.rng.integers(self.problem.rows))
        return np.array([self.rng.integers(self.problem.rows), len(self.problem.levels) - 1])

    def ask(self) -> Any:
        return self.draw()

    def tell(self, action: Any, reward: Any, info: Any) -> None:
        if info.get("finished", True) and reward > self.best[0]:
            self.best = reward, action

    def recommend(self) -> Any:
        return self.best[1]


class Speechless:
    """An agent without `recommend`."""

    done = False

    def __init__(self, problem: Problem, seed: int) -> None: ...

    def ask(self) -> Any: ...

    def tell(self, action: Any, reward: Any, info: Any) -> None: ...


class Undecided(Plain):
    done = None  # type: ignore[assignment]


class Outside(Plain):
    def recommend(self) -> Any:
        return -1


class Beyond(Plain):
    def ask(self) -> Any:
        return 10**6


class Common(Plain):
    generator = np.random.default_rng(0)

    def ask(self) -> Any:
        return int(self.generator.integers(self.problem.rows))


class Deterministic(Plain):
    def ask(self) -> Any:
        return 3


class Cheat(Plain):
    def ask(self) -> Any:
        return int(np.random.randint(50))  # noqa: NPY002


class Impatient(Plain):
    """Takes submissions for results."""

    def tell(self, action: Any, reward: Any, info: Any) -> None:
        self.best = reward, action


class Repeating(Plain):
    """Suggests a row that is pending."""

    def ask(self) -> Any:
        return np.array([0, len(self.problem.levels) - 1])  # type: ignore[arg-type]


class Strict(Plain):
    """Raises an error without a message."""

    def tell(self, action: Any, reward: Any, info: Any) -> None:
        if not info.get("finished", True):
            raise ValueError("no")
        super().tell(action, reward, info)


AGENTS: list[tuple[str, type, str, dict[str, Any], str]] = [
    ("interface", Speechless, "rows", {}, "must have ask, tell, recommend and done, got .* without recommend"),
    ("interface", Undecided, "rows", {}, "done must be a bool, got None"),
    ("actions", Outside, "rows", {}, r"recommendation of .* must be an int in \[0, 118\), got -1"),
    ("actions", Beyond, "rows", {}, r"ValueError: action 0 of Beyond on .* must be an int in \[0, 118\), got 1000000"),
    ("repeatable", Common, "rows", {}, "a seed must give the same run alone and among others, got other actions"),
    ("seeded", Deterministic, "rows", {}, "different seeds must give different runs, got 12 equal ones"),
    ("hidden-state", Cheat, "rows", {}, "runs must not depend on the global generators"),
    ("late-results", Impatient, "levels", {}, "must recommend the best evaluated action"),
    ("late-results", Repeating, "levels", {}, "must not suggest a pending action again"),
    ("late-results", Strict, "levels", {}, r"must continue while results are pending \(waits=False\), got no"),
    ("late-results", Strict, "levels", {"waits": True}, "must raise 'workers must be 1 for ...', got no"),
    ("late-results", Plain, "levels", {"waits": True}, "must raise ValueError in tell for steps that only submit"),
]


@pytest.mark.parametrize(
    ("rule", "agent", "stage", "settings", "why"), AGENTS, ids=[f"{a[0]}-{a[1].__name__}-{a[3]}" for a in AGENTS]
)
def test_broken_agents_are_rejected(rule: str, agent: Any, stage: str, settings: dict[str, Any], why: str) -> None:
    def check() -> None:
        check_agent(agent, stages=[stage], rules=[rule], **settings)

    caught(check, subject=f"agent {agent.__name__} on {stage}", rule=rule, why=why)


def test_honest_agents_are_accepted() -> None:
    check_agent(Plain)
    check_agent("hyperband", waits=True, rules=["late-results"])


def test_slow_agents_play_until_their_model_chooses(monkeypatch: pytest.MonkeyPatch) -> None:
    lengths: list[int] = []

    def noted(*args: Any, **kwargs: Any) -> Any:
        runs = run(*args, **kwargs)
        lengths.extend(map(len, runs))
        return runs

    monkeypatch.setattr(contract, "run", noted)
    check_agent("bo-ei-rbf", stages=["rows"], rules=["actions"])
    monkeypatch.setitem(REGISTERED, "bo-ei-rbf", dataclasses.replace(REGISTERED["bo-ei-rbf"], slow=("anywhere",)))
    check_agent("bo-ei-rbf", stages=["rows", "levels"], rules=["actions"])
    assert lengths[:4] == [20, 20, 6, 6], "three random candidates, and three of the model's"
    assert all(6 <= length <= 8 for length in lengths[4:])


# -- tables ------------------------------------------------------------------------------------------------------------


def zhen(**changes: Any) -> Table:
    table = store.load("nmthpo/zhen")
    origin = {"sha256": "", **{k: changes.pop(k) for k in ("kind", "commit", "licence", "notes") if k in changes}}
    return dataclasses.replace(table, provenance=dataclasses.replace(table.provenance, **origin), **changes)


def tampered(name: str, writable: bool) -> Table:
    table = zhen()
    array = getattr(table, name).copy()
    array.flat[0] += 1.0
    array.setflags(write=writable)
    object.__setattr__(table, name, array)
    return table


TABLES: list[tuple[str, Callable[[], Table], str]] = [
    ("provenance", lambda: zhen(name="zhen"), "name must be dataset/table, got 'zhen'"),
    ("provenance", lambda: zhen(commit="main"), "provenance.commit must be 40 hex digits, got 'main'"),
    ("provenance", lambda: zhen(licence=""), "provenance.licence must not be empty"),
    ("provenance", lambda: zhen(kind="surrogate", notes=()), "provenance.notes must describe the surrogate, got none"),
    ("laws", lambda: tampered("values", False), "the content must be that of its sha256, got "),
    ("read-only", lambda: tampered("values", True), "values must be read-only"),
]


@pytest.mark.parametrize(("rule", "make", "why"), TABLES, ids=[f"{t[0]}-{i}" for i, t in enumerate(TABLES)])
def test_broken_tables_are_rejected(rule: str, make: Callable[[], Table], why: str) -> None:
    table = make()
    caught(lambda: check_table(table, rules=[rule]), subject=f"table {table.name}", rule=rule, why=why)


# -- families ----------------------------------------------------------------------------------------------------------

PAGE = """Rows of a toy.

## Description
A toy.
## Action Space
`Discrete`.
## Observation Space
`Box`, float32.

| index | meaning |
## Rewards
Points.
## Starting State
Nothing known.
## Episode End
The budget.
## Information
`cost`, `metrics`
## Arguments
`pair`
## Table
One.
## References
None.
## Version History
- v0: first
"""


class ToyEnv(NMTHPOEnv):
    __doc__ = PAGE


class ToyVectorEnv(NMTHPOVectorEnv):
    """The batched form."""


class BareEnv(NMTHPOEnv):
    __doc__ = PAGE.replace("## Rewards", "## Reward").replace("| index |", "")


class BareVectorEnv(NMTHPOVectorEnv):
    """The batched form."""


def toy(entry: str = "ToyEnv", **changes: Any) -> Family:
    spec = Spec(f"{entry}-zhen-v0", ("nmthpo/zhen",), {"pair": "zhen", "objective": "bleu"})
    given: dict[str, Any] = {"ids": (spec,), **changes}
    return Family(entry, "nmthpo", f"{__name__}:{entry}", **given)


FAMILIES: list[tuple[str, Callable[[], Family], str]] = [
    ("record", lambda: toy(short={}), "short must limit an episode to a few steps, got no argument"),
    ("headings", lambda: toy("BareEnv"), r"headings of \S+:BareEnv must be Description, .*, got .*, Reward, "),
    ("information", toy, "section Information of ToyEnv-zhen-v0 must name every key, got none of "),
    ("arguments", toy, "section Arguments of ToyEnv-zhen-v0 must name objective"),
    ("ids", toy, "the page of ToyEnv-zhen-v0 must name it, got "),
    ("observation", lambda: toy("BareEnv"), "section Observation Space of BareEnv-zhen-v0 must have '| index |'"),
]


@pytest.mark.parametrize(("rule", "make", "why"), FAMILIES, ids=[f[0] for f in FAMILIES])
def test_broken_families_are_rejected(rule: str, make: Callable[[], Family], why: str) -> None:
    registries: tuple[dict[str, Any], ...] = (registry.FAMILIES, registry.SPECS, gym.registry)
    before = [dict(registered) for registered in registries]
    family = make()
    why = why.replace("| index |", r"\| index \|")
    try:
        caught(lambda: check_family(family, rules=[rule]), subject=f"family {family.name}", rule=rule, why=why)
    finally:  # what was added goes again
        for registered, known in zip(registries, before, strict=True):
            registered.clear()
            registered.update(known)


# -- the checks --------------------------------------------------------------------------------------------------------


def test_every_rule_rejects_something() -> None:
    assert {e[0] for e in ENVS} == {*ENV_RULES}
    assert {a[0] for a in AGENTS} == {*AGENT_RULES}
    assert {t[0] for t in TABLES} == {*TABLE_RULES}
    assert {f[0] for f in FAMILIES} == {*FAMILY_RULES}


def test_checks_reject_invalid_arguments() -> None:
    with pytest.raises(ValueError, match="rules must be one of .*, got 'bound', did you mean 'bounds'"):
        check_env("NMTHPO-zhen-v0", rules=["bound"])
    with pytest.raises(ValueError, match="agent must be one of .*, got 'randon', did you mean 'random'"):
        check_agent("randon")
    with pytest.raises(ValueError, match="stages must be one of .*, got 'row', did you mean 'rows'"):
        check_agent("random", stages=["row"])
    with pytest.raises(ValueError, match="table must be a Table, got 'zhen'"):
        check_table("zhen")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="family must be a Family, got 'FIESTA'"):
        check_family("FIESTA")  # type: ignore[arg-type]


def test_nested_values_are_compared_to_a_tolerance() -> None:
    one = {"a": np.array([1.0, 2.0]), "b": {"c": "x"}}
    assert same(one, pickle.loads(pickle.dumps(one)))
    assert not same(one, {**one, "b": {"c": "y"}})
    assert not same(one, {"a": one["a"]})
    assert not same(1.0, 1.0 + 1e-9)
    assert same(1.0, 1.0 + 1e-9, 1e-6)
    assert finite(one)
    assert not finite({"a": {"b": np.array([1.0, np.nan])}})
