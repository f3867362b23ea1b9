"""Sortable tables in HTML: ranking, heat map and pairs of a track."""

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from hpo_envs.benchmarks.analysis.intervals import FEWEST_GROUPS
from hpo_envs.benchmarks.report import charts, numbers, sentences


def table(
    key: str,
    caption: str,
    columns: Sequence[tuple[str, str]],
    rows: Iterable[Sequence[str]],
    css: str = "sort",
    packed: dict[str, str] | None = None,
) -> str:
    """Return a scrollable HTML table with the id `key` and the classes `css`.

    Columns are (class, name), cells HTML (`<td>` or `<th>`). If `packed` is given, the rows are only stored there by
    `key`, and the page's script inserts them.
    """
    heads = "".join(
        f'<th scope="col" class="{kind}"><button type="button">{escape(name)}</button></th>' for kind, name in columns
    )
    body = "".join(f"<tr>{''.join(row)}</tr>" for row in rows)
    if packed is not None:
        packed[key], body = body, ""
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(caption)}">'
        f'<table id="{key}" class="{css}">'
        f"<caption>{escape(caption)}</caption><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def download(key: str, name: str) -> str:
    """Return a button that saves the shown rows of a table."""
    return f'<p><button type="button" class="download" data-table="{key}">{escape(name)} (CSV)</button></p>'


def text(value: str) -> str:
    """Return an HTML cell with a text."""
    return f"<td>{escape(value)}</td>"


def head(value: str) -> str:
    """Return an HTML header cell, which names its row."""
    return f'<th scope="row">{escape(value)}</th>'


def num(value: float | None, shown: str | None = None) -> str:
    """Return an HTML cell with a number to sort by (None: empty) and a text, by default that of `numbers.number`."""
    raw = "" if value is None else f"{value:.10g}"
    return f'<td class="n" data-value="{raw}">{escape(numbers.number(value) if shown is None else shown)}</td>'


def of_track(t: Mapping[str, Any], i: int, packed: dict[str, str]) -> tuple[str, str]:
    """Return the HTML before and after the charts of track `i`; rows of its table of pairs are added to `packed`."""
    return _ranking(t, f"ranking-{i}"), _heat(t, f"heat-{i}") + _pairs(t, f"pairs-{i}", packed)


def _ranking(t: Mapping[str, Any], key: str) -> str:
    leader = t["ranking"][0]["agent"]
    several = t["groups"] >= FEWEST_GROUPS
    timed = any(r.get("seconds") for r in t["ranking"])
    fixed = sentences.fixed_order(t)
    rows = []
    for place, r in enumerate(t["ranking"], 1):
        p = sentences.against(t, r["agent"], leader)
        here, there = (p["here"], p["there"]) if p else ({}, {})
        gain = sentences.gain(t, r["agent"])
        row = [num(place), head(r["agent"]), num(r["mean"][0], sentences.score(r))]
        row += [num(r["final"][0], numbers.interval(r["final"])), num(r["solved"], numbers.share(r["solved"]))]
        row += [num(here["difference"][0] if p else 0.0, numbers.interval(here["difference"]) if p else "")]
        row += [text(_tested(r["here"], here)), *([text(_tested(r["there"], there))] if several else [])]
        row += [num(gain[0] if gain else None, numbers.interval(gain) if gain else "")] if fixed else []
        rows.append(row + ([num(r.get("seconds"), milliseconds(r.get("seconds")))] if timed else []))
    score = "raw score" if t.get("raw") else "regret"
    columns = [("n", "#"), ("", "agent"), ("n", f"mean {score}"), ("n", f"final {score}"), ("n", "solved")]
    columns += [("n", "difference to the leader"), ("", "on these tasks"), *([("", "across tasks")] if several else [])]
    columns += [("n", "adaptation gain")] * (fixed is not None) + [("n", "ms per suggestion")] * timed
    caption = f"{t['name']}: ranked by {sentences.measure(t)}; lower is better"
    caption += f"; adaptation gain: that of {fixed}, the best fixed order, minus the agent's" if fixed else ""
    return table(key, caption, columns, rows) + download(key, "Ranking")


def _tested(verdict: str, test: Mapping[str, Any]) -> str:
    """Return a verdict as text, with its p-value if it has one."""
    p = numbers.p_value(test.get("p"))
    return f"{verdict} ({p})" if p else verdict


def milliseconds(seconds: float | None) -> str:
    """Return seconds as text in milliseconds: two significant digits, or whole from 100 ms on; empty for None."""
    return "" if seconds is None else f"{1000 * seconds:.2g}" if seconds < 0.0995 else f"{1000 * seconds:,.0f}"


def _heat(t: Mapping[str, Any], key: str) -> str:
    if len(t["environments"]) == 1:  # the ranking has its only column
        return ""
    top = max((v for row in t["heat"].values() for v in row), default=0.0) or 1.0
    rows = []
    for agent, values in t["heat"].items():
        styles = [f"background:{charts.colour(v / top)};color:{charts.ink(v / top)}" for v in values]
        cells = (f'<td data-value="{v}" style="{s}">{v:.2f}</td>' for v, s in zip(values, styles, strict=True))
        rows.append([head(agent), *cells])
    columns = [("", "agent"), *(("n", e) for e in t["environments"])]
    caption = f"{t['name']}: {sentences.measure(t)} by environment; lighter is better"
    return f"<h4>By environment</h4>{table(key, caption, columns, rows, 'sort heat')}{download(key, 'Heat map')}"


def _pairs(t: Mapping[str, Any], key: str, packed: dict[str, str]) -> str:
    if len(t["pairs"]) < 2:
        return ""
    names = {"here": "on these tasks"} | ({"there": "across tasks"} if t["groups"] >= FEWEST_GROUPS else {})
    rows = []
    for p in t["pairs"]:
        row = [head(p["a"]), head(p["b"])]
        for where in names:
            q = p[where]
            row += [text(q["verdict"]), num(q["difference"][0], numbers.interval(q["difference"]))]
            row.append(num(q["p_holm"], numbers.p_value(q["p_holm"])))
        ahead = num(p["ahead"], f"{p['ahead']} to {p['behind']}")
        rows.append([*row, ahead, num(p["improvement"], f"{p['improvement']:.0%}")])
    columns = [("", "agent"), ("", "against")]
    for where in names.values():
        columns += [("", where), ("n", f"difference {where}"), ("n", f"Holm {where}")]
    columns += [("n", "environments"), ("n", "P(better)")]
    inside = table(key, f"{t['name']}: every agent against every other, on shared seeds", columns, rows, packed=packed)
    return f"<details><summary>{escape(f'All {len(rows)} pairs')}</summary>{inside}{download(key, 'Pairs')}</details>"
