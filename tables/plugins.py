"""Entry points of other packages: agents, families and tables; imported on use, with a warning or error if broken.

[project.entry-points."hpo_envs.agents"]       name of an agent = "module:Class"
[project.entry-points."hpo_envs.families"]     id = "module:FAMILY", a line for each id of the family
[project.entry-points."hpo_envs.tables"]       name of a table = "module:function", which returns a `Table`
"""

import functools
import importlib
import re
import warnings
from importlib.metadata import EntryPoint, EntryPoints, distributions, entry_points
from typing import Any, Literal, NamedTuple

PluginGroup = Literal["agents", "families", "tables"]

NAMES = {"agents": r"(?!all$)[^:]+", "families": r"[\w.:-]+-v\d+", "tables": r"[A-Za-z0-9][\w.-]*"}
"""Pattern of the valid names in each group; names of tables must fit into ids of Gymnasium."""


class Plugin(NamedTuple):
    """An entry point of another package.

    Attributes:
        name: Name of the agent or table, or id of the environment, that it adds.
        target: Object to import, `module:name`.
        package: Distribution of the plugin.
        version: Version of the distribution.
    """

    name: str
    target: str
    package: str
    version: str

    def load(self) -> Any:
        """Return the object that `target` names; ValueError if it cannot be imported."""
        module, _, name = self.target.partition(":")
        try:
            return functools.reduce(getattr, name.split("."), importlib.import_module(module))
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # SystemExit, and what else is no Exception
            raise ValueError(f"plugin {self.name} of {self.package} must be importable, got {error!r}") from error

    def loaded(self) -> Any:
        """Return the object that `target` names; None, with a warning, if it cannot be imported."""
        try:
            return self.load()
        except ValueError as error:
            warnings.warn(str(error), stacklevel=3)
            return None


def is_name(kind: PluginGroup, name: str) -> bool:
    """Return whether a plugin of a group may have a name, see `NAMES`."""
    return re.fullmatch(NAMES[kind], name, re.ASCII) is not None


def of_id(env_id: str) -> Plugin | None:
    """Return the plugin that provides an environment id, or the table in it; None if there is none."""
    table = re.fullmatch(r"Table\w+-(.+)-v0", env_id)
    return of("families").get(env_id) or (of("tables").get(table[1]) if table else None)


@functools.cache
def _points() -> Any:
    """Entry points of all packages, whatever their groups; unreadable ones are left out with a warning."""
    try:
        return entry_points()
    except (TypeError, ValueError):  # a line without a name, or bytes that are not UTF-8, of any package
        found: list[EntryPoint] = []
        for package in distributions():
            try:
                found += package.entry_points
            except (TypeError, ValueError) as error:
                warnings.warn(f"entry points of {package.name} must be readable, got {error}", stacklevel=4)
        return EntryPoints(found)


@functools.cache
def of(kind: PluginGroup) -> dict[str, Plugin]:
    """Return the installed plugins of a group by name; metadata are read once, and no plugin is imported.

    One with an invalid name is left out with a warning.
    """
    found: dict[str, Plugin] = {}
    for point in _points().select(group=f"hpo_envs.{kind}"):
        if point.dist is None:
            continue
        if not is_name(kind, point.name):
            rule = f"of {point.dist.name} in hpo_envs.{kind} must match {NAMES[kind]}"
            warnings.warn(f"names {rule}, got {point.name!r}, which is left out", stacklevel=2)
        else:
            found.setdefault(point.name, Plugin(point.name, point.value, point.dist.name, point.dist.version))
    return found
