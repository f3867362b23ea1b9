"""Verdicts and other results of a track in sentences, for `compare`, reports and the leaderboard."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from hpo_envs.benchmarks.analysis import intervals, significance
from hpo_envs.benchmarks.report import numbers
from hpo_envs.benchmarks.runs.record import SEEN
from hpo_envs.tables import store

SCORES = {"anytime": "mean normalised regret over the budget", "final": "final normalised regret"}
"""Names of the scores that rank a track."""

RAW = {"anytime": "negative best reward, mean over the budget", "final": "negative final reward"}
"""Names of the scores without a known scale: lower is better, comparable on one environment only."""

FIXED_ORDERS = ("zero-shot", "portfolio", "ridge")
"""Agents whose order of the candidates is fixed before the run."""


def measure(track: Mapping[str, Any]) -> str:
    """Return the description of the score that ranks a track."""
    text = (RAW if track.get("raw") else SCORES)[track["score"]]
    several = track.get("raw") and track.get("objectives", 1) > 1
    return text.replace("reward", "sum of the objectives' rewards") if several else text


def score(record: Mapping[str, Any]) -> str:
    """Return a mean and interval as text: marked if unreliable; with a bound on other results if all are equal."""
    text = numbers.interval(record["mean"])
    if record["constant"]:
        n = min(record["n"])
        return f"{text} in all runs (rule of three: others in at most {1 - (1 - intervals.CONFIDENCE) ** (1 / n):.1%})"
    return f"{text} (unreliable)" if record["unreliable"] else text


def against(track: Mapping[str, Any], a: str, b: str) -> dict[str, Any] | None:
    """Return the comparison of agent a with agent b; None if the track has no such pair."""
    return significance.against(track["pairs"], a, b)


def fixed_order(track: Mapping[str, Any]) -> str | None:
    """Return a track's best agent among `FIXED_ORDERS`, which ignore what they observe in the run; None without one."""
    return next((r["agent"] for r in track["ranking"] if r["agent"] in FIXED_ORDERS), None)


def gain(track: Mapping[str, Any], agent: str) -> list[float | None] | None:
    """Return the adaptation gain with interval: the lead over `fixed_order` on shared seeds; None if there is none."""
    fixed = fixed_order(track)
    p = None if fixed is None or agent in FIXED_ORDERS else against(track, fixed, agent)
    return p["here"]["difference"] if p else None


def runs(track: Mapping[str, Any]) -> str:
    """Return a text on the numbers of environments, task groups and seeds of a track."""
    n, k = len(track["environments"]), track["groups"]
    groups = f" in {k} task group{'s' * (k > 1)}" if k < n else ""
    return f"{numbers.count(n, 'environment')}{groups}, {_seeds(track)} each"


def _seeds(track: Mapping[str, Any]) -> str:
    counts = sorted({n for r in track["ranking"] for n in r["n"]})
    seeds = str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    return f"{seeds} seed{'s' * (counts[-1] > 1)}"


def verdict(track: Mapping[str, Any]) -> list[str]:
    """Return sentences on a track's results: best agents, score, caveats; only one if the task is degenerate."""
    if track.get("flat"):
        return ["Degenerate task: the best configuration is the median, so regret is undefined and in no average."]
    leader, *others = track["ranking"]
    base = next((f"; random search {score(r)}" for r in others if r["agent"] == "random"), "")
    level = f"{measure(track).capitalize()} (lower is better): {score(leader)}{base}."
    if len(track["ranking"]) == 1:
        return [f"Only {leader['agent']} ran.", level]
    parts = (_few_tasks, _random, _same_as_random, _overlap, _transfer, _excluded)
    return [*_best(track), level, *(text for part in parts for text in part(track))]


def _best(track: Mapping[str, Any]) -> list[str]:
    """Best agent on the fixed tasks, and whether that generalises."""
    first, second = (r["agent"] for r in track["ranking"][:2])
    n, k = len(track["environments"]), track["groups"]
    where = f"these {n} tasks" if n > 1 else track["environments"][0]
    if track["ranking"][0]["here"] == significance.INCONCLUSIVE:
        lowest = [r["agent"] for r in track["ranking"] if r["mean"][0] == track["ranking"][0]["mean"][0]]
        have = f"{listed(lowest)} {'have' if len(lowest) > 1 else 'has'}"
        few = _seeds(track)
        return [f"On {where}, {have} the lowest mean; {few} {'are' if few[-1] == 's' else 'is'} too few for a test."]
    if track["best"]["here"] != first:
        tied = [r["agent"] for r in track["ranking"] if r["here"] == significance.TIED]
        tied = _placed(track, [first, *(a for a in tied if a != first)], 0)
        if len(tied) == 1:
            return [f"On {where}, {first} has the lowest mean."]
        return [f"On {where}, {listed(tied)} are not significantly different (Holm, alpha = {intervals.ALPHA:g})."]
    p = against(track, first, second)
    assert p is not None  # two agents have a pair
    here, there = (_lead(p[w]["difference"]) for w in ("here", "there"))
    better = f"{first} is significantly better than {'every other agent' if len(track['ranking']) > 2 else second}"
    if track["best"]["there"] == first:
        return [f"{better} on {where} and across tasks (lead over {second} {there})."]
    said = [f"{better} on {where} ({_seeds(track)}; lead over {second} {here})."]
    if k < intervals.FEWEST_GROUPS:
        return said
    rivals = [r["agent"] for r in track["ranking"] if r["there"] == significance.TIED and r["agent"] != first]
    others = f"; tied for best: {listed(_placed(track, rivals, 1))}" if rivals else ""
    return [*said, f"Across tasks the comparison is inconclusive (lead {there}, ahead on {p['ahead']} of {n}{others})."]


def _placed(track: Mapping[str, Any], names: Sequence[str], before: int) -> list[str]:
    """Return names of agents, with their rank if they do not directly follow their predecessor in the ranking."""
    ranks = {r["agent"]: i for i, r in enumerate(track["ranking"], 1)}
    return [name if ranks[name] == before + i else f"{name} (rank {ranks[name]})" for i, name in enumerate(names, 1)]


def _few_tasks(track: Mapping[str, Any]) -> list[str]:
    """Sentence that results do not generalise, if there are too few tasks."""
    n, k = len(track["environments"]), track["groups"]
    if n == 1:
        return ["Results on one environment do not generalise."]
    if k >= intervals.FEWEST_GROUPS:
        return []
    few = "1 group of related tasks is" if k == 1 else f"{k} groups of related tasks are" if k < n else f"{n} tasks are"
    return [f"{few} too few to generalise."]


def _random(track: Mapping[str, Any]) -> list[str]:
    """At most one sentence that compares the agents with random search on the fixed tasks."""
    first = track["ranking"][0]
    base = next((r for r in track["ranking"] if r["agent"] == "random"), None)
    if base is None or first["here"] == significance.INCONCLUSIVE:
        return []
    if base["here"] == "worse" and base["mean"][0] and not track.get("raw"):
        return [f"Its regret is {1 - first['mean'][0] / base['mean'][0]:.0%} lower than that of random search."]
    if any((p := against(track, r["agent"], "random")) and p["here"]["verdict"] == "better" for r in track["ranking"]):
        return []  # another one, which has a higher mean than the leader
    return ["No agent is significantly better than random search."]


def _same_as_random(track: Mapping[str, Any]) -> list[str]:
    """Sentences on agents that only draw at random: their budget ends within their random initial design."""
    n = len(track["environments"])
    groups: dict[int, list[str]] = {}
    for r in track["ranking"]:
        if r["random"] and r["agent"] != "random":
            groups.setdefault(r["random"], []).append(r["agent"])
    doubles = track.get("doubles", ())
    said = [f"Not listed, random search within this budget: {listed(doubles)}."] if doubles else []
    return said + [
        f"Within this budget {listed(names)} {'is' if len(names) == 1 else 'are'} random search"
        f"{'' if k == n else f' on {k} of {n} tasks'}: all evaluations are of the random initial design, so that "
        "differences from random search are chance."
        for k, names in groups.items()
    ]


def _overlap(track: Mapping[str, Any]) -> list[str]:
    """Sentence on agents whose training and test languages overlap, if there are any."""
    names = [r["agent"] for r in track["ranking"] if r["agent"].endswith(SEEN)]
    return [f"Train/test overlap: {listed(names)} was trained on these languages."] if names else []


def _transfer(track: Mapping[str, Any]) -> list[str]:
    """Sentence on the source tasks of the agents, if the track has any."""
    found = re.findall(r"transfer=(\w+)", track["environments"][0])
    return [f"Source tasks of all agents: {name} tables of other languages, listed in the headers." for name in found]


def _excluded(track: Mapping[str, Any]) -> list[str]:
    """Sentences on runs that are excluded because their task is degenerate."""
    return [
        f"{count} runs on {env} are excluded: their best configuration is the median, so regret is undefined."
        for env, count in track.get("left_out", {}).items()
    ]


def _lead(difference: Sequence[float | None]) -> str:
    mean, low, high = (None if v is None else -v for v in difference)
    return numbers.interval([mean, high, low])


def listed(names: Sequence[str], most: int = 8) -> str:
    """Join names into an English list, empty without names; of more than `most`, the last ones become "N more"."""
    if len(names) > most:
        names = [*names[: most - 2], f"{len(names) - most + 2} more"]
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def answered(table: Mapping[str, Any]) -> str:
    """Return the origin of a table as text: `measured by` and its owner, or `surrogate`."""
    return f"measured by {store.owner(table['name'])}" if table["kind"] == "measured" else "surrogate"


def kinds(summary: Mapping[str, Any]) -> str:
    """Return the kinds of a summary's tables as text."""
    found = {t["kind"] for e in summary["environments"] for t in e["tables"]}
    if len(found) > 1:
        return "measured tables, and on surrogates or synthetic arms where marked below"
    return "measured tables" if "measured" in found else "surrogates"
