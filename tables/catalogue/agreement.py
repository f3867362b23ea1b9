"""How well rankings of agents on embedded tables agree with rankings on measured ones.

`agreement.csv` is written by `hpo_envs.benchmarks.agreement`, which says how they are compared.
"""

from __future__ import annotations

import csv
import functools
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

DATA = Path(__file__).with_name("agreement.csv")

ENOUGH = 0.1
"""How far tau may stay below its ceiling."""


@functools.cache
def records() -> tuple[dict[str, str], ...]:
    """One record an id: its tables, how many agents were ranked, tau, its ceiling, and the best agent on either."""
    with open(DATA, newline="", encoding="utf-8") as stream:
        return tuple(csv.DictReader(stream))


def worth(name: str, among: Iterable[Mapping[str, Any]] | None = None) -> str:
    """What rankings on embedded tables are worth, in a sentence or two.

    Args:
        name: A data set, `nmthpo`, or one of its tables, `nmthpo/swen`.
        among: Records; default: the committed ones.
    """
    everything = records() if among is None else among
    found = [r for r in everything if any(f"{t}/".startswith(f"{name}/") for t in r["tables"].split())]
    if not found:
        return f"Whether it ranks agents as the measured table of {name} does was not tested."
    tau, ceiling = (float(np.mean([float(r[column]) for r in found])) for column in ("tau", "ceiling"))
    same = sum(r["measured"] == r["embedded"] for r in found)
    ids = f"the {len(found)} ids of {name}, on average," if len(found) > 1 else found[0]["id"]
    one = "the same" if same else "not the same"
    best = f"the best agent is the same on {same} of them" if len(found) > 1 else f"the best agent is {one}"
    return (
        f"Rankings of agents on embedded and measured tables of {ids} agree with Kendall's tau {tau:.2f}; those on "
        f"two halves of the measured runs agree with {ceiling:.2f}; {best}."
        + ("" if tau >= ceiling - ENOUGH else " Compare agents on measured tables here.")
    )
