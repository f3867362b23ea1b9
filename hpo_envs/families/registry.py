"""Registry of ids: families, plugins, saved tables; task groups, held-out languages, what is installed."""

import contextlib
import functools
import importlib
import os
import re
import warnings
from collections.abc import Iterable, Iterator
from typing import Any, Literal

import gymnasium as gym

from hpo_envs import families
from hpo_envs.core.family import HEADINGS, Family, Spec
from hpo_envs.tables import catalogue, plugins, user
from hpo_envs.tables.checks import nearest

__all__ = ["FAMILIES", "HEADINGS", "SPECS", "Family", "Spec"]

FAMILIES: dict[str, Family] = {}
"""Name of each family -> its record."""

SPECS: dict[str, Spec] = {}
"""Id -> its entry, for the ids of listed families and imported plugins, without those of users' tables."""


def add(family: Family) -> None:
    """Add a family and register its ids with Gymnasium."""
    FAMILIES[family.name] = family
    SPECS.update((spec.id, spec) for spec in family.ids if family.listed)
    _register(family.ids)


def register_all() -> None:
    """Add every family and register its ids with Gymnasium; of plugins and users' tables, register the ids alone.

    Ids of tables that are saved later are registered, too. Ids that are already registered are skipped.
    """
    for family in _records():
        add(family)
    for plugin in plugins.of("families").values():
        if plugin.name not in gym.registry:
            scalar, vector = (
                functools.partial(_made, plugin.name, form) for form in ("entry_point", "vector_entry_point")
            )
            gym.register(plugin.name, entry_point=scalar, vector_entry_point=vector)
    with contextlib.suppress(OSError, ValueError):  # a folder that cannot be read, or that none can be
        for name in user.names():
            _add_saved(name)
    user.on_save.append(_add_saved)


def _add_saved(table: str) -> None:
    _register(family.of_user(table) for family in _of_users())


def _made(env_id: str, form: str, **arguments: Any) -> Any:
    """Import a plugin and make an environment of its id."""
    spec = require_spec("id", env_id)
    module, _, name = getattr(spec, form).partition(":")
    return getattr(importlib.import_module(module), name)(**{**spec.kwargs, **arguments})


def find(env_id: str) -> Spec | None:
    """Return the registry entry of an id, None if unknown; plugins and users' tables are registered on first use.

    Raises:
        ValueError: The plugin of the id is broken.
    """
    if env_id in SPECS:
        return SPECS[env_id]
    for spec in (spec for family in FAMILIES.values() for spec in family.ids):
        if spec.id == env_id:
            return spec
    if env_id in plugins.of("families"):
        add(_of_plugin(plugins.of("families")[env_id]))
        return find(env_id)
    for family in _of_users():
        match = re.fullmatch(rf"{family.name}-(.+)-v0", str(env_id))
        if match and user.exists(match[1]):
            spec = family.of_user(match[1])
            _register([spec])
            return spec
    return None


def require_spec(argument: str, env_id: str) -> Spec:
    """Return the registry entry of an id, see `find`.

    Args:
        argument: Name of the argument, for the error message.
        env_id: The id.

    Raises:
        ValueError: The id is not registered, or its plugin is broken.
    """
    spec = find(env_id)
    if spec is None:
        raise ValueError(
            f"{argument} must be a registered id (hpo-envs list), got {env_id!r}{nearest(env_id, [*SPECS])}"
        )
    return spec


def family_of(env_id: str) -> Family | None:
    """Return the record of an id's family; None for an unknown id; ValueError if the id's plugin is broken."""
    spec = find(env_id)
    return FAMILIES[spec.family] if spec else None


def kind_of(spec: Spec) -> Literal["measured", "surrogate"]:
    """Return `surrogate` for an id whose `Spec` says so or that has a synthetic table, else `measured`."""
    from hpo_envs.tables import store

    synthetic = any(store.exists(table) and store.synthetic(table) for table in spec.tables)
    return "surrogate" if spec.surrogate or synthetic else "measured"


def installed(spec: Spec) -> bool:
    """Return whether no table of an id remains to be fetched."""
    from hpo_envs.tables import store

    return not any(store.exists(table) and store.missing(table) for table in spec.tables)


def held_out_of(tables: Iterable[str], env_id: str | None = None) -> tuple[str, ...]:
    """Return the languages and task groups that are held out with tables, sorted; see `catalogue.held_out`.

    Args:
        tables: Names of the tables.
        env_id: A registered id; its own tables are added if a given one is not in the catalogue.
    """
    known, names = catalogue.held_out(), set(tables)
    if env_id in SPECS and not names <= known.keys():
        names.update(SPECS[env_id].tables)
    return tuple(sorted({known[name] for name in names & known.keys()}))


def group_of(env_id: str) -> str:
    """Return the task group of an id in the catalogue; the id itself if its tables are in several groups or none."""
    spec, settings = find(env_id), catalogue.settings()
    groups = {settings[name].group if name in settings else "" for name in (spec.tables if spec else ())}
    return groups.pop() or env_id if len(groups) == 1 else env_id


def own() -> list[Spec]:
    """Register the ids of all users' tables, and return their entries; warn about tables that cannot be read."""
    specs = []
    for file in user.unnamed():
        warnings.warn(
            f"{user.folder() / file} is left out: a table's name has letters, digits, dots and hyphens", stacklevel=2
        )
    for name in user.names():
        try:
            levels = len(user.load(name).levels)
        except (ValueError, OSError) as error:
            warnings.warn(f"the saved table {name} is left out: {error}", stacklevel=2)
            continue
        specs += of_user(name, levels)
    _register(specs)
    return specs


def of_user(table: str, levels: int) -> list[Spec]:
    """Return the entries of a user's table with this number of levels, one for each family that fits."""
    return [family.of_user(table) for family in _of_users() if levels >= family.user_levels]


def names_user_tables(pattern: str) -> bool:
    """Return whether a pattern begins like ids of users' tables: `TableHPO-*`, `Table*`, but not `*`."""
    start = re.split(r"[*?[-]", pattern)[0]
    return bool(start) and any(family.name.startswith(start) for family in _of_users())


def _of_plugin(plugin: plugins.Plugin) -> Family:
    """Return the family of a plugin's id; ValueError if it is broken, lacks the id, or has invalid or taken names."""
    family = plugin.load()
    if not isinstance(family, Family) or plugin.name not in [spec.id for spec in family.ids]:
        raise ValueError(f"plugin {plugin.name} of {plugin.package} must name a Family with this id, got {family!r}")
    if wrong := [spec.id for spec in family.ids if not plugins.is_name("families", spec.id)]:
        raise ValueError(f"ids of plugin {plugin.name} must match {plugins.NAMES['families']}, got {wrong[0]!r}")
    known = FAMILIES.keys() | {spec.id for each in FAMILIES.values() for spec in each.ids}
    if taken := [name for name in (family.name, *(spec.id for spec in family.ids)) if name in known]:
        raise ValueError(f"plugin {plugin.name} of {plugin.package} must add new names, got {', '.join(taken)}")
    return family


def plugin_specs() -> list[Spec]:
    """Import all plugins of families, register their ids and return the entries; a broken one only causes a warning."""
    found = []
    for name in plugins.of("families"):
        try:
            found.append(require_spec("id", name))
        except ValueError as error:
            warnings.warn(str(error), stacklevel=2)
    return found


def _of_users() -> list[Family]:
    return [family for family in FAMILIES.values() if family.user_levels]


def _records() -> Iterator[Family]:
    """Yield the records of all packages in this folder, in the order of their names."""
    entries = (name for folder in families.__path__ for name in os.listdir(folder))
    for name in sorted(name for name in entries if name.isidentifier() and name != "__pycache__"):
        module = importlib.import_module(f"{families.__name__}.{name}")
        yield from (v for v in vars(module).values() if isinstance(v, Family))


def _register(specs: Iterable[Spec]) -> None:
    for s in specs:
        known = gym.registry.get(s.id)
        if known is None or isinstance(known.entry_point, functools.partial):  # the latter until a plugin is imported
            gym.registry.pop(s.id, None)
            gym.register(
                s.id,
                entry_point=s.entry_point,
                vector_entry_point=s.vector_entry_point,
                kwargs=dict(s.kwargs),
                # Gymnasium's passive checker knows scalar rewards only.
                disable_env_checker=isinstance(s.kwargs.get("objective"), tuple),
            )
