"""Selections of arms: how often the wrong one, and what being sure costs, as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

LEGEND = """\
wrong: runs that recommend another arm than the best one, by budget [95 % interval]; until sure: mean evaluations of
the largest budget and the share of runs that stopped before its end because the agent was sure"""


def rows(records: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    """A row per agent, those that are wrong least with the largest budget first; the first row has the names."""
    budgets = sorted({r["budget"] for r in records})
    by_agent: dict[str, dict[float, Mapping[str, Any]]] = {}
    for r in records:
        by_agent.setdefault(r["agent"], {})[r["budget"]] = r
    last = {a: of[max(of)] for a, of in by_agent.items()}
    order = sorted(by_agent, key=lambda a: (-last[a]["budget"], last[a]["wrong"][0], last[a]["evaluations"]))
    head = ["agent", *(f"wrong with {b:g}" for b in budgets), "until sure"]
    return [head, *([a, *(_wrong(by_agent[a].get(b)) for b in budgets), _sure(last[a])] for a in order)]


def _wrong(record: Mapping[str, Any] | None) -> str:
    if record is None:
        return "-"
    share, low, high = (100 * v for v in record["wrong"])
    return f"{share:.3g} % [{low:.2g}, {high:.2g}]"


def _sure(record: Mapping[str, Any]) -> str:
    return f"{record['evaluations']:.0f} ({record['sure']:.0%})" if record["sure"] else "-"
