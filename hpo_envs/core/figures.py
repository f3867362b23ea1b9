"""The pictures of rendering, drawn with matplotlib: the run on the left, what the family is about on the right."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from hpo_envs.tables.checks import extra_module

SIZE = (6.4, 4.8)
DPI = 100

RUN, BEST, FRONT, FAINT = "#0072B2", "#D55E00", "#009E73", "#999999"
"""Colours that the colour-blind tell apart (Okabe and Ito)."""

SHOWN = 16
"""Hyperparameters, or models, in a picture."""


def pixels(record: Any) -> npt.NDArray[np.uint8]:
    """(480, 640, 3) uint8: the episode so far."""
    agg = extra_module("matplotlib.backends.backend_agg", "plots", "pictures")
    from matplotlib.figure import Figure

    figure = Figure(figsize=SIZE, dpi=DPI)
    canvas = agg.FigureCanvasAgg(figure)
    paint(record, figure)
    canvas.draw()
    return np.asarray(canvas.buffer_rgba())[..., :3].copy()


def paint(record: Any, figure: Any) -> None:
    """Draw the episode on a matplotlib figure, from scratch."""
    env = record.env
    figure.clear()
    kind = env.params.kind
    # Fixed margins: to fit them to the labels is half of the time of a picture, and makes videos tremble.
    margins = {"left": 0.1, "right": 0.98, "bottom": 0.11, "top": 0.82, "wspace": 0.65 if kind == "arms" else 0.3}
    left, right = figure.subplots(1, 2, width_ratios=(1.1, 1.0), gridspec_kw=margins)
    top = _best_known(env)
    _run(record, top, left)
    if kind == "graph":
        _cell(record, right)
    elif kind == "rows" and _is_cell(env.table.keys[0]):
        _best_cell(record, right)
    elif kind == "arms":
        _arms(record, right)
    elif len(env.objectives) == 2:
        _front(record, right)
    elif kind == "fidelity" and len(env.levels) > 1:
        _curves(record, right)
    else:
        _configuration(record, right)
    source = f"{env.table.name} ({env.table.provenance.kind})"
    figure.suptitle(f"{_sentence(record, top)}\n{source}", fontsize=9)


def _best_known(env: Any) -> float | None:
    """The best value of the first objective in the rows of the episode, in native units; None where no table lists all.

    With repeats it is the best mean: a single evaluation may be better.
    """
    p, t = env.params, env.table
    if p.known is not None:
        return float(p.signs[0] * p.known[0][0])
    if p.kind in ("box", "graph"):
        return None
    metric = t.metrics[t.metric(env.objectives[0])]
    if p.kind == "fidelity":  # a run may stop at any level
        values = t.values[..., t.metric(metric.name)] * metric.sign
        rewards = np.where(np.isnan(values), -np.inf, values).mean(axis=1).max(axis=-1)
    else:
        rewards = t.final(metric.name) * metric.sign
    rewards = rewards[env.rows if p.kind in ("rows", "fidelity") else slice(None)]
    rewards = rewards[np.isfinite(rewards)]
    return float(rewards.max() * metric.sign) if len(rewards) else None


def _sentence(record: Any, known: float | None) -> str:
    """The title: what was found for how much of the budget."""
    env, unit = record.env, record.env.params.budget_unit
    spent, budget = (f"{v:,.0f}" if v >= 100 else f"{v:g}" for v in (record.spent, env.budget))
    if not record.entries:
        return f"Nothing is evaluated yet; the budget is {budget} {unit}"
    best = _best(record)["values"][0]
    text = f"After {spent} of {budget} {unit}, the best {env.objectives[0]} is {best:.4g}"
    return text if known is None else f"{text} ({_name_of_known(env)}: {known:.4g})"


def _name_of_known(env: Any) -> str:
    return "best known mean" if env.table.repeats > 1 or env.params.kind == "arms" else "best known"


def _style(axes: Any, title: str, x: str, y: str) -> None:
    axes.set_title(title, fontsize=9)
    axes.set_xlabel(x, fontsize=8)
    axes.set_ylabel(y, fontsize=8)
    axes.tick_params(labelsize=7)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def _run(record: Any, top: float | None, axes: Any) -> None:
    """Each evaluation over the budget, the best so far and the best known value; of two objectives the first."""
    env = record.env
    _style(axes, "", env.params.budget_unit, env.objectives[0])
    axes.set_xlim(0.0, max(env.budget, record.spent))
    if top is not None:
        axes.axhline(top, color=FRONT, lw=1.0, ls="--", label=_name_of_known(env))
    if env.params.budget_unit == "evaluations":
        axes.xaxis.get_major_locator().set_params(integer=True)
    above = {"loc": "lower center", "bbox_to_anchor": (0.5, 0.98), "ncols": 2, "frameon": False}
    if not record.entries:
        return
    spent = np.array([e["spent"] for e in record.entries])
    rewards, values = np.array([(e["rewards"][0], e["values"][0]) for e in record.entries]).T
    ok = np.array([e["info"]["status"] in ("ok", "truncated") for e in record.entries])
    # A failed or diverged run lies at the metric's bound, which would squeeze all others together.
    # Not clipped: where the budget is spent, the last one lies on the end of the axis.
    axes.plot(spent[ok], values[ok], "o", ms=3, color=RUN, alpha=0.7, label="evaluation", clip_on=False)
    if ok.any():
        best = np.maximum.accumulate(np.where(ok, rewards, -np.inf))
        # Where the best so far was found.
        at = np.maximum.accumulate(np.where(ok & (rewards >= best), np.arange(len(best)), 0))
        known = np.isfinite(best)
        axes.step(spent[known], values[at[known]], where="post", color=BEST, lw=1.5, label="best so far")
    for i, x in enumerate(spent[~ok]):
        axes.axvline(x, color=FAINT, lw=0.5, ls=":", label="" if i else "failed")
    axes.legend(fontsize=7, handletextpad=0.3, columnspacing=1.0, **above)


def _front(record: Any, axes: Any) -> None:
    """Two objectives against each other, and the Pareto front found so far."""
    env = record.env
    _style(axes, "Pareto front so far", *env.objectives)
    if not record.entries:
        return
    points = np.array([e["rewards"] for e in record.entries])
    better, as_good = (f(points[None], points[:, None]) for f in (np.greater, np.greater_equal))
    dominated = (as_good.all(axis=2) & better.any(axis=2)).any(axis=1)
    native = np.array([e["values"] for e in record.entries])
    axes.plot(*native[dominated].T, "o", ms=3, color=FAINT, label="dominated")
    front = native[~dominated]
    front = front[np.argsort(front[:, 0])]
    # Between two points of the front, what both of them dominate begins at the corner of their worse values.
    higher = points[:, 0].max() == native[:, 0].max()
    axes.step(*front.T, where="pre" if higher else "post", color=FRONT, lw=1.2)
    axes.plot(*front.T, "o", ms=4, color=FRONT, label="front")
    axes.plot(*native[-1], "o", ms=8, mfc="none", color=BEST, label="last")
    axes.legend(fontsize=7, handletextpad=0.3, frameon=False)


def _curves(record: Any, axes: Any) -> None:
    """Learning curves of the rows trained so far; the one with the best value stands out."""
    env = record.env
    _style(axes, "learning curves (orange: best)", env.table.level_unit, "")
    rows: dict[int, list[tuple[float, float]]] = {}
    for e in record.entries:
        row = int(np.ravel(e["action"])[0])
        at = int(e["info"].get("reached", np.ravel(e["action"])[1]))
        rows.setdefault(row, []).append((float(env.levels[at]), float(e["values"][0])))
    best = None
    if record.entries:
        best = int(np.ravel(_best(record)["action"])[0])
    for row, points in rows.items():
        x, y = np.array(sorted(points)).T
        bold = row == best
        axes.plot(x, y, "o-", ms=3, lw=1.6 if bold else 0.7, color=BEST if bold else FAINT, zorder=2 + bold)


def _arms(record: Any, axes: Any) -> None:
    """Mean score of each arm, with 1.96 standard errors from two pulls on."""
    env = record.env
    _style(axes, "means (pulls; orange: best)", env.objectives[0], "")
    order = sorted(record.pulls, key=lambda arm: -float(np.mean(record.pulls[arm])))[:SHOWN]
    for place, arm in enumerate(reversed(order)):
        scores = np.array(record.pulls[arm])
        error = 1.96 * scores.std(ddof=1) / np.sqrt(len(scores)) if len(scores) > 1 else 0.0
        colour = BEST if place == len(order) - 1 else RUN
        axes.errorbar(scores.mean(), place, xerr=error, fmt="o", ms=3, capsize=2, color=colour)
    rows, keys = env.rows, env.table.keys
    axes.set_yticks(range(len(order)), [f"{keys[rows[a]][:16]} ({len(record.pulls[a])})" for a in reversed(order)])


def _cell(record: Any, axes: Any) -> None:
    """The cell under construction; when none is, the last complete one."""
    from hpo_envs.tables.cells.draw import draw
    from hpo_envs.tables.cells.grammar import cell_of, node_of
    from hpo_envs.tables.cells.graph import Sketch
    from hpo_envs.tables.cells.recipe import InvalidRecipe

    axes.set_axis_off()
    try:
        if record.moves:
            nodes = [node_of(move, i) for i, move in enumerate(record.moves)]
            cell: Any = Sketch.of(nodes)
            axes.set_title("cell under construction", fontsize=9)
        elif record.entries:
            last = record.entries[-1]
            cell = cell_of(np.array([*last["moves"], last["action"].tolist()]))
            axes.set_title("last complete cell", fontsize=9)
        else:
            axes.set_title("empty cell", fontsize=9)
            return
    except InvalidRecipe as error:
        axes.set_title(f"invalid cell: {error.rule}", fontsize=9)
        return
    draw(cell, axes)


def _is_cell(key: str) -> bool:
    from hpo_envs.tables.cells.recipe import Cell, InvalidRecipe

    try:
        return bool(Cell.from_text(key))
    except InvalidRecipe:
        return False


def _best_cell(record: Any, axes: Any) -> None:
    """The cell of the best row so far."""
    from hpo_envs.tables.cells.draw import draw
    from hpo_envs.tables.cells.recipe import Cell

    env = record.env
    axes.set_axis_off()
    if record.entries:
        axes.set_title("best cell so far", fontsize=9)
        draw(Cell.from_text(env.table.keys[env.rows[int(_best(record)["action"])]]), axes)


def _configuration(record: Any, axes: Any) -> None:
    """The best configuration so far and the last one, in natural values."""
    axes.set_axis_off()
    for x, title, colour in ((0.0, "best so far", BEST), (0.56, "last", RUN)) if record.entries else ():
        entry = _best(record) if x == 0.0 else record.entries[-1]
        config = entry["info"].get("config") or {"action": np.round(entry["action"], 3).tolist()}
        lines = [f"{k}={_short(v)}" for k, v in config.items()]
        text = "\n".join(line[:22] for line in [title, *lines[:SHOWN]])
        axes.text(x, 0.97, text, color=colour, fontsize=7, va="top", linespacing=1.6)


def _best(record: Any) -> dict[str, Any]:
    """The evaluation with the highest reward in the first objective."""
    return max(record.entries, key=lambda e: float(e["rewards"][0]))


def _short(value: Any) -> str:
    return str(value) if isinstance(value, (str, bool, list)) else f"{value:.3g}" if value < 1e3 else f"{value:.0f}"
