"""Page of a search: best configuration, scores over time, learning curves, importance, evaluations, failures."""

import json
import time
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from hpo_envs.benchmarks.analysis import forest_importance
from hpo_envs.benchmarks.report.charts import chart, colour
from hpo_envs.benchmarks.report.numbers import count, number
from hpo_envs.benchmarks.report.page import Drawn, figure, whole
from hpo_envs.benchmarks.report.tables import download, head, num, table, text
from hpo_envs.tuning.constraints import described
from hpo_envs.tuning.mistakes import cause
from hpo_envs.tuning.record import Evaluation, by
from hpo_envs.tuning.trial import read_curve

LOOKS = {"evaluations": 0, "best so far": 1, "failed": 6, "infeasible": 3, "stopped early": 4, "running": 5}
LOOKS |= {"Pareto front": 1, "predicted mean": 2}
"""Index of the colour of each series."""

UNITS = {"s": 1.0, "min": 60.0, "h": 3600.0, "days": 86400.0}
"""Units of a time axis, in seconds."""

FEWEST, MOST = 8, 256
"""Fewest successes for an estimate of importance, and most that it uses; of more, a random sample."""


def render(tuned: Any) -> str:
    """The page of a search, as HTML."""
    h, ended = tuned.header, [e for e in tuned if e.ended >= 0]
    good, failed = tuned.successes, [e for e in ended if e.rewards is None]
    lead = f"{count(len(ended), 'evaluation')} by {by(h)}, {count(len(failed), 'failure')}, {_time(tuned)}."
    if changed := h.get("changed"):
        lead += f" The code changed before evaluation {' and '.join(map(str, changed))}."
    name = str(h["function"]).rpartition(":")[2]
    drawn: Drawn = {}
    rule = f" under {described(h['constraints'])}" if "constraints" in h else ""
    parts = [_answer(tuned)] if tuned.pareto else [f"<p>No evaluation succeeded yet{escape(rule)}.</p>"]
    if good:
        parts += [_curve(tuned, drawn), _importance(tuned), _configurations(tuned, drawn)]
    parts += [_timeline(tuned, drawn)] if len(tuned) else []
    parts += [_running(tuned)] if any(e.ended < 0 for e in tuned) else []
    parts += [_evaluations(tuned, ended), _failures(failed), _again(tuned)]
    body = f'<header><h1>{escape(name)}</h1><p>{escape(lead)}</p></header><main id="main">{"".join(parts)}</main>'
    rows = json.loads(tuned.to_frame().to_json(orient="records", date_format="iso"))
    return whole(
        f"Search: {name}", body, {"charts": drawn, "rows": {}, "looks": LOOKS, "search": h, "evaluations": rows}
    )


def _section(key: str, title: str, content: str) -> str:
    return f'<section><h2 id="{key}">{escape(title)}</h2>{content}</section>'


def _time(tuned: Any) -> str:
    started = [e.started for e in tuned if e.started]
    wall = max((e.started + e.seconds for e in tuned), default=0.0) - min(started, default=0.0)
    return f"{number(sum(e.seconds for e in tuned))} s of evaluations within {number(wall)} s"


def _answer(tuned: Any) -> str:
    """The best configuration, ready to copy, and best predicted mean; with several objectives, the Pareto front."""
    names = tuned.header["objectives"]
    if len(names) > 1:
        cells = [
            [num(e.number), *(num(e.metrics[n]) for n in names), text(repr(e.config))]
            for e in sorted(tuned.pareto, key=lambda e: e.metrics[names[0]])
        ]
        columns = [("n", "evaluation"), *(("n", n) for n in names), ("", "configuration")]
        rule = f" under {described(tuned.header['constraints'])}" if "constraints" in tuned.header else ""
        middle = tuned.recommended.evaluation.number
        caption = f"No other evaluation is better in all objectives{rule}; a compromise: {middle}"
        shown = table("front", caption, columns, cells)
        return _section("answer", "Pareto front", shown)
    best = tuned.best
    said = ", ".join(f"{name} {value:.6g}" for name, value in best.metrics.items())
    if "constraints" in tuned.header:
        said += f"; the best of {sum(e.feasible for e in tuned)} with {described(tuned.header['constraints'])}"
    lines = ",\n    ".join(f"{name!r}: {value!r}" for name, value in best.config.items())
    found = tuned.recommended
    interval = "" if np.isnan(found.low) else f", 95 % interval [{found.low:.6g}, {found.high:.6g}]"
    same = "this configuration" if found.config == best.config else repr(found.config)
    model = f"Best predicted mean: {found.mean:.6g}{interval}, {count(found.count, 'evaluation')}: {same}."
    return _section(
        "answer",
        f"Best: {names[0]} {best.metrics[names[0]]:.6g}",
        f"<pre><code>{{\n    {escape(lines)},\n}}</code></pre>"
        f'<p class="soft">Evaluation {best.number}: {escape(said)}; {number(best.seconds)} s.</p>'
        f"<p>{escape(model)}</p>",
    )


def _curve(tuned: Any, drawn: Drawn) -> str:
    """Each objective by order of completion; two objectives against each other; learning curves."""
    ended = sorted((e for e in tuned if e.ended >= 0), key=lambda e: e.ended)
    x, notes, figures = [e.ended + 1 for e in ended], [*map(_note, ended)], ""
    names, goals = tuned.header["objectives"], tuned.header["goals"]
    for k, (name, goal) in enumerate(zip(names, goals, strict=True)):
        series = _series(ended, name, goal)
        best, held = [], np.nan
        for e, value in zip(ended, series["evaluations"], strict=True):
            if e.feasible and e.whole and value is not None:
                held = value if np.isnan(held) else (max if goal == "max" else min)(held, value)
            best.append(None if np.isnan(held) else held)
        if best[-1] is None:
            continue
        panel: dict[str, Any] = {"x": x, "agents": {"best so far": [best], **{n: [v] for n, v in series.items()}}}
        if (found := _predicted(tuned)) is not None:
            panel["agents"]["predicted mean"] = [[value] * len(x) for value in (found.mean, found.low, found.high)]
        title = f"Best {name}: {number(best[-1])} after {x[best.index(best[-1])]} of {x[-1]} evaluations"
        look: dict[str, Any] = {"step": True, "points": [*series], "notes": notes}
        better = "Higher" if goal == "max" else "Lower"
        note = f"{better} is better. Points are evaluations, far and failed ones at the edge."
        figures += figure(f"curve-{k}", [chart(title, "evaluations", name, panel, **look)], note, drawn)
    if len(names) == 2 and tuned.pareto:
        across, up = (_series(ended, name, goal, far=True) for name, goal in zip(names, goals, strict=True))
        places: list[Any] = [next(v[i] for v in across.values() if v[i] is not None) for i in range(len(ended))]
        order = sorted(range(len(ended)), key=places.__getitem__)
        front, inside = {e.number for e in tuned.pareto}, up["evaluations"]
        up = {"Pareto front": [v if e.number in front else None for e, v in zip(ended, inside, strict=True)], **up}
        panel = {"x": [places[i] for i in order], "agents": {n: [[v[i] for i in order]] for n, v in up.items()}}
        look = {"points": [n for n in up if n != "Pareto front"], "notes": [notes[i] for i in order]}
        figures += figure(
            "pareto",
            [chart("Pareto front", names[0], names[1], panel, **look)],
            "Feasible evaluations on a line; failed ones in the corner.",
            drawn,
        )
    return _section(
        "curve", "Score against evaluations", f'<div class="grid">{figures}{_trainings(tuned, drawn)}</div>'
    )


def _series(
    evaluations: Sequence[Evaluation], name: str, goal: str, far: bool = False
) -> dict[str, list[float | None]]:
    """A score as points: complete, stopped early, infeasible, failed; outliers are moved to an edge unless `far`."""
    good = [e for e in evaluations if e.rewards is not None]
    scores = [e.metrics[name] for e in good]
    shown = dict(zip([e.number for e in good], scores if far else _shown(scores, goal), strict=True))
    edge = (min if goal == "max" else max)(shown.values(), default=0.0)
    found: dict[str, list[float | None]] = {
        kind: [shown.get(e.number, edge) if _kind(e) == kind else None for e in evaluations]
        for kind in ("evaluations", "stopped early", "infeasible", "failed")
    }
    return {n: v for n, v in found.items() if n == "evaluations" or any(value is not None for value in v)}


def _predicted(tuned: Any) -> Any:
    """The recommendation, if a model gave it an interval; else None."""
    if len(tuned.header["objectives"]) > 1 or not tuned.pareto or np.isnan(tuned.recommended.low):
        return None
    return tuned.recommended


def _timeline(tuned: Any, drawn: Drawn) -> str:
    """Bars of evaluations over time, in a row for each worker."""
    timed = [e for e in tuned if e.started]
    if not timed:
        return ""
    first, longest = min(e.started for e in timed), max(e.seconds for e in timed)
    # What a killed process left behind is not drawn until today.
    now = min(time.time(), max(e.started + e.seconds for e in timed) + max(longest, UNITS["min"]))
    ends = {e.number: e.started + e.seconds if e.ended >= 0 else now for e in timed}
    unit = next((u for u in reversed(UNITS) if max(ends.values()) - first >= 2.0 * UNITS[u]), "s")
    workers = [e.worker or e.owner.rpartition(":")[0] or "running" for e in timed]
    rows, bars = sorted({*workers}), []
    for e, worker in zip(timed, workers, strict=True):
        start, end = ((t - first) / UNITS[unit] for t in (e.started, ends[e.number]))
        bars.append([start, end, rows.index(worker), _kind(e), _note(e)])
    kinds = [*dict.fromkeys(bar[3] for bar in bars)]
    panel = {"x": [0.0, max(bar[1] for bar in bars)], "agents": {kind: [[None, None]] for kind in kinds}}
    drawing = chart("Workers", f"time since the start ({unit})", "worker", panel, bars=bars, rows=rows)
    note = "A bar is an evaluation, a row a worker (host and process)."
    return _section("workers", "Timeline", f'<div class="grid wide">{figure("timeline", [drawing], note, drawn)}</div>')


def _kind(e: Evaluation) -> str:
    """The series of an evaluation."""
    if e.ended < 0:
        return "running"
    if e.rewards is None:
        return "failed"
    return "infeasible" if not e.feasible else "evaluations" if e.whole else "stopped early"


def _trainings(tuned: Any, drawn: Drawn) -> str:
    """Learning curves of the evaluations that report after each epoch."""
    curves = [e for e in sorted(tuned.successes, key=lambda e: e.score) if e.curve]
    if not curves:
        return ""
    steps = sorted({int(step) for e in curves for step, _ in e.curve})
    lines = {_note(e): [[dict(map(tuple, e.curve)).get(step) for step in steps]] for e in curves}
    shades = {_note(e): colour(i / max(len(curves) - 1, 1)) for i, e in enumerate(curves)}
    name = tuned.header["objectives"][0]
    stopped = sum(not e.whole for e in curves)
    drawing = chart("Learning curves", "epoch or step", name, {"x": steps, "agents": lines}, shades=shades)
    return figure("trainings", [drawing], f"Dark: better scores. {count(stopped, 'training')} stopped early.", drawn)


def _shown(values: Sequence[float], goal: str) -> list[float]:
    """Scores in which outliers at the bad end, which would hide the others, are moved to an edge."""
    sign = 1.0 if goal == "max" else -1.0
    scores = sign * np.array(values)
    best, middle = float(scores.max()), float(np.median(scores))
    return (sign * (np.maximum(scores, best - 4.0 * (best - middle)) if best > middle else scores)).tolist()  # type: ignore[no-any-return]


def _note(e: Evaluation) -> str:
    return repr(e)[1:-1]


def _importance(tuned: Any) -> str:
    """Importance of hyperparameters as fractions of the variance, with intervals."""
    title, (configs, scores, axes) = "What mattered", tuned.configurations()
    if len(scores) < FEWEST or np.ptp(scores) == 0.0:
        return _section("importance", title, f"<p>It takes {FEWEST} successes with different scores to say.</p>")
    every = len(scores)
    if every > MOST:  # a forest's shares take time with the square of its leaves
        some = np.random.default_rng(0).choice(every, MOST, replace=False)
        configs, scores = configs[some], scores[some]
    found = forest_importance.importance(configs, scores, axes)
    low, high = forest_importance.intervals(configs, scores, axes)
    rows = []
    for i in np.argsort(-found.main, kind="stable").tolist():
        share, ends = float(found.main[i]), (min(low[i], found.main[i]), max(high[i], found.main[i]))
        interval = f"{share:.2f} [{ends[0]:.2f}, {ends[1]:.2f}]"
        rows.append([head(found.names[i]), num(share, interval), f'<td><meter value="{share:.3f}"></meter></td>'])
    caption = (
        f"Share of the variance over the whole space, of a random forest (out-of-bag R2 {found.score:.2f}), with 95 % "
        "bootstrap intervals."
    )
    caption += f" From {MOST} of the {every:,} successes, drawn at random." if every > MOST else ""
    caption += f" {found.warning}" if found.warning else ""
    columns = [("", "hyperparameter"), ("n", "share"), ("", "")]
    return _section("importance", title, table("importances", caption, columns, rows))


def _configurations(tuned: Any, drawn: Drawn) -> str:
    """Parallel coordinates, and a plot of the score against each hyperparameter."""
    points, name, figures = tuned.stored[0], tuned.header["objectives"][0], ""
    ended = sorted((e for e in tuned if e.ended >= 0), key=lambda e: e.score)  # the best above the others
    every = np.array([points.row(e.config) for e in ended])
    active, notes, failed = points.active(every), [*map(_note, ended)], sum(e.rewards is None for e in ended)
    series, scores = _series(ended, name, tuned.header["goals"][0]), [e.metrics.get(name) for e in ended]
    axes: list[dict[str, Any]] = [
        {"labels": [*map(str, h.values)]} if h.kind == "categorical" else {"low": h.low, "high": h.high, "log": h.log}
        for h in points.space
    ]
    shown = _shown([v for v in scores if v is not None], tuned.header["goals"][0])
    axes.append({"low": min(shown), "high": max(shown), "log": False})
    last = [None] * failed + shown
    lines = {
        note: [[v if on else None for v, on in zip(row, at, strict=True)] + [score]]
        for note, row, at, score in zip(notes, every.tolist(), active, last, strict=True)
    }
    of_failed = ["var(--c6)"] * failed
    shades = of_failed + [colour(i / max(len(shown) - 1, 1)) for i in range(len(shown))]
    across = {
        "labels": [h.name for h in points.space] + [name],
        "axes": axes,
        "shades": dict(zip(notes, shades, strict=True)),
    }
    panel: dict[str, Any] = {"x": [*range(len(axes))], "agents": lines}
    parallel = chart("Parallel coordinates", "hyperparameter", "value", panel, **across)
    note = "Dark: better scores; black, without a score: failed. Inactive hyperparameters are left out."
    figures += figure("parallel", [parallel], note, drawn)
    slices, found = [], _predicted(tuned)
    for j, h in enumerate(points.space):
        on = np.flatnonzero(active[:, j]).tolist()
        panel = {"x": every[on, j].tolist(), "agents": {n: [[v[i] for i in on]] for n, v in series.items()}}
        if found is not None and h.name in found.config:
            panel["x"].append(points.row(found.config)[j])
            panel["agents"] = {n: [[*v[0], None]] for n, v in panel["agents"].items()}
            panel["agents"]["predicted mean"] = [[*[None] * len(on), v] for v in (found.mean, found.low, found.high)]
        look: dict[str, Any] = {"points": [*panel["agents"]], "notes": [notes[i] for i in on], "xlog": h.log}
        if h.kind == "categorical":
            look["labels"] = [*map(str, h.values)]
        slices.append(chart(h.name, h.name, name, panel, **look))
    figures += figure("slices", slices, f"{name} by hyperparameter", drawn)
    return _section("slices", "Configurations", f'<div class="grid">{figures}</div>')


def _evaluations(tuned: Any, ended: Sequence[Evaluation]) -> str:
    names = [h["name"] for h in tuned.header["space"]]
    metrics = [*dict.fromkeys(name for e in ended for name in e.metrics)]
    epochs = [_epoch(e) for e in ended]
    trained = any(epochs)
    rows = [
        [
            num(e.number),
            text(_status(e)),
            *(num(e.metrics.get(m), f"{e.metrics[m]:.6g}" if m in e.metrics else "") for m in metrics),
            *(_cell(e.config.get(n, "")) for n in names),
            *([num(epoch)] if trained else []),
            num(e.seconds),
        ]
        for e, epoch in zip(ended, epochs, strict=True)
    ]
    epoch_column = [("n", "epoch")] if trained else []
    columns = [
        ("n", "number"),
        ("", "status"),
        *(("n", m) for m in metrics),
        *(("", n) for n in names),
        *epoch_column,
        ("n", "s"),
    ]
    shown = table("evaluations", "All evaluations, in the order in which they ended", columns, rows)
    return _section("all", "Evaluations", shown + download("evaluations", "Evaluations"))


def _status(e: Evaluation) -> str:
    status = e.status if e.feasible or e.rewards is None else "infeasible"
    return f"{status}, repeats {e.repeats}" if e.repeats >= 0 else status


def _running(tuned: Any) -> str:
    """Evaluations in progress, with the last report of each."""
    names, rows = [h["name"] for h in tuned.header["space"]], []
    for e in (e for e in tuned if e.ended < 0):
        file = Path(tuned.folder or "") / "reports" / str(e.number)
        step, score = (read_curve(file) or [(0, np.nan)])[-1] if file.is_file() else (0, np.nan)
        shown = [num(step), num(score, f"{score:.6g}")] if step else [text(""), text("")]
        rows.append([num(e.number), *shown, *(_cell(e.config.get(n, "")) for n in names)])
    columns = [("n", "number"), ("n", "epoch"), ("n", "last score"), *(("", n) for n in names)]
    return _section("running", f"Running: {len(rows)}", table("running", "Begun and not ended", columns, rows))


def _epoch(evaluation: Evaluation) -> int:
    """Number of epochs that a configuration was trained for; 0 if the function does not train by epochs."""
    if evaluation.curve:
        return int(evaluation.curve[-1][0])
    action = evaluation.action
    return action[1] + 1 if isinstance(action, list) and len(action) == 2 and type(action[1]) is int else 0


def _cell(value: Any) -> str:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return num(value, f"{value:.6g}")
    return text(str(value))


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
