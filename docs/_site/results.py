"""Tables of the leaderboard, and what fills the placeholders of the guides. All numbers are `leaderboard.json.gz`'s."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping
from typing import Any

from _site import markdown
from hpo_envs.agents import AGENTS
from hpo_envs.benchmarks import leaderboard
from hpo_envs.benchmarks.analysis import significance
from hpo_envs.benchmarks.comparison import summary
from hpo_envs.benchmarks.report import numbers, sentences, tables

Found = Mapping[str, Any]

CHEAP = ("asha", "freeze-thaw", "hyperband", "successive-halving")
"""Agents that stop trainings early."""


@functools.cache
def load() -> dict[str, Any]:
    """The committed scores."""
    return summary.read(leaderboard.SUMMARY)


def page_of_agent(name: str) -> str:
    """Name of the page, below `agents/`, of a registered name: that of its class."""
    return AGENTS[name].target.partition(":")[2]


def agent_link(name: str, folder: str = "../agents/") -> str:
    """A link to an agent's page."""
    return f"[`{name}`]({folder}{page_of_agent(name)}.md)" if name in AGENTS else f"`{name}`"


def entry_of(env_id: str, found: Found) -> Mapping[str, Any] | None:
    """The environment that an id is on the leaderboard at its own budget and without other tables, if it is."""
    plain = re.compile(rf"{re.escape(env_id)}( \(subsample=[\d.]+\))?")
    return next((e for e in found["environments"] if plain.fullmatch(e["label"])), None)


def track_of(env_id: str, found: Found) -> Mapping[str, Any] | None:
    """The group of environments that an id is ranked in."""
    entry = entry_of(env_id, found)
    return next((t for t in found["tracks"] if entry and entry["label"] in t["environments"]), None)


def cells_of(env_id: str, found: Found) -> list[Mapping[str, Any]]:
    """Scores of all agents on an id, best first."""
    entry, track = entry_of(env_id, found), track_of(env_id, found)
    measure = track["score"] if track else "anytime"
    own = (c for c in found["cells"] if entry and c["environment"] == entry["label"])
    return sorted(own, key=lambda c: c[measure][0])


def environment_table(env_id: str, found: Found) -> str:
    """All agents on one id, with intervals."""
    head = ("agent", "regret over the budget", "regret at the end", "best found", "runs")
    rows = []
    for c in cells_of(env_id, found):
        scores = (numbers.interval(c[measure]) for measure in ("anytime", "final"))
        rows.append((agent_link(c["agent"]), *scores, f"{100 * c['solved']:.0f} %", c["n"]))
    return markdown.table(head, rows)


def agent_table(names: list[str], found: Found) -> str:
    """Ranks of the registered names of one class in each group of environments."""
    rows = []
    for t in found["tracks"]:
        for place, r in enumerate(t["ranking"], 1):
            if r["agent"] in names:
                leader = t["ranking"][0]["agent"]
                pair = sentences.against(t, r["agent"], leader)
                behind = "leads"
                if r["here"] != "worse" and place > 1:
                    behind = f"not significantly different from `{leader}`"
                elif pair is not None:
                    behind = f"{numbers.number(pair['here']['difference'][0])} behind `{leader}`"
                score = numbers.interval(r["mean"])
                rows.append((t["name"], f"`{r['agent']}`", f"{place} of {len(t['ranking'])}", score, behind))
    return markdown.table(("environments", "name", "rank", "mean regret [95 % interval]", ""), rows) if rows else ""


def track_tables(found: Found) -> str:
    """Every ranking, but those where no agent can be better."""
    parts = []
    for place, t in enumerate(found["tracks"]):
        if t.get("flat"):
            continue
        rows = []
        for i, r in enumerate(t["ranking"], 1):
            across = "-" if r["elsewhere"][1] is None else numbers.interval(r["elsewhere"])
            row = (i, agent_link(r["agent"], "agents/"), numbers.interval(r["mean"]), across, r["here"], r["there"])
            rows.append((*row, numbers.interval(r["final"]), tables.milliseconds(r.get("seconds"))))
        parts += [
            f"## {t['name']}",
            sentences.runs(t) + ": " + sentences.SCORES[t["score"]] + ".",
            " ".join(sentences.verdict(t)),
            f'<a href="leaderboard.html#track-{place}">Curves, tests and data of these runs</a>',
        ]
        head = ("", "agent", "mean regret", "mean across tasks", "on these tasks", "across tasks", "final regret")
        parts += [markdown.table((*head, "ms per suggestion"), rows)]
    return "\n\n".join(parts)


def page(found: Found) -> str:
    """The page of all rankings."""
    versions = found["versions"]
    return f"""# Leaderboard
![Leads over random search by task group](verdict.png)

The [report](report.md) explains the picture. The tables below have all groups of environments. A budget in a name
replaces the default budget; "with tables of" a family: the agents had source tasks, its tables of other languages.
<a href="leaderboard.html">The full report</a> has every curve, test and table, and its data as a file.

{gains(found, "agents/")}

Normalised regret is 0 if the best configuration was found at once, and 1 if nothing was better than the median one.
"Mean regret" has a 95 % interval over seeds on these tasks, "mean across tasks" one over tasks; "on these tasks" and
"across tasks" are the verdicts. "ms per suggestion" is the processor time of a suggestion and its evaluation. All rows
were made by `{found["command"]}`, hpo_envs {versions["hpo_envs"]}, on {versions["published"]}; see
[the rules](guides/submitting-an-agent.md), also to submit an agent.

{flat(found)}

{track_tables(found)}
"""


def flat(found: Found) -> str:
    """Environments that are in no ranking."""
    names = dict.fromkeys(e.partition(" ")[0] for t in found["tracks"] if t.get("flat") for e in t["environments"])
    listed = " and ".join(f"`{n}`" for n in names)
    return f"Degenerate tasks, whose best configuration is the median one: {listed}." if names else ""


def gains(found: Found, folder: str = "../agents/") -> str:
    """Group -> leader, who ties with it, and what each is ahead of random search."""
    rows = []
    for t in (t for t in found["tracks"] if not t.get("flat")):
        leader, base = t["ranking"][0], next((r for r in t["ranking"] if r["agent"] == "random"), None)
        ties = [agent_link(r["agent"], folder) for r in t["ranking"][1:] if r["here"] == significance.TIED]
        share = "" if not base or not base["mean"][0] else f"{100 * (1 - leader['mean'][0] / base['mean'][0]):.0f} %"
        also = ", ".join(ties[:5]) + (f" and {len(ties) - 5} more" if len(ties) > 5 else "")
        rows.append((t["name"], agent_link(leader["agent"], folder), also or "none", share))
    head = ("environments", "leader", "tied for best", "less regret than random search")
    return markdown.table(head, rows)


def early_stopping(found: Found, folder: str = "../agents/") -> str:
    """Sentences: the best agent that stops trainings early against the best one that does not."""
    said = []
    for t in found["tracks"]:
        early = next((r for r in t["ranking"] if r["agent"] in CHEAP), None)
        full = next((r for r in t["ranking"] if r["agent"] not in CHEAP), None)
        if early and full:
            pair = sentences.against(t, early["agent"], full["agent"])
            verdict = pair["here"]["verdict"] if pair else ""
            said.append(
                f"- {t['name']}: {agent_link(early['agent'], folder)} {numbers.interval(early['mean'])}, best with "
                f"whole trainings {agent_link(full['agent'], folder)} {numbers.interval(full['mean'])}: {verdict}."
            )
    return "\n".join(said)


def versus_random(found: Found, folder: str = "../agents/") -> str:
    """Numbers of agents of each group that are better than, not different from and worse than random search."""
    rows = []
    for t in (t for t in found["tracks"] if not t.get("flat")):
        counts = {"better": 0, significance.DIFFERENT: 0, "worse": 0}
        worst = []
        for r in t["ranking"]:
            pair = sentences.against(t, r["agent"], "random")
            if pair is not None and (verdict := pair["here"]["verdict"]) in counts:
                counts[verdict] += 1
                worst += [agent_link(r["agent"], folder)] * (verdict == "worse")
        if sum(counts.values()):
            rows.append((t["name"], *counts.values(), ", ".join(worst)))
    head = ("environments", "better than random", significance.DIFFERENT, "worse", "which are worse")
    return markdown.table(head, rows)


PLACEHOLDERS: dict[str, Callable[[Found], str]] = {
    "gains": gains,
    "early-stopping": early_stopping,
    "versus-random": versus_random,
}
"""Name in `<!-- results: NAME -->` -> what stands there on the site."""


def fill(text: str) -> str:
    """Fill in the results that a page requests; an unknown name raises a `KeyError`."""
    return re.sub(r"<!-- results: ([\w-]+) -->", lambda m: PLACEHOLDERS[m[1]](load()), text)
