"""The report as HTML: order of its sections, meaning of the scale, command that repeats the study."""

import base64
import gzip
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from hpo_envs.benchmarks.plots import COLOURS, looks
from hpo_envs.benchmarks.report import answer, charts, groups, numbers, sentences, terminal
from hpo_envs.benchmarks.report.tables import download, head, num, of_track, table, text
from hpo_envs.tables import screen

STATIC = Path(__file__).parent / "static"

Drawn = dict[str, list[dict[str, Any]]]
"""Charts by the key of their figure: one or several variants to choose from."""

BEST = {
    "table": "best of the table", "reference": "best known, by the committed study", "given": "as given by the user",
    "bounds": "the bounds of the metrics", "none": "unknown: raw scores",
}  # fmt: skip
"""Meaning of regret 0, by source of the scale."""

PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
{style}</style>
</head>
<body>
<a class="skip" href="#main">Skip to the results</a>
{body}
<noscript><p>Charts, and the tables of all results and of all pairs, need JavaScript.</p></noscript>
<script type="application/gzip" id="data">{data}</script>
<script>{script}</script>
</body>
</html>
"""


def render(summary: Mapping[str, Any], *, citations: Sequence[str] = ()) -> str:
    """Return a summary (see `Comparison.summary`) as one HTML page, which cites the suite and `citations`.

    If the summary has a `verdict` across task groups, the page begins with it, and the rest is folded.
    """
    drawn: Drawn = {}
    rows: dict[str, str] = {}
    places = looks(a["label"] for a in summary["agents"])
    says = [sentences.verdict(t) for t in summary["tracks"]]
    evidence = [
        *(_track(t, i, drawn, rows) for i, t in enumerate(summary["tracks"]) if not t.get("flat")),
        *(_selections(family, records) for family, records in summary["selections"].items()),
        _environments(summary, drawn),
        _results(summary, rows),
    ]
    meaning = (STATIC / "meaning.html").read_text("utf-8")
    method = [f'<h3 id="meaning">What the numbers mean</h3>{meaning}', _compared(summary), _repeat(summary, citations)]
    folded = "verdict" in summary
    levels = [
        *([groups.section(summary["verdict"])] if folded else []),
        _level("answer", "Summary", _answer(summary, says, places), folded),
        _level("evidence", "Results", "".join(evidence), folded),
        _level("method", "Method", "".join(method), folded),
    ]
    body = f'{_head(summary)}<main id="main">' + "\n".join(levels) + "</main>"
    # Charts have all curves and fronts already.
    rest = {k: v for k, v in summary.items() if k not in ("curves", "fronts")}
    rest["tracks"] = [{k: v for k, v in t.items() if k != "curves"} for t in summary["tracks"]]
    return whole(summary["title"], body, {"charts": drawn, "rows": rows, "looks": places, **rest})


def _level(key: str, title: str, inside: str, folded: bool) -> str:
    """Return a section of the page; if `folded`, its content is shown on a click."""
    heading = f'<h2 id="{key}">{title}</h2>'
    inside = f"<details><summary>{heading}</summary>{inside}</details>" if folded else f"{heading}{inside}"
    return f"<section>{inside}</section>"


def whole(title: str, body: str, data: Mapping[str, Any]) -> str:
    """Return a complete HTML page.

    In `body`, tables of the class `sort` are sortable, and the button `everything` saves the data. These are JSON data:
    `charts` by the key of their figure, `rows` of long tables, `looks` of agents, and anything to save besides.
    """
    script = "".join((STATIC / name).read_text("utf-8") for name in ("page.js", "tables.js"))
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    text = json.dumps({"colours": len(COLOURS), **data}, separators=(",", ":"), allow_nan=False)
    # Escapes of control and direction characters become text.
    text = re.sub(r"((?<!\\)(?:\\\\)*)\\u(?=00[0189]|200[ef]|202[a-e]|206[6-9])", r"\1\\\\u", text)
    # In dark mode, the style sheet replaces those with too little contrast.
    colours = f":root {{ {' '.join(f'--c{i}: {c};' for i, c in enumerate(COLOURS))} }}\n"
    page = PAGE.format(
        policy=f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; img-src data:",
        title=screen.escaped(escape(title)),
        style=colours + (STATIC / "page.css").read_text("utf-8"),
        body=screen.escaped(body),
        data=base64.b64encode(gzip.compress(text.encode(), compresslevel=6, mtime=0)).decode(),
        script=script,
    )
    return page.encode(errors="backslashreplace").decode()  # names of folders may be no UTF-8


def _head(summary: Mapping[str, Any]) -> str:
    total = sum(c["n"] for c in summary["cells"])
    agents, environments = (numbers.count(len(summary[k]), k[:-1]) for k in ("agents", "environments"))
    lead = f"{numbers.count(total, 'run')}: {agents}, {environments}, on {sentences.kinds(summary)}."
    links = {"answer": "Summary", "evidence": "Results", "environments": "Curves by environment"}
    links |= {"results": "All results", "method": "Method", "repeat": "Repeat and cite"}
    nav = "".join(f'<li><a href="#{k}">{v}</a></li>' for k, v in links.items())
    return (
        f"<header><h1>{escape(summary['title'])}</h1><p>{escape(lead)}</p>"
        f'<nav aria-label="Sections"><ul>{nav}</ul></nav></header>'
    )


def _answer(summary: Mapping[str, Any], says: Sequence[Sequence[str]], places: Mapping[str, int]) -> str:
    """Return the summary: a card for each track that is not degenerate, and the names of the degenerate ones."""
    tracks = [*enumerate(summary["tracks"])]
    flat = ", ".join(t["name"] for _, t in tracks if t.get("flat"))
    cards = "".join(answer.of_track(t, says[i], f"track-{i}", places) for i, t in tracks if not t.get("flat"))
    missing = f'<p class="missing"><b>{escape(summary["missing"])}</b></p>' if summary.get("missing") else ""
    last = f"<p>Degenerate tasks, whose best configuration is the median: {escape(flat)}.</p>" if flat else ""
    return (
        f'{missing}<p class="soft">Normalised regret: 0 is the best known score, 1 the median configuration; in '
        'brackets, 95&nbsp;% intervals. <a href="#meaning">What the numbers mean</a></p>'
        f'{answer.KEY}<div class="grid">{cards}</div>{last}'
    )


def _track(t: Mapping[str, Any], i: int, drawn: Drawn, rows: dict[str, str]) -> str:
    figures = "".join(figure(f"track-{i}-{key}", [one], note, drawn) for key, one, note in charts.of_track(t))
    ranking, more = of_track(t, i, rows)
    return (
        f'<section><h3 id="track-{i}">{escape(t["name"])}</h3>{ranking}'
        f'<div class="grid">{figures}</div>{more}</section>'
    )


def figure(key: str, variants: list[dict[str, Any]], note: str, drawn: Drawn) -> str:
    """Return the HTML placeholder of a chart, and add its variants to `drawn` by `key`.

    `note` is the caption below a single variant, which has a title; of several variants it is the common title.
    """
    drawn[key] = variants
    title, caption = (variants[0]["title"], note) if len(variants) == 1 else (note, "")
    below = f"<figcaption>{escape(caption)}</figcaption>" if caption else ""
    return f'<figure data-chart="{escape(key)}"><h4>{escape(title)}</h4>{below}</figure>'


def _environments(summary: Mapping[str, Any], drawn: Drawn) -> str:
    figures = figure("environments", charts.of_environments(summary), "Regret on one environment", drawn)
    if summary["fronts"]:
        figures += figure("fronts", charts.of_fronts(summary), "Pareto fronts: what half of the runs attain", drawn)
    return f'<section><h3 id="environments">Curves by environment</h3><div class="grid wide">{figures}</div></section>'


def _selections(family: str, records: Sequence[Mapping[str, Any]]) -> str:
    first, *rest = terminal.of_selections(records)
    key = escape(f"selections-{family}")
    cells = [[head(agent), *map(text, values)] for agent, *values in rest]
    shown = table(key, terminal.SELECTIONS, [("", name) for name in first], cells)
    return f'<section><h3 id="{key}-title">{escape(family)}: wrong arms, and sure agents</h3>{shown}</section>'


def _results(summary: Mapping[str, Any], packed: dict[str, str]) -> str:
    rows, flat = [], {e for t in summary["tracks"] if t.get("flat") for e in t["environments"]}
    for c in (c for c in summary["cells"] if c["environment"] not in flat):
        anytime, final = (num(c[k][0], numbers.interval(c[k])) for k in ("anytime", "final"))
        row = [text(c["environment"]), head(c["agent"]), num(c["n"]), anytime, num(c["anytime_iqm"]), final]
        rows.append([*row, num(c["solved"], numbers.share(c["solved"])), num(c["close"]), num(c["spent"])])
    names = ("runs", "mean regret", "IQM", "final regret", "solved", "expected cost to 0.1", "budget used")
    columns = [("", "environment"), ("", "agent"), *(("n", name) for name in names)]
    caption = "Mean [95 % interval]; costs in budgets; expected cost until the regret is 0.1"
    return (
        '<section><h3 id="results">All results</h3><p><label for="filter">Filter</label> <input id="filter" '
        'type="search" placeholder="e.g. swen bo" data-filter="all" data-count="count"> '
        f'<span id="count" aria-live="polite"></span></p>{table("all", caption, columns, rows, packed=packed)}'
        f"{download('all', 'Shown rows')}</section>"
    )


def _scale(e: Mapping[str, Any]) -> str:
    """Return the meaning of regret 0 and, if rows have repeats, the noise of single rewards."""
    if e.get("repeats", 1) < 2:
        return BEST[e["optimum"]]
    # The mean of few repeats depends largely on the rewards that selected the row.
    few = "; few repeats: scores are optimistic" if e["repeats"] < 10 else ""
    return f"{BEST[e['optimum']]}; noise {e['noise']:.2g} of the rows' spread, {e['repeats']} repeats{few}"


def _compared(summary: Mapping[str, Any]) -> str:
    rows = []
    for e in summary["environments"]:
        answered = "<br>".join(
            f'{escape(t["name"])} <span class="kind">{escape(sentences.answered(t))}</span> '
            f"<code>{escape(t['sha256'][:16])}</code>"
            for t in e["tables"]
        )
        budget = num(e["budget"], f"{e['budget']:g} {e['cost_unit']}")
        objectives = text(", ".join(e["objectives"]))
        rows.append([head(e["label"]), f"<td>{answered}</td>", objectives, budget, text(_scale(e))])
    names = ("environment", "table, origin, sha256", "objective", "budget", "regret 0 is")
    columns = [("n" if name == "budget" else "", name) for name in names]
    agents = "".join(f"<li><b>{escape(a['label'])}</b> {escape(a['summary'])}</li>" for a in summary["agents"])
    versions = ", ".join(f"{k} {v}" for k, v in summary["versions"].items())
    made = f'<p class="soft">{escape(versions)}</p><p class="soft">{escape(summary.get("checked", ""))}</p>'
    return (
        f'<section><h3 id="compared">What was compared</h3>'
        f"{table('tables', 'Environments and their tables (first 16 digits of sha256)', columns, rows)}"
        f"{download('tables', 'Tables')}<h4>Agents</h4><ul>{agents}</ul>{made}</section>"
    )


def _repeat(summary: Mapping[str, Any], citations: Sequence[str]) -> str:
    command = f"<pre><code>{escape(summary['command'])}</code></pre>" if summary["command"] else ""
    suite = (
        f"The hpo_envs developers. hpo_envs {summary['versions']['hpo_envs']}: Gymnasium environments for "
        "hyperparameter optimisation, architecture search and model selection in NLP. 2026."
    )
    cited = "".join(f"<li>{escape(c)}</li>" for c in (suite, *citations))
    return (
        f'<section><h3 id="repeat">Repeat and cite</h3>{command}<p>The same seeds, tables and versions give the same '
        'runs to the bit.</p><p><button type="button" id="everything" class="download">All data of this page (JSON)'
        f"</button></p><p>Please cite the suite and the papers behind the tables:</p><ul>{cited}</ul></section>"
    )
