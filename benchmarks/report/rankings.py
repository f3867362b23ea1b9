"""The tables of a track: ranking, mean ranks with critical difference, heat map, all pairs."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

from hpo_envs.benchmarks.report import charts, sentences
from hpo_envs.benchmarks.report.html import bar, download, head, num, table, text


def of_track(t: Mapping[str, Any], i: int) -> tuple[str, str]:
    """What comes before the charts, and what comes after."""
    return _ranking(t, f"ranking-{i}"), _ranks(t, f"ranks-{i}") + _heat(t, f"heat-{i}") + _pairs(t, f"pairs-{i}")


def _ranking(t: Mapping[str, Any], key: str) -> str:
    leader, top = t["ranking"][0]["agent"], max(r["mean"][2] for r in t["ranking"]) or 1.0
    rows = []
    for place, r in enumerate(t["ranking"], 1):
        p = sentences.against(t, r["agent"], leader)
        mean, low, high = r["mean"]
        rows.append(
            [
                num(place),
                head(r["agent"]),
                bar(mean, low, high, top, sentences.interval(r["mean"])),
                text(p["verdict"] if p else "leads"),
                num(p["difference"], sentences.interval([p["difference"], p["low"], p["high"]])) if p else num(0.0, ""),
                num(p["p_holm"], sentences.p_value(p["p_holm"])) if p else num(None, ""),
                num(p["improvement"], f"{p['improvement']:.0%}") if p else num(None, ""),
                *(num(r[k][0], sentences.interval(r[k])) for k in ("iqm", "median", "final")),
                num(r["solved"], f"{r['solved']:.0%}"),
                num(r["first"], f"{r['first']} of {len(t['environments'])}"),
            ]
        )
    names = ("difference", "Holm", "P(better)", "IQM", "median", "final", "best found", "first on")
    columns = [("n", "#"), ("", "agent"), ("", f"mean {t['score']} regret"), ("", "vs leader")]
    columns += [("n", name) for name in names]
    caption = f"{t['name']}: ranked by {sentences.SCORES[t['score']]}, low is good"
    return table(key, caption, columns, rows) + download(key, "Ranking")


def _ranks(t: Mapping[str, Any], key: str) -> str:
    """The critical-difference diagram as a table: one column for each group that is not told apart."""
    f = t["friedman"]
    if f is None:
        return ""
    k = len(f["methods"])
    rows = []
    for name, rank in zip(f["methods"], f["ranks"], strict=True):
        groups = "".join(
            f'<td class="{"in" if name in c else "out"}">{"●" if name in c else ""}</td>' for c in f["cliques"]
        )
        rows.append([head(name), bar(rank, rank, rank, float(k), f"{rank:.2f}"), groups])
    columns = [("", "agent"), ("", "mean rank"), *(("", chr(65 + j % 26)) for j in range(len(f["cliques"])))]
    caption = "Mean rank, low is good; agents that share a lettered group are not told apart"
    return (
        f"<h3>Would it hold on other environments?</h3><p>Ranked on each of {f['problems']} environments. Friedman's "
        f"test that all agents are equal: {sentences.p_value(f['p'])}. Mean ranks closer than {f['difference']:.2f} "
        f"(Nemenyi's critical difference) are not told apart.</p>{table(key, caption, columns, rows, 'sort ranks')}"
        f"{download(key, 'Mean ranks')}"
    )


def _heat(t: Mapping[str, Any], key: str) -> str:
    top = max((v for row in t["heat"].values() for v in row), default=0.0) or 1.0
    rows = []
    for agent, row in t["heat"].items():
        cells = [
            f'<td data-value="{v}" style="background:{charts.colour(v / top)};'
            f'color:#{"000" if v < 0.5 * top else "fff"}">{v:.2f}</td>'
            for v in row
        ]
        rows.append([head(agent), *cells])
    columns = [("", "agent"), *(("n", e) for e in t["environments"])]
    caption = f"Mean {t['score']} regret by environment; light is good"
    return f"<h3>By environment</h3>{table(key, caption, columns, rows, 'sort heat')}{download(key, 'Heat map')}"


def _pairs(t: Mapping[str, Any], key: str) -> str:
    if len(t["pairs"]) < 2:
        return ""
    rows = [
        [
            text(p["a"]),
            text(p["verdict"]),
            text(p["b"]),
            *(num(p[k]) for k in ("difference", "low", "high")),
            num(p["p_holm"], sentences.p_value(p["p_holm"])),
            num(p["improvement"], f"{p['improvement']:.0%}"),
        ]
        for p in t["pairs"]
    ]
    columns = [("", "agent"), ("", "is"), ("", "than / with")]
    columns += [("n", name) for name in ("difference", "low", "high", "Holm", "P(better)")]
    inside = table(key, "Every agent against every other, on shared seeds", columns, rows)
    return f"<details><summary>{escape(f'All {len(rows)} pairs')}</summary>{inside}{download(key, 'Pairs')}</details>"
