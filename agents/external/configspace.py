"""Search spaces of ConfigSpace, for SMAC3 and DEHB."""

from __future__ import annotations

from typing import Any

from hpo_envs.agents.external.packages import package
from hpo_envs.agents.models import Floats
from hpo_envs.agents.problem import Space


def configspace_of(space: Space, seed: int) -> Any:
    """Return a seeded `ConfigurationSpace` of a space, with ordinals, log scales, constants and conditions."""
    cs = package("ConfigSpace")
    made = cs.ConfigurationSpace(seed=seed)
    for name, axis in zip(space.names, space.axes, strict=True):
        if axis.single:
            h = cs.Constant(name, axis.natural(0.0))
        elif axis.kind == "categorical":
            h = cs.CategoricalHyperparameter(name, list(axis.choices))
        elif axis.kind == "ordinal":
            h = cs.OrdinalHyperparameter(name, list(axis.choices))
        elif axis.kind == "integer":
            h = cs.UniformIntegerHyperparameter(name, int(axis.low), int(axis.high), log=axis.log)
        else:
            h = cs.UniformFloatHyperparameter(name, axis.low, axis.high, log=axis.log)
        made.add(h)
    for name, axis in zip(space.names, space.axes, strict=True):
        each = [
            cs.InCondition(made[name], made[space.names[parent]], [space.axes[parent].choices[k] for k in when])
            for parent, when in ((axis.parent, axis.when), *axis.others)
            if parent >= 0
        ]
        if each:
            made.add(each[0] if len(each) == 1 else cs.AndConjunction(*each))
    return made


def configuration(made: Any, space: Space, point: Floats) -> Any:
    """Return the `Configuration`, in the `ConfigurationSpace` made of a space, at (d,) coordinates of the space.

    Floats are clipped to ConfigSpace's rounded bounds.
    """
    values = space.config(point)
    for name, axis in zip(space.names, space.axes, strict=True):
        if name in values and axis.kind == "real" and not axis.single:
            values[name] = min(max(values[name], made[name].lower), made[name].upper)
    return package("ConfigSpace").Configuration(made, values=values)
