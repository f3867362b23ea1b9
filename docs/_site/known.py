"""Range, best and median of an id's rewards."""

from __future__ import annotations

from typing import Any

import gymnasium as gym

from _site import markdown
from hpo_envs.benchmarks import problem_of
from hpo_envs.benchmarks.analysis.scales import Scale, Scales
from hpo_envs.core.family import Spec
from hpo_envs.families.registry import FAMILIES

SOURCES = {
    "table": "of all rows of the table",
    "reference": "of a committed search of the space (`python -m hpo_envs.benchmarks.references`)",
    "given": "as given with `best=` and `reference=`",
    "bounds": "the bounds of the metrics, since no search of the whole space is committed",
}
"""Sources of scales."""

ZERO = {
    "table": "median (regret 1)", "reference": "median of random search (regret 1)", "given": "reference (regret 1)",
    "bounds": "lowest (regret 1)",
}  # fmt: skip
"""Meaning of regret 1."""


def rewards(spec: Spec) -> tuple[str, str]:
    """The range of rewards by the metric's definition, "" where it has none, and the section on what is best."""
    env: Any = gym.make(spec.id, **FAMILIES[spec.family].example)
    bounds, params = problem_of(env).reward_bounds, env.unwrapped.params
    scale = Scales(spec.id, params, {}).of(0)
    env.close()
    limits = "" if bounds is None else ", ".join(f"{low:g} to {high + 0.0:g}" for low, high in bounds)
    return limits, best(scale, params)


def best(scale: Scale, params: Any) -> str:
    """Best known and reference scores in native units."""
    if scale.source == "none":
        return "Nothing is known: scores are raw, unless `best=` and `reference=` are given."
    table = params.tables[0]
    rows = [
        (f"`{name}`", f"{sign * high:.4g}", f"{sign * low:.4g}")
        for name, sign, high, low in zip(params.objectives, scale.signs, scale.best, scale.reference, strict=True)
    ]
    which = f" (one of {len(params.tables)})" if len(params.tables) > 1 else ""
    text = f"On `{table.name}`{which}, {SOURCES[scale.source]}:"
    head = ("objective", "best (regret 0)", "corner of the front, regret 1" if params.vector else ZERO[scale.source])
    return f"{text}\n\n{markdown.table(head, rows)}"
