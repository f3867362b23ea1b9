"""Teeth of the contracts: for each rule an object that breaks it, and the message."""

import dataclasses
import functools
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
from tests.helpers import rejects

COVERS = (
    "hpo_envs.core.family", "hpo_envs.testing.agents", "hpo_envs.testing.envs", "hpo_envs.testing.families",
    "hpo_envs.testing.rules", "hpo_envs.testing.tables",
)  # fmt: skip
"""Modules whose rules are broken in this file."""


def caught(check: Callable[[], None], *, subject: str, rule: str, why: str) -> None:
    """Expect the message of a broken rule."""
    rejects(f"^{re.escape(f'{subject} breaks the rule {rule!r}: ')}.*{why}", check, error=AssertionError)


# -- environments ------------------------------------------------------------------------------------------------------


class Honest(NMTHPOEnv):
    """An environment that breaks no rule."""


class HonestBatch(NMTHPOVectorEnv):
    """A vectorized environment that breaks no rule."""


Broken = Callable[..., Any]


def broken(base: type, **methods: Broken) -> Any:
    """A class that is broken in these methods only."""
    return type("Broken", (base,), {"__module__": __name__, **methods})


def after(change: Broken, base: Any = NMTHPOEnv) -> Broken:
    """A `step` whose results are changed."""
    return lambda self, action: change(*base.step(self, action))


def wide(self: Any, **kwargs: Any) -> Any:
    observation, info = NMTHPOEnv.reset(self, **kwargs)
    return observation.astype(np.float64), info


def sharing(self: Any, **kwargs: Any) -> Any:
    observation, info = NMTHPOEnv.reset(self, **kwargs)
    self.history = {"steps": 0}
    return observation, {**info, "history": self.history}


def counting(self: Any, action: Any) -> Any:
    *rest, info = NMTHPOEnv.step(self, action)
    self.history["steps"] = self.history.get("steps", 0) + 1
    return *rest, {**info, "history": self.history}


def closure(self: Any, *args: Any, **kwargs: Any) -> None:
    NMTHPOEnv.__init__(self, *args, **kwargs)
    self.scale = lambda reward: reward


def once(self: Any, action: Any) -> Any:
    if getattr(self, "stepped", False):
        raise RuntimeError("one step is enough")
    self.stepped = True
    return NMTHPOEnv.step(self, action)


def restarting(self: Any, action: Any) -> Any:
    if getattr(self, "over", False):
        self.reset()
    out = NMTHPOEnv.step(self, action)
    self.over = bool(out[2])
    return out


def lenient(self: Any, action: Any) -> Any:
    try:
        return NMTHPOEnv.step(self, action)
    except ValueError:
        return NMTHPOEnv.step(self, 0)


def forgetful(self: Any, actions: Any) -> Any:
    *rest, info = NMTHPOVectorEnv.step(self, actions)
    same_step = self.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    return *rest, {k: v for k, v in info.items() if not same_step or "final_obs" not in k}


def scribbling(self: Any, actions: Any) -> Any:
    out = NMTHPOVectorEnv.step(self, actions)
    actions[:] = 0
    return out


CALLS = itertools.count()
# The rule, methods of the broken class (of the vectorized one for rules of batches), and the message.
ENVS: list[tuple[str, dict[str, Broken], str]] = [
    ("gymnasium", {"reset": wide}, "AssertionError|observation"),
    ("bounds", {"step": after(lambda o, _, *rest: (o, float("inf"), *rest))}, "rewards must be finite, got inf"),
    (
        "bounds",
        {"step": after(lambda *out: (*out[:4], {k: v for k, v in out[4].items() if k != "cost"}))},
        r"info\['cost'\] must be >= 0, got None",
    ),
    (
        "repeatable",
        {"step": after(lambda o, reward, *rest: (o, reward + next(CALLS), *rest))},
        "the same seed must give the same trajectory",
    ),
    ("private", {"reset": sharing, "step": counting}, "results of a step must be copies"),
    ("copies", {"__init__": closure}, "(pickle|PicklingError|AttributeError)"),
    ("time-limit", {"step": once}, "RuntimeError: one step is enough"),
    ("reset-needed", {"step": restarting}, "a step after the end must raise a ResetNeeded, got none"),
    ("bad-actions", {"step": lenient}, "action 'x' must raise a ValueError, got none"),
    (
        "bad-arguments",
        {"__init__": lambda self, *a, budget=20, **kwargs: NMTHPOEnv.__init__(self, *a, budget=budget or 20, **kwargs)},
        "budget=0 must raise a ValueError, got none",
    ),
    (
        "masks",
        {"step": after(lambda *out: (*out[:4], out[4] | {"action_mask": np.ones_like(out[4]["action_mask"])}))},
        r"action_masks\(\) must be the mask of info, as bool",
    ),
    (
        "configurations",
        {"config": lambda self, action: dict.fromkeys(NMTHPOEnv.config(self, action), np.float32(0.5))},
        "TypeError: Object of type float32 is not JSON serializable",
    ),
    (
        "batch-next-step",
        {"step": after(lambda o, reward, *rest: (o, reward + 1e-9, *rest), NMTHPOVectorEnv)},
        "the reward must be that of the scalar form",
    ),
    ("batch-same-step", {"step": forgetful}, r"info\['final_obs'\] must be that of the scalar form"),
    (
        "batch-copy",
        {"step": after(lambda o, *rest: (o.copy(), *rest), NMTHPOVectorEnv)},
        "copy=False must return the same array each time",
    ),
    ("batch-actions", {"step": scribbling}, "a step must not write into its actions"),
]


@pytest.mark.parametrize(("rule", "methods", "why"), ENVS, ids=[f"{e[0]}-{i}" for i, e in enumerate(ENVS)])
def test_broken_environments_are_rejected(rule: str, methods: dict[str, Broken], why: str) -> None:
    batched = rule.startswith("batch-")
    env = Honest if batched else broken(NMTHPOEnv, **methods)
    vector = broken(NMTHPOVectorEnv, **methods) if batched else None
    check = functools.partial(check_env, env, vector=vector, rules=[rule], pair="zhen")
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


def impatient(self: Any, action: Any, reward: Any, info: Any) -> None:
    """Takes submissions for results."""
    self.best = reward, action


def strict(self: Any, action: Any, reward: Any, info: Any) -> None:
    """Raises an error without a message."""
    if not info.get("finished", True):
        raise ValueError("no")
    Plain.tell(self, action, reward, info)


GENERATOR = np.random.default_rng(0)
OUTSIDE, BEYOND = broken(Plain, recommend=lambda self: -1), broken(Plain, ask=lambda self: 10**6)
COMMON = broken(Plain, ask=lambda self: int(GENERATOR.integers(self.problem.rows)))
DETERMINISTIC = broken(Plain, ask=lambda self: 3)
CHEAT = broken(Plain, ask=lambda self: int(np.random.randint(50)))  # noqa: NPY002
REPEATING = broken(Plain, ask=lambda self: np.array([0, len(self.problem.levels) - 1]))
IMPATIENT, STRICT = broken(Plain, tell=impatient), broken(Plain, tell=strict)
AGENTS: list[tuple[str, type, str, dict[str, Any], str]] = [
    ("interface", Speechless, "rows", {}, "must have ask, tell, recommend and done, got .* without recommend"),
    ("interface", broken(Plain, done=None), "rows", {}, "done must be a bool, got None"),  # type: ignore[arg-type]
    ("actions", OUTSIDE, "rows", {}, r"recommendation of .* must be an int in \[0, 118\), got -1"),
    ("actions", BEYOND, "rows", {}, r"ValueError: action 0 of Broken on .* must be an int in \[0, 118\), got 1000000"),
    ("repeatable", COMMON, "rows", {}, "a seed must give the same run alone and among others, got other actions"),
    ("seeded", DETERMINISTIC, "rows", {}, "different seeds must give different runs, got 12 equal ones"),
    ("hidden-state", CHEAT, "rows", {}, "runs must not depend on the global generators"),
    ("late-results", IMPATIENT, "levels", {}, "must recommend the best evaluated action"),
    ("late-results", REPEATING, "levels", {}, "must not suggest a pending action again"),
    ("late-results", STRICT, "levels", {}, r"must continue while results are pending \(waits=False\), got no"),
    ("late-results", STRICT, "levels", {"waits": True}, "must raise 'workers must be 1 for ...', got no"),
    ("late-results", Plain, "levels", {"waits": True}, "must raise ValueError in tell for steps that only submit"),
]


@pytest.mark.parametrize(
    ("rule", "agent", "stage", "settings", "why"), AGENTS, ids=[f"{a[0]}-{i}" for i, a in enumerate(AGENTS)]
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
    rejects("rules must be one of .*, got 'bound', did you mean 'bounds'", check_env, "NMTHPO-zhen-v0", rules=["bound"])
    rejects("agent must be one of .*, got 'randon', did you mean 'random'", check_agent, "randon")
    rejects("stages must be one of .*, got 'row', did you mean 'rows'", check_agent, "random", stages=["row"])
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
