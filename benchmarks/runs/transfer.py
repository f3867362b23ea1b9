"""Source tasks for an environment (`transfer=`): which tables they are, and what agents observe of them.

The sources are all tables of a distribution (of the id's family, or of another one) that share no language or task
group with the id's tables (`catalogue.held_out`); for a held-out language, both translation directions are left out.
All agents get the same observations.
"""

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np

from hpo_envs.agents.models.source import Source
from hpo_envs.benchmarks.analysis.scales import every_action
from hpo_envs.core.family import Distribution
from hpo_envs.core.params import Params
from hpo_envs.families import registry
from hpo_envs.families.registry import FAMILIES
from hpo_envs.tables import exact
from hpo_envs.tables.catalogue import overlap
from hpo_envs.tables.checks import one_of
from hpo_envs.tables.table import LOST, Floats, Hyperparameter, Table

FAMILY = "family"
"""Value of `transfer` that stands for the tables of the same family."""


@dataclass(frozen=True)
class Transfer:
    """Source tasks for an environment."""

    distribution: str  # name of the distribution whose tables they are
    excluded: tuple[str, ...]  # languages or task groups of the environment's tables; no source shares one
    sources: tuple[Source, ...]  # observations, in the distribution's order
    facts: tuple[Mapping[str, Any], ...]  # `id`, `table`, `kind`, `sha256`, `languages` (or task groups) of each

    def header(self) -> dict[str, Any]:
        """Return the entry `transfer` of headers of runs."""
        sources = [dict(f) for f in self.facts]
        return {"distribution": self.distribution, "excluded": list(self.excluded), "sources": sources}


def distributions() -> dict[str, Distribution]:
    """Return by name the distributions with one id per task, whose tasks can be source tasks."""
    return {d.name: d for family in FAMILIES.values() for d in family.distributions if not d.argument}


def of_family(env_id: str) -> Distribution | None:
    """Return the distribution that `FAMILY` stands for: the one with the id, or its family's only one; else None."""
    family = registry.family_of(env_id)
    some = [d for d in family.distributions if not d.argument] if family else []
    own = [d for d in some if env_id in map(d.ids.format, d.held_out)]
    return next(iter(own), some[0] if len(some) == 1 else None)


def resolve(env_id: str, asked: str) -> str:
    """Return the name of the distribution of an id's source tasks: `asked`, or what `FAMILY` stands for.

    Without such a distribution a `ValueError` is raised.
    """
    known, own = distributions(), of_family(env_id)
    if asked == FAMILY and own is None:
        raise ValueError(
            f"transfer must be one of {', '.join(known)} on {env_id}, whose family has no split, got {FAMILY!r}"
        )
    asked = own.name if own and asked == FAMILY else asked
    return one_of("transfer", asked, known, listed=", ".join([FAMILY, *known]))


def sources_of(env: Any, distribution: str) -> Transfer:
    """Return the source tasks of a distribution (see `resolve`) for an environment, scalar or vectorized.

    Raises:
        ValueError: See `resolve`; actions are not rows with features, alone or with a fidelity; no table is left; or
            there are several objectives, but the tables are of another family.
    """
    params, spec = env.unwrapped.params, env.unwrapped.spec
    name = resolve(spec.id, distribution)
    if params.kind not in ("rows", "fidelity") or not params.table.feature_names:
        raise ValueError(
            f"transfer must be left out where actions are not configurations with features, got {name!r} on {spec.id}"
        )
    excluded = registry.held_out_of([t.name for t in params.tables], spec.id)
    d = distributions()[name]
    family = registry.family_of(spec.id)
    related = family is not None and d in family.distributions
    if params.vector and not related:
        raise ValueError(f"transfer must be {FAMILY} for several objectives, got {name!r} on {spec.id}")
    own = {k: v for k, v in (spec.kwargs or {}).items() if k in ("objective", "cost", "levels")} if related else {}
    kwargs = tuple((k, tuple(v) if isinstance(v, list) else v) for k, v in sorted(own.items()))
    sources, facts = [], []
    for env_id in map(d.ids.format, d.held_out):
        other = _params(env_id, kwargs)
        table, languages = other.table, registry.held_out_of([other.table.name])
        if table.name == params.table.name or overlap(languages, excluded):
            continue
        sources.append(_source(other, params.table))
        fact = {"id": env_id, "table": table.name, "kind": table.provenance.kind, "sha256": table.provenance.sha256}
        facts.append({**fact, "languages": [*languages]})
    if not sources:
        raise ValueError(
            f"transfer must have a table that shares no language or task group with {spec.id}, got {name!r}"
        )
    return Transfer(name, excluded, tuple(sources), tuple(facts))


@functools.lru_cache(maxsize=64)
def _params(env_id: str, kwargs: tuple[tuple[str, Any], ...]) -> Params:
    """Return the `Params` of a new environment of the id."""
    env: Any = gym.make(env_id, disable_env_checker=True, **dict(kwargs))
    params: Params = env.unwrapped.params
    env.close()
    return params


def _source(params: Params, target: Table) -> Source:
    """Return the rows of a table that have a result, sorted by features so that their order carries no information."""
    table = params.table
    features, names = columns(table, target)
    arrays = _curves(params) if params.kind == "fidelity" else _rows(params)
    measured = ~np.isnan(table.values).all(axis=(2, 3))
    kept = np.flatnonzero((measured & ~np.isin(table.status, LOST)).any(axis=1))
    kept = kept[np.lexsort((*arrays["rewards"][kept].T, arrays["costs"][kept], *features[kept].T))]
    levels = None if params.levels is None else np.array(params.levels)
    return Source(
        table.name, features[kept], **{k: v[kept] for k, v in arrays.items()}, feature_names=names, levels=levels
    )


def _rows(params: Any) -> dict[str, Floats]:
    """Return (rows, objectives) rewards and (rows,) costs of a look-up table, averaged over repeats."""
    kept = np.arange(params.max_repeats) < params.repeats[:, None]
    costs = params.costs.reshape(kept.shape).mean(axis=1, where=kept)
    rewards = params.truth(0, np.arange(params.rows))
    return {"rewards": rewards.reshape(params.rows, -1), "costs": costs}


def _curves(params: Any) -> dict[str, Floats]:
    """Return `_rows` at the last fidelity, and (rows, levels, ...) curves and costs, NaN after the longest repeat."""
    rows, levels = params.rows, len(params.levels)
    curves = params.truth(0, every_action(params, rows)).reshape(rows, levels, -1)
    kept = np.arange(params.repeats) < params.count[:, None]
    ends = np.where(kept, params.ends.reshape(kept.shape), 0).max(axis=1)
    over = np.arange(levels) > ends[:, None]
    costs = params.costs.reshape(*kept.shape, levels).mean(axis=1, where=kept[..., None])
    each = {"curves": np.where(over[..., None], np.nan, curves), "curve_costs": np.where(over, np.nan, costs)}
    return {"rewards": curves[:, -1], "costs": costs[:, -1], **each}


def columns(table: Table, target: Table) -> tuple[Floats, tuple[str, ...]]:
    """Return the (rows, d) features of a table, and their names; no names if the columns are those of the target.

    Values of a shared numeric hyperparameter are on the target's scale, also outside [0, 1], and 0 if inactive or if
    the target has a single value. Hyperparameters that only the table has are left out if it has all of the target's;
    otherwise they keep their scale and follow the shared ones.
    """
    features, own, theirs = np.array(table.features), table.feature_names, {h.name: h for h in target.space}
    for k, h in enumerate(table.space):
        if h.kind == "categorical" or h.name not in theirs or h.name not in own:
            continue
        inside = (table.configs[:, k] >= h.low) & (table.configs[:, k] <= h.high)  # others are inactive
        raw = np.where(inside, table.configs[:, k], h.low)
        placed = _placed(theirs[h.name], 1.0 - raw if h.complement != theirs[h.name].complement else raw)
        features[:, own.index(h.name)] = np.where(inside, placed, 0.0)
    both = [name for name in target.feature_names if name in own]
    if len(both) == len(target.feature_names):
        return features[:, [own.index(name) for name in both]], ()
    names = (*both, *(name for name in own if name not in both))
    return features[:, [own.index(name) for name in names]], names


def _placed(h: Hyperparameter, raw: Floats) -> Floats:
    """Raw values on a hyperparameter's scale, on which its range is [0, 1]."""
    ends = np.array([h.low, h.high])
    if h.log and h.low > 0:
        raw, ends = exact.log(raw), exact.log(ends)
    low, high = ends
    return (raw - low) / (high - low) if high > low else np.zeros_like(raw)
