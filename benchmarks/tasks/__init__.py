"""Distributions of tasks: versioned train, validation and test splits, and splits that leave one part out.

A task is an id with arguments, as `gym.make` and `gym.make_vec` take them:

    split = hpo_envs.benchmarks.tasks.split("CharHPO")
    for env_id, kwargs in split.train:
        env = gym.make(env_id, **kwargs)

Ids that draw a task at each reset (`NMTHPO-v0`, `CharHPO-v0`) take a whole part at once:

    env_id, kwargs = hpo_envs.benchmarks.tasks.split("NMTHPO-v0").drawn("train")
    envs = gym.make_vec(env_id, num_envs=1024, **kwargs)

`make_vec` draws a table or function, sub-space and subsample at each reset, for policies that score candidates;
`hpo_envs.wrappers.for_training` adds the observation of candidates and the usual reward.

No language except English, and no task group of English tables, is in both training and test parts, so that tests
measure generalisation to unseen data. Splits never change; another division gets another version. `unseen` separates
sampled tasks at three levels: another table, other configurations, another family.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hpo_envs.benchmarks.tasks import pools, sampled
from hpo_envs.core.family import Distribution, IdArguments
from hpo_envs.families.registry import FAMILIES
from hpo_envs.tables.checks import one_of
from hpo_envs.tables.table import Table

__all__ = [
    "DISTRIBUTIONS", "PARTS", "VERSION", "TaskSplit", "held_out", "leave_one_out", "make_vec", "names", "split",
    "unseen",
]  # fmt: skip

PARTS = ("train", "validation", "test")

VERSION = 1
"""Version of the splits that `split` returns by default."""


@dataclass(frozen=True)
class TaskSplit:
    """A division of a distribution of tasks.

    Attributes:
        name: Name of the distribution, one of `DISTRIBUTIONS`.
        train: Tasks for training.
        validation: Tasks for the choice of settings; none in leave-one-out splits.
        test: Tasks for the reported results.
        version: Version of the split.
    """

    name: str
    train: tuple[IdArguments, ...]
    validation: tuple[IdArguments, ...]
    test: tuple[IdArguments, ...]
    version: int = VERSION

    def drawn(self, part: str) -> IdArguments:
        """Return one task that draws among the tasks of a part at each reset.

        Raises:
            ValueError: The part is unknown or empty, or the ids of the distribution are one task each.
        """
        argument = DISTRIBUTIONS[self.name].argument if self.name in DISTRIBUTIONS else None  # as of HPO-B
        tasks: tuple[IdArguments, ...] = getattr(self, one_of("part", part, PARTS))
        if not (tasks and argument):
            raise ValueError(f"{self.name} must draw its tasks and have some in {part!r}, got {len(tasks)} of its own")
        return tasks[0][0], {argument: tuple(label for _, kwargs in tasks for label in kwargs[argument])}


DISTRIBUTIONS: dict[str, Distribution] = {d.name: d for family in FAMILIES.values() for d in family.distributions}
"""Name -> tasks: the six NMT ids, the four pairs of `NMTHPO-v0`, the eight learning-curve corpora, the 24 CharHPO ids,
the 24 sweeps of `CharHPO-v0`, and CharMini's and two parts of TextMini's ids, also with learning curves (`LC`)."""


def names() -> list[str]:
    """Return the names of the distributions."""
    return list(DISTRIBUTIONS)


def held_out(name: str) -> list[str]:
    """Return the languages or task groups of a distribution, in order.

    Raises:
        ValueError: The distribution is unknown.
    """
    return list(dict.fromkeys(_distribution(name).held_out.values()))


def split(name: str, version: int = VERSION) -> TaskSplit:
    """Return the train, validation and test tasks of a distribution.

    Raises:
        ValueError: The distribution or version is unknown.
    """
    d = _distribution(name)
    if version != VERSION:
        raise ValueError(f"version must be {VERSION}, got {version!r}")
    held = d.validation + d.test
    rest = tuple(part for part in held_out(name) if part not in held)
    return TaskSplit(name, d.part(rest), d.part(d.validation), d.part(d.test), version)


def leave_one_out(name: str) -> dict[str, TaskSplit]:
    """Return a split for each language or task group, which is its test part; all others are for training.

    Raises:
        ValueError: The distribution is unknown.
    """
    d, every = _distribution(name), held_out(name)
    return {
        part: TaskSplit(name, d.part(tuple(other for other in every if other != part)), (), d.part((part,)))
        for part in every
    }


def unseen(level: str, name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return arguments of `make_vec` for training, and for tests on tasks unseen in training.

    Args:
        level: `table`: training sees other task groups; `configurations`: the other half of each space; `family`: other
            families, without the task groups that they share with this one.
        name: Task group (for `table`) or family.

    Raises:
        ValueError: The level, group or family is unknown.
    """
    groups = pools.groups()
    every = sorted({group for some in groups.values() for group in some})
    one_of("level", level, ("table", "configurations", "family"))
    if level == "table":
        of = [family for family, some in groups.items() if one_of("name", name, every) in some]
        return {"without": (name,)}, {
            "families": of,
            "without": tuple(g for g in every if g != name and any(g in groups[f] for f in of)),
        }
    one_of("name", name, pools.FAMILIES)
    if level == "configurations":
        return {"half": 0}, {"half": 1, "families": [name]}
    others = [family for family in pools.FAMILIES if family != name]
    shared = tuple(sorted(groups[name] & {g for family in others for g in groups[family]}))
    return {"families": others, "without": shared}, {"families": [name]}


def _distribution(name: str) -> Distribution:
    return DISTRIBUTIONS[one_of("name", name, DISTRIBUTIONS)]


def make_vec(
    num_envs: int,
    families: Sequence[str | Table] = pools.FAMILIES,
    without: Sequence[str] = (),
    objective: str | None = None,
    half: int | None = None,
    **arguments: Any,
) -> sampled.SampledTasks:
    """Make a vectorized environment that draws a table or function, sub-space and subsample at each reset.

    Args:
        num_envs: Number of episodes.
        families: Families of the tables, or custom tables; empty: prior functions only.
        without: Languages, by any of their codes, and task groups to leave out.
        objective: Metric; default: the validation score, or first metric of a custom table. Tables without it are left
            out.
        half: 0 or 1: only configurations in one half of each space, by a hash of their values; None: all.
        **arguments: Arguments of `sampled.SampledTasks`: `candidates`, `budget`, `draws`, `copies`.

    Raises:
        ValueError: See `pools.pools` and `sampled.SampledTasks`.
    """
    found = pools.pools(families, without, objective, half) if families else []
    return sampled.SampledTasks(num_envs, found, **arguments)
