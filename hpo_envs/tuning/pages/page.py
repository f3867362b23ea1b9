"""Page of a search: best configuration, importance, evaluations, failures, and the plots of `plots`."""

import json
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from hpo_envs.benchmarks.analysis import forest_importance
from hpo_envs.benchmarks.report.numbers import count, number
from hpo_envs.benchmarks.report.page import Drawn, whole
from hpo_envs.benchmarks.report.tables import download, head, num, table, text
from hpo_envs.tables.table import is_number
from hpo_envs.tuning.constraints import described
from hpo_envs.tuning.mistakes import cause
from hpo_envs.tuning.pages import plots
from hpo_envs.tuning.record import REPORTS, Evaluation, by
from hpo_envs.tuning.trial import read_curve

FEWEST, MOST = 8, 256
"""Fewest and most successes for an estimate of importance; of more successes, it uses a random sample."""


def render(tuned: Any) -> str:
    """Render the page of a search as HTML."""
    h, ended = tuned.header, [e for e in tuned if e.ended >= 0]
    good, failed = tuned.successes, [e for e in ended if e.rewards is None]
    lead = f"{count(len(ended), 'evaluation')} by {by(h)}, {count(len(failed), 'failure')}, {_time(tuned)}."
    if changed := h.get("changed"):
        lead += f" The code changed before evaluation {' and '.join(map(str, changed))}."
    name = str(h["function"]).partition(":")[2]
    drawn: Drawn = {}
    workers = plots.timeline(tuned, drawn)  # first, because it draws what runs until now
    parts = [_answer(tuned)] if tuned.pareto else [f"<p>No evaluation succeeded yet{escape(_rule(tuned))}.</p>"]
    if good:
        parts += [_section("curve", "Score against evaluations", plots.scores(tuned, drawn))]
        parts += [_importance(tuned, k) for k in range(len(h["objectives"]))]
        parts += [_section("slices", "Configurations", plots.configurations(tuned, drawn))]
    parts += [_section("workers", "Timeline", workers)] if workers else []
    parts += [_running(tuned)] if any(e.ended < 0 for e in tuned) else []
    parts += [_evaluations(tuned, ended), _failures(failed), _again(tuned)]
    body = f'<header><h1>{escape(name)}</h1><p>{escape(lead)}</p></header><main id="main">{"".join(parts)}</main>'
    rows = json.loads(tuned.to_frame().to_json(orient="records", date_format="iso"))
    settings = json.loads(json.dumps(h), parse_constant=str)  # choices may be infinite, which JSON lacks
    data = {"charts": drawn, "rows": {}, "looks": plots.LOOKS, "search": settings, "evaluations": rows}
    return whole(f"Search: {name}", body, data)


def _rule(tuned: Any) -> str:
    return f" under {described(tuned.header['constraints'])}" if "constraints" in tuned.header else ""


def _section(key: str, title: str, content: str) -> str:
    return f'<section><h2 id="{key}">{escape(title)}</h2>{content}</section>'


def _time(tuned: Any) -> str:
    started = [e.started for e in tuned if e.started]
    wall = max((e.started + e.seconds for e in tuned), default=0.0) - min(started, default=0.0)
    return f"{number(sum(e.seconds for e in tuned))} s of evaluations within {number(wall)} s"


def _answer(tuned: Any) -> str:
    """Return HTML of the best configuration and predicted mean; with several objectives, of the Pareto front."""
    names = tuned.header["objectives"]
    if len(names) > 1:
        cells = [
            [num(e.number), *(num(e.metrics[n]) for n in names), text(repr(e.config))]
            for e in sorted(tuned.pareto, key=lambda e: e.metrics[names[0]])
        ]
        columns = [("n", "evaluation"), *(("n", n) for n in names), ("", "configuration")]
        middle = tuned.recommended.evaluation.number
        caption = f"No other evaluation is better in all objectives{_rule(tuned)}; a compromise: {middle}"
        return _section("answer", "Pareto front", table("front", caption, columns, cells))
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


def _importance(tuned: Any, k: int) -> str:
    """Return HTML of the importances: shares of the variance, with intervals; a note if scores are too few or alike."""
    names, (configs, scores, axes) = tuned.header["objectives"], tuned.configurations(k)
    title, key = "What mattered" + f" for {names[k]}" * (len(names) > 1), "importance" + f"-{k}" * (k > 0)
    if len(scores) < FEWEST or not axes or np.ptp(scores) == 0.0:
        return _section(key, title, f"<p>It takes {FEWEST} successes with different scores to say.</p>")
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
    caption = "Share of the variance over the whole space, of a random forest "
    caption += f"(out-of-bag R2 {found.score:.2f}), with 95 % bootstrap intervals."
    caption += f" From {MOST} of the {every:,} successes, drawn at random." if every > MOST else ""
    caption += f" {found.warning}" if found.warning else ""
    columns = [("", "hyperparameter"), ("n", "share"), ("", "")]
    return _section(key, title, table(key.replace("importance", "importances"), caption, columns, rows))


def _evaluations(tuned: Any, ended: Sequence[Evaluation]) -> str:
    names = [h["name"] for h in tuned.header["space"]]
    metrics = [*dict.fromkeys(name for e in ended for name in e.metrics)]
    epochs = [_epoch(e) for e in ended]
    trained = any(epochs)
    rows = []
    for e, epoch in zip(ended, epochs, strict=True):
        found = (num(e.metrics.get(m), f"{e.metrics[m]:.6g}" if m in e.metrics else "") for m in metrics)
        config = (_cell(e.config.get(n, "")) for n in names)
        rows.append([num(e.number), text(_status(e)), *found, *config, *([num(epoch)] * trained), num(e.seconds)])
    columns = [("n", "evaluation"), ("", "status"), *(("n", m) for m in metrics), *(("", n) for n in names)]
    columns += [("n", "epoch")] * trained + [("n", "seconds")]
    shown = table("evaluations", "All evaluations, in the order in which they ended", columns, rows)
    return _section("all", "Evaluations", shown + download("evaluations", "Evaluations"))


def _status(e: Evaluation) -> str:
    status = e.status if e.feasible or e.rewards is None else "infeasible"
    return f"{status}, repeats {e.repeats}" if e.repeats >= 0 else status


def _running(tuned: Any) -> str:
    """Return an HTML table of the evaluations in progress, with the last report of each."""
    names, rows = [h["name"] for h in tuned.header["space"]], []
    for e in (e for e in tuned if e.ended < 0):
        file = Path(tuned.folder or "") / REPORTS / str(e.number)
        step, score = (read_curve(file) or [(0, np.nan)])[-1] if file.is_file() else (0, np.nan)
        shown = [num(step), num(score, f"{score:.6g}")] if step else [text(""), text("")]
        rows.append([num(e.number), *shown, *(_cell(e.config.get(n, "")) for n in names)])
    columns = [("n", "evaluation"), ("n", "epoch"), ("n", "last score"), *(("", n) for n in names)]
    return _section("running", f"Running: {len(rows)}", table("running", "Begun and not ended", columns, rows))


def _epoch(evaluation: Evaluation) -> int:
    """Return the last reported step of an evaluation, else the epoch of its action; 0 if it has neither."""
    if evaluation.curve:
        return int(evaluation.curve[-1][0])
    action = evaluation.action
    return action[1] + 1 if isinstance(action, list) and len(action) == 2 and type(action[1]) is int else 0


def _cell(value: Any) -> str:
    return num(value, f"{value:.6g}") if is_number(value) else text(str(value))


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
