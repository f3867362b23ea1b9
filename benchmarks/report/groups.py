"""First section of the leaderboard: leads over random search by task group; learned optimizers and simple baselines."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from hpo_envs.benchmarks.plots import COLOURS, PLACES
from hpo_envs.benchmarks.report import charts
from hpo_envs.benchmarks.report.tables import head, num, table, text

MARKS = ("&#9679;", "&#9632;", "&#9670;", "&#9675;")
"""Symbols of the agents in the picture's key; `page.css` draws the same."""


def shown(found: Mapping[str, Any]) -> list[str]:
    """Return the agents in the picture: the one with the lowest mean, `bo`, `tpe` and `regularized-evolution`."""
    return [*dict.fromkeys((_longest(found)["standings"][0]["agent"], "bo", "tpe", "regularized-evolution"))]


def _longest(found: Mapping[str, Any]) -> Any:
    """The verdict at the largest budget: standings by mean across tasks, and comparisons of pairs."""
    return found["budgets"][max(found["budgets"], key=int)]


def section(found: Mapping[str, Any]) -> str:
    """Return the verdict as HTML: sentence, picture with a row for each task group, and folded tables."""
    agents, rows = shown(found), found["by_group"]
    leads = [0.0, *(-r[a] for r in rows for a in agents)]
    low, spread = min(leads), max(leads) - min(leads)

    def at(value: float) -> float:
        return float(100 * (value - low) / spread)

    def item(name: str, row: Mapping[str, Any], interval: str = "") -> str:
        dots = "".join(
            f'<b class="mark{agents.index(a)}" style="left:{at(-row[a]):.1f}%;--own:{_colour(a)}"></b>'
            for a in reversed(agents)
        )
        rule = f'<i class="base" style="left:{at(0.0):.1f}%"></i>'
        drawn = f'<span class="spans" aria-hidden="true">{rule}{interval}{dots}</span>'
        return f'<li><span class="who">{name}</span>{drawn}<span class="value">{-row[agents[0]]:+.2f}</span></li>'

    means = {a: sum(r[a] for r in rows) / len(rows) for a in agents}
    _, lower, upper = next(p["difference"] for p in _longest(found)["against_random"] if p["a"] == agents[0])
    place = f"left:{at(-upper):.1f}%;width:{at(-lower) - at(-upper):.1f}%"
    interval = f'<i style="{place};--own:{_colour(agents[0])};opacity:.5"></i>'
    places = [k / 10 for k in range(-10, 11) if low <= k / 10 <= low + spread]
    ticks = "".join(f'<i class="tick" style="left:{at(v):.1f}%">{v:g}</i>' for v in places)
    axis = f'<li class="soft" aria-hidden="true"><span></span><span class="spans">{ticks}</span><span></span></li>'
    items = item("<b>mean of all groups</b>", means, interval) + "".join(item(escape(r["group"]), r) for r in rows)
    key = " ".join(f'<span style="color:{_colour(a)}">{MARKS[k]}</span>&nbsp;{escape(a)}' for k, a in enumerate(agents))
    return (
        f'<section><h2 id="verdict">Across task groups</h2><p><b>{escape(found["sentence"].replace("`", ""))}</b></p>'
        f'<p class="soft">Lead over random search (dashed) in mean normalised regret, right is better; bar (95 % '
        f"interval over task groups) and number: {escape(agents[0])}. {key}</p>"
        f'<ol class="answer">{items}{axis}</ol>{_folded("All agents by task group", _every(found))}'
        f"{_learned(found.get('learned', ()))}</section>"
    )


def _folded(title: str, inside: str) -> str:
    return f"<details><summary>{title}</summary>{inside}</details>"


def _every(found: Mapping[str, Any]) -> str:
    """Return a table of all agents' leads over random search, with a row for each task group."""
    names, rows = [s["agent"] for s in _longest(found)["standings"] if s["agent"] != "random"], found["by_group"]
    spread = max(abs(r[a]) for r in rows for a in names) or 1.0
    cells = [[head(r["group"]), num(r["environments"]), *(_heat(-r[a], spread) for a in names)] for r in rows]
    columns = [("", "task group"), ("n", "environments"), *(("n", a) for a in names)]
    caption = "Lead over random search in mean normalised regret, 40 evaluations; positive is better"
    return table("groups", caption, columns, cells, "sort heat")


def _colour(agent: str) -> str:
    return f"var(--c{PLACES.get(agent, len(agent)) % len(COLOURS)})"


def _heat(lead: float, spread: float) -> str:
    share = (lead / spread + 1) / 2
    style = f"background:{charts.colour(share)};color:{charts.ink(share)}"
    return f'<td data-value="{lead:.6g}" style="{style}">{lead:+.3f}</td>'


def _learned(rows: Sequence[Mapping[str, str]]) -> str:
    """Return the folded table of learned optimizers and their rivals; empty without results."""
    known = [r for r in rows if r.get("mean") and "minus" not in r["method"]]
    if not known:
        return ""
    others = ("level", "method", "low", "high", "on these")
    fields = [f for f in known[0] if not f.startswith(others) and any(r[f] for r in known)]
    numbers = ([num(float(r[f]) if r[f] else None, r[f] or "-") for f in fields] for r in known)
    cells = [[text(r["level"]), head(r["method"]), *row] for r, row in zip(known, numbers, strict=True)]
    caption = "Mean normalised regret, 20 evaluations; unseen: in no training data; blind: without the run's history"
    columns = [("", "unseen"), ("", "optimizer"), *(("n", f) for f in fields)]
    return _folded("Learned optimizers and simple baselines", table("learned", caption, columns, cells))
