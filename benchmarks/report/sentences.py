"""What a track's numbers say, in sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

SCORES = {"anytime": "regret averaged over the budget", "final": "regret at the end"}
"""What a track is ranked by."""


def number(value: float | None, digits: int = 3) -> str:
    """A number for readers; None is what was never reached."""
    # Adding 0 turns -0 into 0.
    return "never" if value is None else f"{value + 0.0:.{digits}g}"


def interval(values: Sequence[float | None]) -> str:
    """An estimate with its interval."""
    return f"{number(values[0])} [{number(values[1])}, {number(values[2])}]"


def p_value(p: float) -> str:
    """A p-value as papers print it."""
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


def against(track: Mapping[str, Any], a: str, b: str) -> dict[str, Any] | None:
    """How agent a does against agent b, whichever way round the pair was stored; None if they are the same."""
    for p in track["pairs"]:
        if (p["a"], p["b"]) == (a, b):
            return dict(p)
        if (p["a"], p["b"]) == (b, a):
            turned = {"better": "worse", "worse": "better", "tie": "tie"}[p["verdict"]]
            mirrored = {"difference": -p["difference"], "low": -p["high"], "high": -p["low"]}
            return {**p, "a": a, "b": b, **mirrored, "improvement": 1 - p["improvement"], "verdict": turned}
    return None


def runs(track: Mapping[str, Any]) -> str:
    """How many environments and seeds stand behind a track."""
    counts = sorted({n for r in track["ranking"] for n in r["n"]})
    seeds = str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    n = len(track["environments"])
    return f"{n} environment{'s' * (n > 1)}, {seeds} seed{'s' * (counts[-1] > 1)} each"


def verdict(track: Mapping[str, Any]) -> list[str]:
    """Who won, by how much, how sure: sentences, the first of which names the leader."""
    ranking = track["ranking"]
    leader = ranking[0]["agent"]
    level = f"{SCORES[track['score']].capitalize()}: {interval(ranking[0]['mean'])}, the lowest."
    if len(ranking) == 1:
        return [f"Only {leader} ran.", f"{SCORES[track['score']].capitalize()}: {interval(ranking[0]['mean'])}."]
    pairs = {r["agent"]: against(track, leader, r["agent"]) for r in ranking[1:]}
    ties = [a for a, p in pairs.items() if p and p["verdict"] == "tie"]
    beaten = {a: p for a, p in pairs.items() if p and p["verdict"] == "better"}
    equal = [r["agent"] for r in ranking if abs(r["mean"][0] - ranking[0]["mean"][0]) < 1e-9]
    lead = f"{listed(equal)} share the lead." if len(equal) > 1 else f"{leader} leads."
    said = [f"No single winner, {lead}" if ties else f"{leader} wins.", level]
    others = [a for a in ties if a not in equal]
    if others:
        said.append(f"These runs do not tell {'them' if len(equal) > 1 else 'it'} apart from {listed(others)}.")
    if beaten:
        who, p = next(iter(beaten.items()))
        how = f"{number(-p['difference'])} [{number(-p['high'])}, {number(-p['low'])}], {p_value(p['p_holm'])}"
        many = "all others" if len(beaten) == len(pairs) else f"{len(beaten)} of {len(pairs)} others"
        said.append(f"{leader if len(equal) > 1 else 'It'} is better than {many}, than {who} by {how}.")
    if ranking[0]["constant"] and len(equal) == 1:
        said.append(
            "It scores the same on every seed, so that the intervals leave out what luck it had: see the ranks."
        )
    if "random" in beaten:
        base = next(r["mean"][0] for r in ranking if r["agent"] == "random")
        said.append(f"Its regret is {-beaten['random']['difference'] / base:.0%} below that of random search.")
    elif "random" in (leader, *ties):
        said.append("No agent here is shown to beat random search.")
    return said


def listed(names: Sequence[str]) -> str:
    """Names as English lists them."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def kinds(summary: Mapping[str, Any]) -> str:
    """The kinds of tables behind a summary."""
    found = {t["kind"] for e in summary["environments"] for t in e["tables"]}
    names = {"measured": "measured tables", "surrogate": "embedded surrogate tables"}
    if len(found) == 1:
        return names[found.pop()]
    # A mixture was refused before: what is left are ids that have no measured table at all.
    return "measured tables, but for ids that have only a synthetic or surrogate one (marked below)"
