"""Constraints of a search (`latency<=20`): checks, conversion from and to text, violations."""

import math
import re
from collections.abc import Iterable, Mapping
from typing import Any

from hpo_envs.tables.checks import one_of, scalar, shown
from hpo_envs.tables.table import is_number

SIGNS = {"<=": 1.0, ">=": -1.0}
"""Relation -> factor that turns `value - bound` into a violation."""


def checked(constraints: Any) -> dict[str, list[Any]]:
    """Check constraints and return them as plain data, in the order of their names: metric -> [relation, bound].

    Raises:
        ValueError: `constraints` is not a mapping of names to pairs of `<=` or `>=` and a finite number.
    """
    if not isinstance(constraints, Mapping):
        raise ValueError(f"constraints must be a mapping such as {{'latency': ('<=', 20.0)}}, got {constraints!r}")
    found: dict[str, list[Any]] = {}
    for name, pair in constraints.items():
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise ValueError(f"constraint on {name} must be a relation and a bound, as in ('<=', 20.0), got {pair!r}")
        relation, bound = one_of(f"relation of {name}", pair[0], tuple(SIGNS)), scalar(pair[1])
        if not (is_number(bound) and math.isfinite(bound)):
            raise ValueError(f"bound of {name} must be a finite number, got {shown(pair[1])}")
        found[str(name)] = [relation, float(bound)]
    return dict(sorted(found.items()))


def breaks(trial: Any) -> bool:
    """Return whether a trial of Optuna violates a constraint, of `constraints_func` or of `set_constraint`."""
    known: dict[str, Any] = trial.system_attrs
    listed = known.get("constraints", ())
    return any(value > 0.0 for value in (*listed, *(v for k, v in known.items() if k.startswith("constraints:"))))


def parsed_constraints(texts: Iterable[str]) -> dict[str, tuple[str, float]]:
    """Parse constraints from texts such as `latency<=20`.

    Raises:
        ValueError: A text does not have this form, or two have the same metric.
    """
    found: dict[str, tuple[str, float]] = {}
    for text in texts:
        try:
            name, relation, bound = re.fullmatch(r"\s*(.+?)\s*(<=|>=)\s*(\S+)\s*", text).groups()  # type: ignore[union-attr]
            number = float(bound)
        except (AttributeError, ValueError):
            raise ValueError(f"constraint must be as in latency<=20, got {text!r}") from None
        if name in found:
            raise ValueError(f"constraint must be one for each metric (return it by two names), got two of {name}")
        found[name] = relation, number
    return found


def violations(constraints: Mapping[str, Any], metrics: Mapping[str, float]) -> list[float]:
    """Return the signed violation of each constraint, in the metric's unit; positive where it is violated."""
    return [SIGNS[relation] * (metrics[name] - bound) for name, (relation, bound) in constraints.items()]


def described(constraints: Mapping[str, Any]) -> str:
    """Format constraints as text: `latency <= 20, parameters <= 5e+07`."""
    return ", ".join(f"{name} {relation} {bound:g}" for name, (relation, bound) in constraints.items())
