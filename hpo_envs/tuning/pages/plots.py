"""Plots of a search: scores by evaluation, Pareto front, learning curves, parallel coordinates, slices, timeline."""

import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from hpo_envs.benchmarks.report.charts import chart, colour
from hpo_envs.benchmarks.report.numbers import count, number
from hpo_envs.benchmarks.report.page import Drawn, figure
from hpo_envs.tuning.record import Evaluation, plain

LOOKS = {
    "evaluations": 0, "best so far": 1, "failed": 6, "infeasible": 3, "stopped early": 4, "paused": 4, "running": 5,
}  # fmt: skip
LOOKS |= {"Pareto front": 1, "predicted mean": 2}
"""Index of the colour of each series."""

UNITS = {"s": 1.0, "min": 60.0, "h": 3600.0, "days": 86400.0}
"""Units of a time axis, in seconds."""


def scores(tuned: Any, drawn: Drawn) -> str:
    """Plot each objective by order of completion, two objectives against each other, and learning curves, as HTML."""
    ended = sorted((e for e in tuned if e.ended >= 0), key=lambda e: e.ended)
    x, notes, figures = [e.ended + 1 for e in ended], [*map(_note, ended)], ""
    names, goals = tuned.header["objectives"], tuned.header["goals"]
    for k, (name, goal) in enumerate(zip(names, goals, strict=True)):
        series = _series(ended, name, goal)
        best, top, sign = list[float | None](), None, 1.0 if goal == "max" else -1.0
        for i, e in enumerate(ended):
            if e.feasible:
                rank = (e.rank[0], sign * next(value for v in series.values() if (value := v[i]) is not None))
                top = rank if top is None else max(top, rank)
            best.append(None if top is None else sign * top[1])
        if best[-1] is None:
            continue
        panel: dict[str, Any] = {"x": x, "agents": {"best so far": [best], **{n: [v] for n, v in series.items()}}}
        if (found := _predicted(tuned)) is not None:
            panel["agents"]["predicted mean"] = [[value] * len(x) for value in (found.mean, found.low, found.high)]
        title = f"Best {name}: {number(best[-1])} after {x[best.index(best[-1])]} of {x[-1]} evaluations"
        look: dict[str, Any] = {"step": True, "points": [*series], "notes": notes}
        better = "Higher" if goal == "max" else "Lower"
        note = f"{better} is better. Points are evaluations, far and failed ones at the edge."
        figures += figure(f"curve-{k}", [chart(title, "evaluations that ended", name, panel, **look)], note, drawn)
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
    return f'<div class="grid">{figures}{_trainings(tuned, drawn)}</div>'


def configurations(tuned: Any, drawn: Drawn) -> str:
    """Plot parallel coordinates, and the first objective against each hyperparameter, as HTML."""
    points, name, figures = tuned.stored[0], tuned.header["objectives"][0], ""
    # The best first objective above the others.
    ended = sorted((e for e in tuned if e.ended >= 0), key=lambda e: e.rewards[0] if e.rewards else -np.inf)
    every = np.array([points.row(plain(e.config)) for e in ended])
    active, notes, failed = points.active(every), [*map(_note, ended)], sum(e.rewards is None for e in ended)
    series, scores = _series(ended, name, tuned.header["goals"][0]), [e.metrics[name] for e in ended if e.rewards]
    axes: list[dict[str, Any]] = [
        {"labels": [*map(str, h.values)]} if h.kind == "categorical" else {"low": h.low, "high": h.high, "log": h.log}
        for h in points.space
    ]
    shown = _shown(scores, tuned.header["goals"][0])
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
            panel["x"].append(points.row(plain(found.config))[j])
            panel["agents"] = {n: [[*v[0], None]] for n, v in panel["agents"].items()}
            panel["agents"]["predicted mean"] = [[*[None] * len(on), v] for v in (found.mean, found.low, found.high)]
        look: dict[str, Any] = {"points": [*panel["agents"]], "notes": [notes[i] for i in on], "xlog": h.log}
        if h.kind == "categorical":
            look["labels"] = [*map(str, h.values)]
        slices.append(chart(h.name, h.name, name, panel, **look))
    figures += figure("slices", slices, f"{name} by hyperparameter", drawn)
    return f'<div class="grid">{figures}</div>'


def timeline(tuned: Any, drawn: Drawn) -> str:
    """Plot evaluations as bars over time, one row per worker, as HTML; empty if none has a start time."""
    if not (timed := [e for e in tuned if e.started]):
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
    return f'<div class="grid wide">{figure("timeline", [drawing], note, drawn)}</div>'


def _series(
    evaluations: Sequence[Evaluation], name: str, goal: str, far: bool = False
) -> dict[str, list[float | None]]:
    """Return a score as series of points (complete, paused, stopped early, ...), with outliers clipped unless `far`."""
    good = [e for e in evaluations if e.rewards is not None]
    scores = [e.metrics[name] for e in good]
    shown = dict(zip([e.number for e in good], scores if far else _shown(scores, goal), strict=True))
    edge = (min if goal == "max" else max)(shown.values(), default=0.0)
    found: dict[str, list[float | None]] = {
        kind: [shown.get(e.number, edge) if _kind(e) == kind else None for e in evaluations]
        for kind in ("evaluations", "paused", "stopped early", "infeasible", "failed")
    }
    return {n: v for n, v in found.items() if n == "evaluations" or any(value is not None for value in v)}


def _predicted(tuned: Any) -> Any:
    """Return the recommendation if it has an interval, that is for one objective and a fitted model; else None."""
    if len(tuned.header["objectives"]) > 1 or not tuned.pareto or np.isnan(tuned.recommended.low):
        return None
    return tuned.recommended


def _kind(e: Evaluation) -> str:
    """Return the name of the series that an evaluation belongs to."""
    if e.ended < 0:
        return "running"
    if e.rewards is None:
        return "failed"
    if not (e.feasible or e.unknown):
        return "infeasible"
    return "evaluations" if e.whole else "paused" if e.left else "stopped early"


def _trainings(tuned: Any, drawn: Drawn) -> str:
    """Plot the learning curves of successes with reports, as HTML; empty if there are none."""
    curves = [e for e in sorted(tuned.successes, key=lambda e: e.reward) if e.curve]
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
    """Return scores with outliers at the bad end clipped, because these would compress the axis of the others."""
    sign = 1.0 if goal == "max" else -1.0
    scores = sign * np.array(values)
    best, middle = float(scores.max()), float(np.median(scores))
    return (sign * (np.maximum(scores, best - 4.0 * (best - middle)) if best > middle else scores)).tolist()  # type: ignore[no-any-return]


def _note(e: Evaluation) -> str:
    return repr(e)[1:-1]
