"""The page of a search: the best configuration first, then how the search came to it and what mattered."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hpo_envs.benchmarks.analysis import forest_importance
from hpo_envs.benchmarks.report.charts import colour
from hpo_envs.benchmarks.report.html import download, head, num, table, text
from hpo_envs.benchmarks.report.page import whole
from hpo_envs.benchmarks.report.sentences import count, number
from hpo_envs.tables.table import Hyperparameter
from hpo_envs.tuning.record import Evaluation, by
from hpo_envs.tuning.search import cause

Floats = npt.NDArray[np.float64]

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 420, 250, 92, 12, 12, 44
"""Size of a picture and its margins."""

FEWEST = 8
"""Successes below which no importance is estimated."""


UNRELIABLE = 0.2
"""Out-of-bag R2 of the forest up to which shares are said to be unreliable."""


class Axis(NamedTuple):
    """Positions of values on [0, 1].

    Attributes:
        name: What it shows.
        low: Value at 0.
        high: Value at 1.
        log: Whether the scale is logarithmic.
        labels: Of choices 0, 1, ...; empty for numbers.
    """

    name: str
    low: float
    high: float
    log: bool = False
    labels: tuple[str, ...] = ()

    @classmethod
    def of(cls, h: Hyperparameter) -> Axis:
        """The axis of a hyperparameter."""
        labels = tuple(map(str, h.values)) if h.kind == "categorical" else ()
        return cls(h.name, h.low, h.high, h.log, labels)

    def at(self, value: float) -> float:
        """The place of a value, or of the index of a choice."""
        low, high, v = (math.log(x) if self.log else x for x in (self.low, self.high, value))
        return (v - low) / (high - low) if high > low else 0.5

    @property
    def ticks(self) -> list[tuple[float, str]]:
        """(place, label) of a few values."""
        if self.labels:
            return [(self.at(i), label) for i, label in enumerate(self.labels)]
        shares = (0.0, 0.5, 1.0) if self.high > self.low else (0.5,)
        low, high = (math.log(x) if self.log else x for x in (self.low, self.high))
        values = [low + s * (high - low) for s in shares]
        return [(s, f"{math.exp(v) if self.log else v:.4g}") for s, v in zip(shares, values, strict=True)]


def render(tuned: Any) -> str:
    """The whole page of a search."""
    h, ended = tuned.header, [e for e in tuned if e.ended >= 0]
    good, failed = tuned.successes, [e for e in ended if e.rewards is None]
    lead = f"{count(len(ended), 'evaluation')} by {by(h)}, {count(len(failed), 'failure')}, {_time(tuned)}."
    name = str(h["function"]).rpartition(":")[2]
    parts = [_answer(tuned)] if good else ["<p>No evaluation succeeded yet.</p>"]
    if good:
        parts += [_curve(tuned), _importance(tuned), _configurations(tuned)]
    parts += [_evaluations(tuned, ended), _failures(failed), _again(tuned)]
    body = f'<header><h1>{escape(name)}</h1><p>{escape(lead)}</p></header><main id="main">{"".join(parts)}</main>'
    rows = json.loads(tuned.to_frame().to_json(orient="records", date_format="iso"))
    return whole(f"Search: {name}", body, {"charts": {}, "rows": {}, "looks": {}, "search": h, "evaluations": rows})


def _section(key: str, title: str, content: str) -> str:
    return f'<section><h2 id="{key}">{escape(title)}</h2>{content}</section>'


def _time(tuned: Any) -> str:
    started = [e.started for e in tuned if e.started]
    wall = max((e.started + e.seconds for e in tuned), default=0.0) - min(started, default=0.0)
    return f"{number(sum(e.seconds for e in tuned))} s of evaluations within {number(wall)} s"


def _answer(tuned: Any) -> str:
    """The best configuration, ready to copy; of several objectives the Pareto front."""
    names = tuned.header["objectives"]
    if len(names) > 1:
        cells = [
            [num(e.number), *(num(e.metrics[n]) for n in names), text(repr(e.config))]
            for e in sorted(tuned.pareto, key=lambda e: e.metrics[names[0]])
        ]
        columns = [("n", "evaluation"), *(("n", n) for n in names), ("", "configuration")]
        shown = table("front", "No other evaluation is better in all objectives", columns, cells)
        return _section("answer", "Pareto front", shown)
    best = tuned.best
    said = ", ".join(f"{name} {value:.6g}" for name, value in best.metrics.items())
    lines = ",\n    ".join(f"{name!r}: {value!r}" for name, value in best.config.items())
    return _section(
        "answer",
        f"Best: {names[0]} {best.metrics[names[0]]:.6g}",
        f"<pre><code>{{\n    {escape(lines)},\n}}</code></pre>"
        f'<p class="soft">Evaluation {best.number}: {escape(said)}; {number(best.seconds)} s.</p>',
    )


# -- pictures ----------------------------------------------------------------------------------------------------------


def _picture(title: str, x: Axis, y: Axis, marks: str, note: str = "") -> str:
    """A figure with axes; marks are SVG in the pixels of `_x` and `_y`."""
    rules = [
        f'<line class="rule" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{_y(p):.1f}" y2="{_y(p):.1f}"/>'
        f'<text x="{LEFT - 6}" y="{_y(p) + 4:.1f}" text-anchor="end">{escape(label)}</text>'
        for p, label in (y.ticks if y.name else ())
    ]
    step = max(1, len(x.ticks) // 6)
    rules += [
        f'<text x="{_x(p):.1f}" y="{HEIGHT - BOTTOM + 16}" text-anchor="{"end" if p > 0.95 else "middle"}">'
        f"{escape(label[:14])}</text>"
        for p, label in x.ticks[::step]
    ]
    ends = f'<line class="axis" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{_y(0)}" y2="{_y(0)}"/>'
    named = (
        f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 8}" text-anchor="middle">{escape(x.name)}</text>'
        f'<text transform="translate(12 {_y(0.5)}) rotate(-90)" text-anchor="middle">{escape(y.name)}</text>'
    )
    label = escape(f"{title}: {y.name} by {x.name}")
    drawn = f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{label}">'
    drawn += f"{''.join(rules)}{ends}{named}{marks}"
    below = f"<figcaption>{escape(note)}</figcaption>" if note else ""
    return f"<figure><h4>{escape(title)}</h4>{below}{drawn}</svg></figure>"


def _x(share: float) -> float:
    return LEFT + share * (WIDTH - LEFT - RIGHT)


def _y(share: float) -> float:
    return HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM)


def _dots(evaluations: Iterable[tuple[Evaluation, float, float]]) -> str:
    """Points at (x, y) shares, each with its evaluation as a tooltip."""
    return "".join(
        f'<circle cx="{_x(x):.1f}" cy="{_y(y):.1f}" r="3.5" style="fill:var(--c0)" fill-opacity="0.6">'
        f"<title>{escape(repr(e)[1:-1])}</title></circle>"
        for e, x, y in evaluations
    )


def _scores(name: str, goal: str, scores: Sequence[float]) -> Axis:
    """The axis of scores from the best one on, without those so bad that they would hide the others."""
    sign = 1.0 if goal == "max" else -1.0
    best, middle, worst = sign * np.quantile(sign * np.array(scores), [1.0, 0.5, 0.0])
    end = best - 4.0 * (best - middle) if best != middle else worst
    low, high = sorted([float(best), float(max(end, worst) if goal == "max" else min(end, worst))])
    return Axis(name, low, high) if high > low else Axis(name, low - 0.5, high + 0.5)


def _curve(tuned: Any) -> str:
    """Each objective against the order in which evaluations ended."""
    ended = sorted(tuned.successes, key=lambda e: e.ended)
    figures = []
    for k, (name, goal) in enumerate(zip(tuned.header["objectives"], tuned.header["goals"], strict=True)):
        sign = 1.0 if goal == "max" else -1.0
        values = [e.metrics[name] for e in ended]
        y, last = _scores(name, goal, values), max(e.ended for e in ended) or 2
        x = Axis("evaluations", 0.0, float(last + last % 2))
        best = sign * np.maximum.accumulate(sign * np.array(values))
        steps = "".join(
            f"{'H' if i else 'M'}{_x(x.at(e.ended)):.1f}{'V' if i else ' '}{_y(_inside(y.at(b))):.1f}"
            for i, (e, b) in enumerate(zip(ended, best.tolist(), strict=True))
        )
        line = f'<path d="{steps}H{_x(1.0):.1f}" fill="none" stroke-width="2" style="stroke:var(--c1)"/>'
        dots = _dots((e, x.at(e.ended), _inside(y.at(v))) for e, v in zip(ended, values, strict=True))
        note = "Points are evaluations, far ones at the edge; the line is the best so far." if k == 0 else ""
        figures.append(_picture(f"{name} over the search", x, y, line + dots, note))
    return _section("curve", "Score against evaluations", f'<div class="grid">{"".join(figures)}</div>')


def _inside(share: float) -> float:
    return min(max(share, 0.0), 1.0)


def _importance(tuned: Any) -> str:
    """Shares of the variance with their intervals."""
    title, (configs, scores, axes) = "What mattered", tuned.configurations()
    if len(scores) < FEWEST or np.ptp(scores) == 0.0:
        return _section("importance", title, f"<p>It takes {FEWEST} successes with different scores to say.</p>")
    found = forest_importance.importance(configs, scores, axes)
    low, high = forest_importance.intervals(configs, scores, axes)
    rows = []
    for i in np.argsort(-found.main, kind="stable").tolist():
        share, ends = float(found.main[i]), (min(low[i], found.main[i]), max(high[i], found.main[i]))
        mark = (
            f'<svg viewBox="0 0 200 16" width="200" height="16" aria-hidden="true"><rect width="{200 * share:.1f}" '
            f'y="3" height="10" style="fill:var(--c0)"/><line x1="{200 * ends[0]:.1f}" x2="{200 * ends[1]:.1f}" y1="8" '
            'y2="8" stroke-width="2" style="stroke:var(--c1)"/></svg>'
        )
        interval = f"{share:.2f} [{ends[0]:.2f}, {ends[1]:.2f}]"
        rows.append([head(found.names[i]), num(share, interval), f"<td>{mark}</td>"])
    caption = (
        f"Share of the variance over the whole space, of a random forest (out-of-bag R2 {found.score:.2f}), with 95 % "
        "bootstrap intervals."
    )
    if not found.score > UNRELIABLE:
        caption += " The forest explains little of the scores: do not rely on these shares."
    columns = [("", "hyperparameter"), ("n", "share"), ("", "")]
    return _section("importance", title, table("importances", caption, columns, rows))


def _configurations(tuned: Any) -> str:
    """Parallel coordinates, and a slice per hyperparameter."""
    (points, raw), good = tuned.stored(), tuned.successes
    score = np.array([e.score for e in good])
    rank = score.argsort(kind="stable").argsort(kind="stable") / max(len(good) - 1, 1)
    name = tuned.header["objectives"][0]
    y = _scores(name, tuned.header["goals"][0], [e.metrics[name] for e in good])
    axes, active = [Axis.of(h) for h in points.space], points.active(raw)
    gap = max(1, len(axes) - 1)
    lines = []
    for i in np.argsort(rank).tolist():
        values = zip(axes, raw[i].tolist(), active[i].tolist(), strict=True)
        places = [_y(_inside(a.at(v)) if on else -0.08) for a, v, on in values]
        path = " ".join(f"{_x(j / gap):.1f},{p:.1f}" for j, p in enumerate(places))
        lines.append(
            f'<polyline points="{path}" fill="none" stroke="{colour(rank[i])}" stroke-opacity="0.7">'
            f"<title>{escape(repr(good[i])[1:-1])}</title></polyline>"
        )
    across = Axis("low end below, high end above; below all: inactive", 0.0, gap, labels=tuple(a.name for a in axes))
    shown = _picture("Parallel coordinates", across, Axis("", 0.0, 0.0), "".join(lines), "Dark: better scores.")
    slices = shown if len(axes) > 1 else ""
    for j, axis in enumerate(axes):
        on = np.flatnonzero(active[:, j]).tolist()
        dots = _dots((good[i], axis.at(raw[i, j]), _inside(y.at(good[i].metrics[name]))) for i in on)
        slices += _picture(axis.name, axis, y, dots)
    return _section("slices", "Configurations", f'<div class="grid">{slices}</div>')


# -- tables ------------------------------------------------------------------------------------------------------------


def _evaluations(tuned: Any, ended: Sequence[Evaluation]) -> str:
    names = [h["name"] for h in tuned.header["space"]]
    metrics = [*dict.fromkeys(name for e in ended for name in e.metrics)]
    rows = [
        [
            num(e.number),
            text(e.status),
            *(num(e.metrics.get(m), f"{e.metrics[m]:.6g}" if m in e.metrics else "") for m in metrics),
            *(_cell(e.config.get(n)) for n in names),
            num(e.seconds),
        ]
        for e in ended
    ]
    columns = [("n", "number"), ("", "status"), *(("n", m) for m in metrics), *(("", n) for n in names), ("n", "s")]
    shown = table("evaluations", "All evaluations, in the order in which they ended", columns, rows)
    return _section("all", "Evaluations", shown + download("evaluations", "Evaluations"))


def _cell(value: Any) -> str:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return num(value, f"{value:.6g}")
    return text("" if value is None else str(value))


def _failures(failed: Sequence[Evaluation]) -> str:
    if not failed:
        return _section("failures", "Failures", "<p>None.</p>")
    kinds: dict[str, list[Evaluation]] = {}
    for e in failed:
        kinds.setdefault(cause(e.error), []).append(e)
    shown = "".join(
        f"<details><summary>{len(found)} × {escape(kind)}</summary>"
        f"<p>Evaluations {', '.join(str(e.number) for e in found)}; the first one, at {escape(repr(found[0].config))}:"
        f"</p><pre><code>{escape(found[0].error)}</code></pre></details>"
        for kind, found in sorted(kinds.items(), key=lambda item: -len(item[1]))
    )
    return _section("failures", f"Failures: {len(failed)}", shown)


def _again(tuned: Any) -> str:
    code = f"import hpo_envs\n\ntuned = hpo_envs.load({str(tuned.folder)!r})\ntuned.best_config"
    versions = ", ".join(f"{k} {v}" for k, v in tuned.header["run"].get("versions", {}).items())
    return _section(
        "again",
        "Load it",
        f'<pre><code>{escape(code)}</code></pre><p class="soft">{escape(versions)}</p><p>'
        '<button type="button" id="everything" class="download">All data of this page (JSON)</button></p>',
    )
