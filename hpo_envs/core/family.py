"""`Family`: ids, task distributions and splits of a family; pages completed from the engine's docstring."""

import importlib
import inspect
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

IdArguments = tuple[str, dict[str, Any]]
"""An id and its arguments."""


class Spec(NamedTuple):
    """Specification of an environment id.

    Attributes:
        id: Id for `gym.make`.
        tables: Names of the tables.
        kwargs: Arguments that the id sets; callers may override them.
        entry_point: `module:Class` of the scalar form; if empty in a family's record, that of the family.
        vector_entry_point: `module:Class` of the vectorized form; if empty in a family's record, `XVectorEnv` beside
            `XEnv`.
        surrogate: Whether results come from a surrogate, because the whole space was not measured.
        family: Name of the family in listings, filled in by the family.
    """

    id: str
    tables: tuple[str, ...]
    kwargs: Mapping[str, Any] = MappingProxyType({})
    entry_point: str = ""
    vector_entry_point: str = ""
    surrogate: bool = False
    family: str = ""

    @property
    def page(self) -> str:
        """Page of the id: the docstring of its class; empty if there is none."""
        module, _, name = self.entry_point.partition(":")
        return inspect.getdoc(getattr(importlib.import_module(module), name)) or ""


class Distribution(NamedTuple):
    """Distribution of related tasks.

    Attributes:
        name: Name in `hpo_envs.benchmarks.tasks`.
        ids: Pattern of the ids, `{}` standing for the label of a task.
        held_out: Label of each task -> what is held out with it (`catalogue.held_out`): a language, by the family's own
            code, or a task group.
        validation: Languages or task groups of the validation part in version 1 of the split.
        test: Languages or task groups of the test part in version 1 of the split.
        argument: Argument that names the tasks if one id draws among them, else empty.
    """

    name: str
    ids: str
    held_out: Mapping[str, str]
    validation: tuple[str, ...]
    test: tuple[str, ...]
    argument: str = ""

    def task(self, label: str) -> IdArguments:
        """Return the id and the arguments of the task with this label."""
        return (self.ids.format(label), {}) if not self.argument else (self.ids, {self.argument: (label,)})

    def part(self, held_out: tuple[str, ...]) -> tuple[IdArguments, ...]:
        """Return ids and arguments of the tasks of these languages or task groups, in the order of the distribution."""
        return tuple(self.task(label) for label, of in self.held_out.items() if of in held_out)


@dataclass(frozen=True, eq=False)
class Family:
    """Record of a family; importing it reads no file and imports no engine.

    Attributes:
        name: Name in listings and reports.
        dataset: Name in `hpo_envs.tables.catalogue` of the data set that its tables belong to.
        entry_point: `module:XEnv`, the class of ids that name none. The vectorized class is `XVectorEnv` next to it.
        ids: Ids registered with Gymnasium.
        listed: Whether the ids are in `registry.SPECS`; False for ids that need an argument, or train.
        example: Arguments for ids that need some, for their pages, checks and pictures.
        user_levels: The fewest levels that a user's table needs for an id `NAME-{table}-v0` of this family; 0: no such
            ids.
        score: Score that ranks agents: `anytime`, the mean regret over the budget; or `final`, the regret of the true
            mean of the row recommended at the end, for arms with noisy scores.
        distributions: Distributions of tasks with their splits.
        short: Arguments for episodes of a few steps, so that tests reach the end of several.
        leaderboard: Arguments on the leaderboard (`docs/statistics.md`): those that it shows first, and further ones,
            each with a `budget`.
        references: Keys in `hpo_envs/families/references.bib` of the papers to cite; if empty, the catalogue's citation
            of the data set.
    """

    name: str
    dataset: str
    entry_point: str
    ids: tuple[Spec, ...]
    listed: bool = True
    example: Mapping[str, Any] = field(default_factory=dict)
    user_levels: int = 0
    score: Literal["anytime", "final"] = "anytime"
    distributions: tuple[Distribution, ...] = ()
    short: Mapping[str, Any] = field(default_factory=lambda: {"budget": 4})
    leaderboard: tuple[Mapping[str, Any], ...] = ({},)
    references: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "ids", tuple(self._completed(spec) for spec in self.ids))

    def of_user(self, table: str) -> Spec:
        """Return the `Spec` of the id for a table that the user saved under this name."""
        return self._completed(Spec(f"{self.name}-{table}-v0", (f"user/{table}",), {"name": table}))

    def _completed(self, spec: Spec) -> Spec:
        scalar = spec.entry_point or self.entry_point
        vector = spec.vector_entry_point or f"{scalar.removesuffix('Env')}VectorEnv"
        return spec._replace(family=self.name, entry_point=scalar, vector_entry_point=vector)


HEADINGS = (
    "Description", "Action Space", "Observation Space", "Rewards", "Starting State", "Episode End", "Information",
    "Arguments", "Table", "References", "Version History",
)  # fmt: skip
"""Headings of a page, in order."""


def complete(page: str, engine: str) -> str:
    """Return a family's page, with the engine's text appended to each section.

    Arguments of the engine that the family's page also documents are left out.
    """
    mine, shared = _sections(page), _sections(engine)
    named = set(re.findall(r"`(\w+)[^`]*`(?=[^:\n]*:)", mine.get("Arguments", "")))
    items = re.split(r"\n(?=- )", shared.get("Arguments", ""))
    shared["Arguments"] = "\n".join(i for i in items if not named & set(re.findall(r"^- `(\w+)", i)))
    parts = [mine.pop("")]
    shared = {heading: text for heading, text in shared.items() if heading and text}
    for heading in sorted(mine | shared, key=lambda h: HEADINGS.index(h) if h in HEADINGS else len(HEADINGS)):
        # Two bases may share a base of their own, whose paragraphs appear once.
        texts = dict.fromkeys(p for part in (mine, shared) for p in part.get(heading, "").split("\n\n") if p)
        parts.append(f"## {heading}\n" + ("\n" if heading == "Arguments" else "\n\n").join(texts))
    return "\n\n".join(parts)


def _sections(page: str) -> dict[str, str]:
    """Map headings to texts; the summary has the empty heading."""
    summary, *rest = re.split(r"^## (.+)\n", inspect.cleandoc(page), flags=re.MULTILINE)
    return {"": summary.strip()} | {h: text.strip() for h, text in zip(rest[::2], rest[1::2], strict=True)}
