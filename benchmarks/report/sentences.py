"""What a track's numbers say, in sentences: the same in `compare`, in reports and on the leaderboard."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from hpo_envs.benchmarks.analysis import intervals
from hpo_envs.benchmarks.analysis import significance as verdicts
from hpo_envs.benchmarks.runs.record import SEEN
from hpo_envs.tables import store

SCORES = {"anytime": "regret averaged over the budget", "final": "regret at the end"}
"""What a track is ranked by."""

RAW = {"anytime": "minus the best reward so far, averaged over the budget", "final": "minus the reward at the end"}
"""The same where no scale is known: lower is better, and comparable on one environment only."""


def measure(track: Mapping[str, Any]) -> str:
    """What a track is ranked by."""
    text = (RAW if track.get("raw") else SCORES)[track["score"]]
    several = track.get("raw") and track.get("objectives", 1) > 1
    return text.replace("reward", "sum of the objectives' rewards") if several else text


def share(value: float | None) -> str:
    """A share for readers; None where there is none."""
    return "-" if value is None else f"{value:.0%}"


def number(value: float | None, digits: int = 3) -> str:
    """A number for readers; None is what was never reached."""
    # Adding 0 turns -0 into 0.
    return "never" if value is None else f"{value + 0.0:.{digits}g}"


def interval(values: Sequence[float | None]) -> str:
    """An estimate with its interval, alone where it has none."""
    mean, low, high = values
    return number(mean) if low is None or high is None else f"{number(mean)} [{number(low)}, {number(high)}]"


def score(record: Mapping[str, Any], name: str = "mean") -> str:
    """A mean of runs with its interval, or what can be said of runs that are all equal."""
    text = interval(record[name])
    if name == "mean" and record["constant"]:
        n = min(record["n"])
        return f"{text} in all runs (others in {1 - (1 - intervals.CONFIDENCE) ** (1 / n):.1%} at most)"
    return f"{text} (unreliable)" if name == "mean" and record["unreliable"] else text


def p_value(p: float | None) -> str:
    """A p-value as papers print it."""
    return "" if p is None else "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


def against(track: Mapping[str, Any], a: str, b: str) -> dict[str, Any] | None:
    """How agent a does against agent b; None if they are the same."""
    return verdicts.against(track["pairs"], a, b)


def count(n: int, noun: str) -> str:
    """A number of things."""
    return f"{n:,} {noun}{'s' * (n != 1)}"


def runs(track: Mapping[str, Any]) -> str:
    """How many environments, clusters and seeds stand behind a track."""
    n, k = len(track["environments"]), track["clusters"]
    clusters = f" in {k} cluster{'s' * (k > 1)}" if k < n else ""
    return f"{count(n, 'environment')}{clusters}, {_seeds(track)} each"


def _seeds(track: Mapping[str, Any]) -> str:
    counts = sorted({n for r in track["ranking"] for n in r["n"]})
    seeds = str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    return f"{seeds} seed{'s' * (counts[-1] > 1)}"


def verdict(track: Mapping[str, Any]) -> list[str]:
    """Who is best on these environments, and on environments like these: sentences, the first of which names it."""
    leader = track["ranking"][0]
    level = f"{measure(track).capitalize()}: {score(leader)}."
    if track.get("flat"):
        return ["No agent can be better here: the best is the median, so that regret is 0/0, and is in no average."]
    if len(track["ranking"]) == 1:
        return [f"Only {leader['agent']} ran.", level]
    return [
        *_best(track),
        level,
        *_others(track),
        *_random(track),
        *_no_other(track),
        *_seen(track),
        *_sources(track),
        *_left_out(track),
    ]


def _best(track: Mapping[str, Any]) -> list[str]:
    """Who leads here, and whether it would elsewhere."""
    first, second = (r["agent"] for r in track["ranking"][:2])
    n, k = len(track["environments"]), track["clusters"]
    where = f"these {n} environments" if n > 1 else track["environments"][0]
    if track["ranking"][0]["here"] == "open":
        return [f"On {where}, {first} has the lowest mean; {_seeds(track)} are too few for an interval or a verdict."]
    if track["best"]["here"] != first:
        equal = [r["agent"] for r in track["ranking"] if _apart(track, first, r["agent"]) == 0.0]
        others = [r["agent"] for r in track["ranking"][1:] if r["here"] == "may be best" and r["agent"] not in equal]
        lead = f"{listed(equal)} share" if len(equal) > 1 else f"{first} has"
        told = f"; not told apart from {listed(_placed(track, others, len(equal)))}." if others else "."
        return [f"On {where}, {lead} the lowest mean{told}"]
    p = against(track, first, second)
    assert p is not None  # two agents have a pair
    here, there = (f"{_lead(p[w]['difference'])}" for w in ("here", "there"))
    if k < intervals.FEWEST_CLUSTERS:
        return [f"On {where}, {first} is best ({_seeds(track)}; lead over {second} {here})."]
    if track["best"]["there"] == first:
        return [f"{first} is best on {where}, and on environments like these (lead over {second} {there})."]
    rivals = [r["agent"] for r in track["ranking"] if r["there"] == "may be best" and r["agent"] != first]
    return [
        f"{first} leads on {where} (lead over {second} {here}).",
        f"Whether it would on other such environments is open: {there}, ahead on {p['ahead']} of {n}"
        + (f"; may be best as well: {listed(_placed(track, rivals, 1))}." if rivals else "."),
    ]


def _placed(track: Mapping[str, Any], names: Sequence[str], before: int) -> list[str]:
    """Agents with their rank, from the first one on that does not follow its neighbour in the ranking."""
    ranks = {r["agent"]: i for i, r in enumerate(track["ranking"], 1)}
    return [name if ranks[name] == before + i else f"{name} (rank {ranks[name]})" for i, name in enumerate(names, 1)]


def _apart(track: Mapping[str, Any], a: str, b: str) -> float:
    """Mean difference of two agents; means of a summary are rounded, and may agree where agents do not."""
    p = against(track, a, b)
    return float(p["here"]["difference"][0]) if p else 0.0


def _others(track: Mapping[str, Any]) -> list[str]:
    """Why nothing is said of other environments, where there are too few."""
    n, k = len(track["environments"]), track["clusters"]
    if n == 1:
        return ["One environment says nothing about others."]
    if k == 1:
        return ["These environments are related and count as one, which says nothing about others."]
    if k >= intervals.FEWEST_CLUSTERS:
        return []
    first, second = (r["agent"] for r in track["ranking"][:2])
    p = against(track, first, second)
    assert p is not None  # two agents have a pair
    counted = f"{k} clusters of related environments are too few" if k < n else "Too few environments"
    return [
        f"{counted} for a statement about others: even if {first} led on all of them, chance alone would do that in "
        f"2^(1-{k}) = {2.0 ** (1 - k):.3g} of studies.",
        *[f"It is ahead of {second} on {p['ahead']} of {n}, by {_lead(p['there']['difference'])}."] * (p["ahead"] > 0),
    ]


def _random(track: Mapping[str, Any]) -> list[str]:
    """How far the leader is from random search on these environments."""
    first = track["ranking"][0]
    exact = track.get("random")
    if exact and first["here"] != "open":
        mean, _, high = first["mean"]
        if high is not None and high < exact:
            return [f"Its regret is {1 - mean / exact:.0%} below that of random search ({exact:.3g}, exact)."]
        return ["No agent here is shown to beat random search, whose score is known exactly."]
    base = next((r for r in track["ranking"] if r["agent"] == "random"), None)
    if base is None or first["here"] == "open":
        return []
    if base["here"] == "worse" and base["mean"][0] and not track.get("raw"):
        return [f"Its regret is {1 - first['mean'][0] / base['mean'][0]:.0%} below that of random search."]
    if any((p := against(track, r["agent"], "random")) and p["here"]["verdict"] == "better" for r in track["ranking"]):
        return []  # another one, which has a higher mean than the leader
    return ["No agent here is shown to beat random search."]


def _no_other(track: Mapping[str, Any]) -> list[str]:
    """Agents that cannot differ from random search with so few evaluations; those that are not listed beside it."""
    n = len(track["environments"])
    groups: dict[int, list[str]] = {}
    for r in track["ranking"]:
        if r["random"] and r["agent"] != "random":
            groups.setdefault(r["random"], []).append(r["agent"])
    doubles = track.get("doubles", ())
    said = [f"Not listed, because with so few evaluations it is random search: {listed(doubles)}."] if doubles else []
    return said + [
        f"Within this budget {listed(names)} cannot differ from random search{'' if k == n else f' on {k} of {n}'}: "
        "the first evaluations are random, and there are no others."
        for k, names in groups.items()
    ]


def _seen(track: Mapping[str, Any]) -> list[str]:
    """Agents whose weights are no test on fresh data."""
    names = [r["agent"] for r in track["ranking"] if r["agent"].endswith(SEEN)]
    return [f"The weights of {listed(names)} were fitted to tables of these very languages."] if names else []


def _sources(track: Mapping[str, Any]) -> list[str]:
    """Whose tables the agents could learn from."""
    found = re.search(r"transfer=(\w+)", track["environments"][0])
    return [f"All agents had {found[1]}'s tables of other languages at hand, named in the headers."] if found else []


def _left_out(track: Mapping[str, Any]) -> list[str]:
    """Runs whose regret is 0/0."""
    return [
        f"{count} runs on {env} are left out: nothing in their problem is better than the median, and regret is 0/0."
        for env, count in track.get("left_out", {}).items()
    ]


def _lead(difference: Sequence[float | None]) -> str:
    mean, low, high = (None if v is None else -v for v in difference)
    return interval([mean, high, low])


def listed(names: Sequence[str], most: int = 8) -> str:
    """Names as English lists them, the last ones of many by their number."""
    if len(names) > most:
        names = [*names[: most - 2], f"{len(names) - most + 2} more"]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def answered(table: Mapping[str, Any]) -> str:
    """The kind of a table, and who measured it."""
    return f"measured by {store.owner(table['name'])}" if table["kind"] == "measured" else "surrogate"


def kinds(summary: Mapping[str, Any]) -> str:
    """The kinds of tables behind a summary."""
    found = {t["kind"] for e in summary["environments"] for t in e["tables"]}
    names = {"measured": "measured tables", "surrogate": "surrogates"}
    if len(found) == 1:
        return names[found.pop()]
    return "measured tables, and on surrogates or synthetic arms where marked below"
