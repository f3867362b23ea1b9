"""Tables as tasks of the learned optimiser, and what a set of them teaches before any run."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hpo_envs import registry
from hpo_envs.agents.models.kernel_fit import KernelFit, Prior
from hpo_envs.agents.models.mixture import Family, basis
from hpo_envs.core.family import Spec
from hpo_envs.tables import store
from hpo_envs.tables.row_order import natural
from hpo_envs.tables.table import Table

Floats = npt.NDArray[np.float64]

RIDGE = 3.0
"""Penalty of the prior's coefficients, per 100 effective rows of each table."""

FITTED_ROWS = 120
"""Rows of a table from which its length-scales are estimated."""


@dataclass(frozen=True)
class Task:
    """One table.

    Attributes:
        name: Of the table.
        language: What a leave-one-out fold leaves out: all tables that share it.
        features: (n, d) in [0, 1].
        rewards: (n,) oriented.
        normal: (n,) normal scores of the rewards.
        lengths: (d,) length-scales estimated from this table alone.
    """

    name: str
    language: str
    features: Floats
    rewards: Floats
    normal: Floats
    lengths: Floats


FAMILIES = ("nmthpo", "charhpo")
"""Data sets that weights with one language left out are made for, each its own family of weights."""


@functools.cache
def ids() -> dict[str, Spec]:
    """Table -> the id that leave-one-out weights are tested on."""
    families = (family for family in registry.FAMILIES.values() if family.dataset in FAMILIES)
    splits = (d for family in families for d in family.distributions if not d.argument)
    specs = (registry.SPECS[d.ids.format(label)] for d in splits for label in d.languages)
    return {s.tables[0]: s for s in specs}


def names(family: str) -> list[str]:
    """Tables of a family."""
    return [name for name in ids() if name.startswith(f"{family}/")]


def rewards_of(table: Table) -> Floats:
    """(n,) the metric rewarded: the table's first."""
    return np.array(table.final(table.metric_names[0]))


def language_of(name: str) -> str:
    """The fold of a table: its language, or its language pair."""
    kwargs = ids()[name].kwargs
    return str(kwargs["lang"] if "lang" in kwargs else kwargs["pair"])


def folds(family: str) -> list[str]:
    """Languages of a family, in the order of its tables."""
    return list(dict.fromkeys(language_of(t) for t in names(family)))


def tasks(family: str, kind: str) -> list[Task]:
    """All tables of a family as tasks."""
    tables = [natural(store.load(name, kind)) for name in names(family)]  # type: ignore[arg-type]
    return [task(t.name, np.array(t.features), rewards_of(t)) for t in tables]


def task(name: str, features: Floats, rewards: Floats) -> Task:
    """A task from arrays: (n, d) features and (n,) rewards."""
    normal = normal_scores(rewards)
    rng = np.random.default_rng(0)
    rows = rng.choice(len(rewards), min(len(rewards), FITTED_ROWS), replace=False)
    lengths = KernelFit.estimate("matern52", features[rows], normal[rows], Prior(), None).lengths
    return Task(name, language_of(name), features, rewards, normal, lengths)


def normal_scores(rewards: Floats) -> Floats:
    """(n,) normal quantiles of the ranks: tables of different metrics and ranges become comparable."""
    from scipy.special import ndtri
    from scipy.stats import rankdata

    return np.asarray(ndtri((rankdata(rewards) - 0.5) / len(rewards)))


def knowledge(seen: Sequence[Task]) -> Family:
    """What tables teach: mean length-scales, and a ridge regression of normal scores on `basis`.

    Every table has the same weight, however many rows it has.
    """
    size = basis(seen[0].features[:1]).shape[1]
    left, right = RIDGE * np.eye(size), np.zeros(size)
    left[0, 0] = 1e-6
    for t in seen:
        b = basis(t.features) * np.sqrt(100.0 / len(t.rewards))
        left += b.T @ b
        right += b.T @ (t.normal * np.sqrt(100.0 / len(t.rewards)))
    lengths: Floats = np.exp(np.mean([np.log(t.lengths) for t in seen], axis=0))
    return Family(lengths, np.asarray(np.linalg.solve(left, right), dtype=np.float64))
