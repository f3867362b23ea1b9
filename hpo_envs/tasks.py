"""Distributions of tasks: versioned train, validation and test splits, and splits that leave a language out.

A task is an id with arguments, as `gym.make` and `gym.make_vec` take them:

    split = hpo_envs.tasks.split("CharHPO")
    for env_id, kwargs in split.train:
        env = gym.make(env_id, **kwargs)

Ids that draw a task at each reset (`NMTHPO-v0`, `CharHPO-v0`) take a whole part at once:

    env_id, kwargs = hpo_envs.tasks.split("NMTHPO-v0").drawn("train")
    envs = gym.make_vec(env_id, num_envs=1024, **kwargs)

No language but English is on both sides of a split, so that what is measured is generalisation to data that were not
seen. Splits never change: another division is another version.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hpo_envs.tables.table import nearest

Task = tuple[str, dict[str, Any]]
"""(id, arguments)."""

PARTS = ("train", "validation", "test")

VERSION = 1
"""Version of the splits that `split` returns by default."""


@dataclass(frozen=True)
class Split:
    """A division of a distribution of tasks.

    Attributes:
        name: Of the distribution, one of `DISTRIBUTIONS`.
        train: Tasks to learn from.
        validation: Tasks to choose settings on; none in leave-one-out splits.
        test: Tasks to report on.
        version: Of the division.
    """

    name: str
    train: tuple[Task, ...]
    validation: tuple[Task, ...]
    test: tuple[Task, ...]
    version: int = VERSION

    def drawn(self, part: str) -> Task:
        """One task that draws among those of a part at each reset.

        Raises:
            ValueError: No such part, an empty one, or a distribution whose ids are one task each.
        """
        if part not in PARTS:
            raise ValueError(f"part must be one of {', '.join(PARTS)}, got {part!r}{nearest(str(part), [*PARTS])}")
        argument = DISTRIBUTIONS[self.name].argument
        tasks: tuple[Task, ...] = getattr(self, part)
        if not (tasks and argument in ("pairs", "sweeps")):
            raise ValueError(f"{self.name} must draw its tasks and have some in {part!r}, got {len(tasks)} of its own")
        return tasks[0][0], {argument: tuple(label for _, kwargs in tasks for label in kwargs[argument])}


@dataclass(frozen=True)
class Distribution:
    """Tasks that belong together.

    Attributes:
        ids: Pattern of the ids, `{}` standing for the label of a task.
        argument: Argument that names tasks where one id draws among them, else empty.
        languages: Label of each task -> its language besides English; fine-tuning and training from scratch on the
            same language are one language.
        validation: Languages of version 1's validation part.
        test: Languages of version 1's test part.
    """

    ids: str
    argument: str
    languages: Mapping[str, str]
    validation: tuple[str, ...]
    test: tuple[str, ...]

    def task(self, label: str) -> Task:
        """The task of a label."""
        return (self.ids.format(label), {}) if not self.argument else (self.ids, {self.argument: (label,)})

    def part(self, languages: tuple[str, ...]) -> tuple[Task, ...]:
        """The tasks of some languages, in order."""
        return tuple(self.task(label) for label, language in self.languages.items() if language in languages)


_NMT = {"zhen": "zh", "ruen": "ru", "jaen": "ja", "enja": "ja", "swen": "sw", "soen": "so"}
_GRID = {pair: _NMT[pair] for pair in ("zhen", "ruen", "jaen", "enja")}
_CURVES = {**_NMT, "ft-fren": "fr", "ft-zhen": "zh"}
_CHAR = {
    f"{task}-{lang}-{architecture}": lang
    for task, langs in (
        ("inflection", ("alb", "ara", "cat", "dut", "gle", "hai", "hun", "rom")),
        ("g2p", ("arm_e", "dut", "geo", "hun")),
    )
    for lang in langs
    for architecture in ("lstm", "transformer")
}

DISTRIBUTIONS: dict[str, Distribution] = {
    "NMTHPO": Distribution("NMTHPO-{}-v0", "", _NMT, ("ru",), ("zh", "so")),
    "NMTHPO-v0": Distribution("NMTHPO-v0", "pairs", _GRID, ("ru",), ("zh",)),
    "NMTLC": Distribution("NMTLC-{}-v0", "", _CURVES, ("ru",), ("zh", "so")),
    "CharHPO": Distribution("CharHPO-{}-v0", "", _CHAR, ("hai", "arm_e"), ("rom", "geo")),
    "CharHPO-v0": Distribution("CharHPO-v0", "sweeps", _CHAR, ("hai", "arm_e"), ("rom", "geo")),
}
"""Name -> tasks: the six NMT ids, the four pairs of `NMTHPO-v0`, the eight learning-curve corpora, the 24 sweeps, and
the 24 tasks of `CharHPO-v0`."""


def names() -> list[str]:
    """Names of the distributions."""
    return list(DISTRIBUTIONS)


def languages(name: str) -> list[str]:
    """Languages of a distribution, in order.

    Raises:
        ValueError: No such distribution.
    """
    return list(dict.fromkeys(_distribution(name).languages.values()))


def split(name: str, version: int = VERSION) -> Split:
    """The train, validation and test tasks of a distribution.

    Raises:
        ValueError: No such distribution or version.
    """
    d = _distribution(name)
    if version != VERSION:
        raise ValueError(f"version must be {VERSION}, got {version!r}")
    held = d.validation + d.test
    rest = tuple(language for language in languages(name) if language not in held)
    return Split(name, d.part(rest), d.part(d.validation), d.part(d.test), version)


def leave_one_out(name: str) -> dict[str, Split]:
    """For each language the split that trains on all others and tests on its tasks; no validation part.

    Raises:
        ValueError: No such distribution.
    """
    d, every = _distribution(name), languages(name)
    return {
        language: Split(name, d.part(tuple(o for o in every if o != language)), (), d.part((language,)))
        for language in every
    }


def _distribution(name: str) -> Distribution:
    if name not in DISTRIBUTIONS:
        raise ValueError(f"name must be one of {', '.join(DISTRIBUTIONS)}, got {name!r}{nearest(str(name), names())}")
    return DISTRIBUTIONS[name]
