"""Pictures of `render` by matplotlib: the run on the left, details of its results on the right."""

from typing import Any

import numpy as np
import numpy.typing as npt

from hpo_envs.tables.checks import extra_module

RUN, BEST, FRONT, FAINT = "#0072B2", "#D55E00", "#009E73", "#999999"
"""Colours that are distinct for colour-blind readers, too (Okabe and Ito)."""

WIDEST = 16
"""Largest number of hyperparameters or models in a picture, and of characters of a model's name."""

SHARES = {
    "arms": ((0.11, 0.36), (0.77, 0.21)),
    "front": ((0.11, 0.38), (0.74, 0.24)),
    "cell": ((0.11, 0.36), (0.58, 0.41)),
}
WIDE = ((0.11, 0.43), (0.71, 0.27))
"""Left edge and width of both halves, in fractions of the picture; fixed, so that they do not move within a video."""


def pixels(record: Any) -> npt.NDArray[np.uint8]:
    """Return a (480, 640, 3) uint8 picture of the episode so far; ModuleNotFoundError without matplotlib."""
    agg = extra_module("matplotlib.backends.backend_agg", "plots", "pictures")
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 4.8), dpi=100)
    canvas = agg.FigureCanvasAgg(figure)
    paint(record, figure)
    canvas.draw()
    return np.asarray(canvas.buffer_rgba())[..., :3].copy()


def paint(record: Any, figure: Any) -> None:
    """Clear a matplotlib figure and draw the episode on it."""
    env = record.env
    figure.clear()
    kind = env.params.kind
    if kind == "graph" or (kind == "rows" and _is_cell(env.table.keys[0])):
        draw, shape = _cell, "cell"
    elif kind == "arms":
        draw, shape = _arms, "arms"
    elif len(env.objectives) == 2:
        draw, shape = _front, "front"
    elif kind == "fidelity" and len(env.levels) > 1:
        draw, shape = _curves, ""
    else:
        draw, shape = _configuration, ""
    left, right = (figure.add_axes((x, 0.12, width, 0.68)) for x, width in SHARES.get(shape, WIDE))
    top = _best_known(env)
    _run(record, top, left)
    draw(record, right)
    figure.suptitle(_sentence(record, top), fontsize=11, y=0.97)
    source = f"{env.table.name} ({env.table.provenance.kind})"
    figure.text(0.99, 0.01, source, ha="right", fontsize=7, color=FAINT)
    plain(figure)


def plain(figure: Any) -> None:
    """Show dollars in the texts of a figure as such, not as formulas, except in the powers of logarithmic axes."""
    kind = extra_module("matplotlib.text", "plots", "pictures").Text
    for text in figure.findobj(kind):
        if "$" in text.get_text() and "mathdefault" not in text.get_text():
            text.set_parse_math(False)


def _best_known(env: Any) -> float | None:
    """Return the best known value of the first objective, in native units, from the user or the rows; None if unknown.

    With repeats it is the value of the best single run, which no evaluation exceeds; for arms it is the best mean of
    the arms in the episode.
    """
    p, t = env.params, env.table
    if p.known is not None:
        return float(p.signs[0] * p.known[0][0])
    if p.kind in ("box", "graph"):
        return None
    metric = t.metrics[t.metric(env.objectives[0])]
    if p.kind == "arms":
        values = t.final(metric.name)[env.rows]
    elif p.kind == "fidelity":  # a run may stop at any level
        values = t.values[env.rows][..., t.metric(metric.name)]
    else:
        values = t.ends(metric.name)[env.rows if p.kind == "rows" else slice(None)]
    rewards = values[np.isfinite(values)] * metric.sign
    return float(rewards.max() * metric.sign) if len(rewards) else None


def _sentence(record: Any, known: float | None) -> str:
    """Return the title: budget used, and best value, trade-offs (two objectives) or leader (arms), if there are any."""
    env, unit = record.env, record.env.params.budget_unit
    spent, budget = (f"{v:,.0f}" if v >= 100 else f"{v:g}" for v in (record.spent, env.budget))
    if not record.entries:
        return f"Nothing is evaluated yet;\nthe budget is {budget} {unit}"
    start, metric = f"After {spent} of {budget} {unit}, ", _words(env.objectives[0])
    best = _best(record)
    if not _succeeded(best):
        return f"{start}\nno evaluation has succeeded"
    if len(env.objectives) == 2:
        front, (one, other) = _found(record), (_words(o) for o in env.objectives)
        first, last = (" at ".join(f"{v:.4g}" for v in values) for values in front[[0, -1]])
        if len(front) == 1:
            return f"{start}the best in both objectives:\n{one} {first} {other}"
        return f"{start}{len(front)} trade-offs:\n{one} {first} to {last} {other}"
    most = "lowest" if env.params.signs[0] < 0 else "highest"
    known_text = "" if known is None else f";\nthe {most} known is {known:.4g}"
    if env.params.kind == "arms":
        arm = _leaders(record)[0]
        leader, mean, n = env.table.keys[env.rows[arm]][:WIDEST], np.mean(record.pulls[arm]), len(record.pulls[arm])
        known_text = "" if known is None else f"; the true mean of the best model is {known:.4g}"
        return f"{start}{leader} has the {most} mean {metric}:\n{mean:.4g} in {n} evaluation{'s' * (n > 1)}{known_text}"
    return f"{start}the {most} {metric} is {best['values'][0]:.4g}{known_text}"


def _words(name: str) -> str:
    return name.replace("_", " ")


def _style(axes: Any, title: str, x: str, y: str) -> None:
    axes.set_title(title, fontsize=9)
    axes.set_xlabel(x, fontsize=9)
    axes.set_ylabel(y, fontsize=9)
    axes.tick_params(labelsize=8)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def _succeeded(entry: dict[str, Any]) -> bool:
    return entry["info"]["status"] in ("ok", "truncated")


def _run(record: Any, top: float | None, axes: Any) -> None:
    """Draw evaluations over the budget, the best so far and the best known value of the first objective."""
    env, arms, sign = record.env, record.env.params.kind == "arms", record.env.params.signs[0]
    known, leading = ("best true mean", "leader's mean") if arms else ("best known", "best so far")
    dots = "single noisy evaluations" if arms else "evaluations"
    _style(axes, "", env.params.budget_unit, f"{_words(env.objectives[0])} (dots: {dots})")
    axes.set_xlim(0.0, max(env.budget, record.spent))
    axes.xaxis.get_major_locator().set_params(nbins=4, integer=env.params.budget_unit == "evaluations")
    axes.xaxis.set_major_formatter("{x:,.10g}")
    labels = []
    if top is not None:
        axes.axhline(top, color=FRONT, lw=1.2, ls="--", label=known)
        labels.append((top, known, FRONT))
    ok = np.array([_succeeded(e) for e in record.entries], dtype=bool)
    if ok.any():
        spent = np.array([e["spent"] for e in record.entries])
        rewards, values = np.array([(e["rewards"][0], e["values"][0]) for e in record.entries]).T
        best = _means(record) if arms else np.maximum.accumulate(np.where(ok, rewards, -np.inf))
        found = np.isfinite(best)
        axes.step(spent[found], sign * best[found], where="post", color=BEST, lw=1.8)
        labels.append((sign * best[-1], leading, BEST))
        low, worst, high = _scale(rewards[ok], None if top is None else sign * top)
        if low < high:
            axes.set_ylim(*sorted((sign * low, sign * high)))
        shown, below = ok & (rewards >= worst), ok & (rewards < worst)
        # Not clipped: where the budget is spent, the last one lies on the end of the axis.
        axes.plot(spent[shown], values[shown], "o", ms=3, color=RUN, alpha=0.7, clip_on=False)
        edge = (below, "v" if sign > 0 else "^", RUN, "off the axis"), (~ok, "x", FAINT, "× failed")
        for which, marker, colour, text in edge:
            if which.any():
                axes.plot(spent[which], np.full(which.sum(), sign * low), marker, ms=4, color=colour, clip_on=False)
                labels.append((sign * low, text, colour))
    _label(axes, labels)


def _scale(rewards: npt.NDArray[np.float64], known: float | None) -> tuple[float, float, float]:
    """Return the lower end of the axis, the worst reward shown and the upper end, all as rewards.

    The worst tenth of the evaluations lies off the axis if it would compress the others into less than half of it.
    """
    worst, cut = rewards.min(), np.quantile(rewards, 0.1)
    best = rewards.max() if known is None else max(rewards.max(), known)
    worst = cut if best - cut < 0.5 * (best - worst) else worst
    margin = 0.05 * (best - worst)
    return worst - margin, worst, best + margin


def _label(axes: Any, labels: list[tuple[float, str, str]]) -> None:
    """Write the names of lines at their right ends, moved up to avoid overlap."""
    low, high = axes.get_ylim()
    at = -np.inf
    for y, text, colour in sorted(labels):
        at = max((y - low) / (high - low), at + 0.06)
        axes.text(1.03, at, text, color=colour, fontsize=8, va="center", transform=axes.transAxes)


def _means(record: Any) -> npt.NDArray[np.float64]:
    """Return the (entries,) highest mean reward of any arm pulled so far, after each recorded step."""
    total, count = np.zeros((2, len(record.env.rows)))
    best = []
    for e in record.entries:
        arms = np.atleast_1d(e["action"])
        np.add.at(count, arms, 1.0)
        np.add.at(total, arms, e["info"].get("scores", e["rewards"]))
        best.append((total[count > 0] / count[count > 0]).max())
    return np.array(best)


def _front(record: Any, axes: Any) -> None:
    """Draw two objectives against each other, and the Pareto front found so far."""
    env = record.env
    better = ("lower" if sign < 0 else "higher" for sign in env.params.signs)
    named = (f"{_words(o)} ({b} is better)" for o, b in zip(env.objectives, better, strict=True))
    _style(axes, "green: Pareto front so far", *named)
    if not record.entries:
        return
    front = _found(record)
    axes.plot(*np.array([e["values"] for e in record.entries]).T, "o", ms=3, color=FAINT)
    # Between two points of the front, what both of them dominate begins at the corner of their worse values.
    axes.step(*front.T, where="pre" if env.params.signs[0] > 0 else "post", color=FRONT, lw=1.2)
    axes.plot(*front.T, "o", ms=4, color=FRONT)


def _found(record: Any) -> Any:
    """Return the (k, 2) native values of the Pareto front found so far, sorted by the first objective."""
    points, native = (np.array([e[key] for e in record.entries]) for key in ("rewards", "values"))
    better, as_good = (f(points[None], points[:, None]) for f in (np.greater, np.greater_equal))
    front = native[~(as_good.all(axis=2) & better.any(axis=2)).any(axis=1)]
    return front[np.argsort(front[:, 0])]


def _curves(record: Any, axes: Any) -> None:
    """Draw the learning curves of successful trainings so far on the axis of the run; the best one is highlighted."""
    env = record.env
    _style(axes, "curves (orange: best)", env.table.level_unit, "")
    rows: dict[int, list[tuple[float, float]]] = {}
    for e in filter(_succeeded, record.entries):
        row, level = np.ravel(e["action"]).tolist()
        at = min(level, int(e["info"]["reached"]))  # a run may have ended before, or have come further already
        rows.setdefault(row, []).append((float(env.levels[at]), float(e["values"][0])))
    best = int(np.ravel(_best(record)["action"])[0]) if rows else None
    for row, points in rows.items():
        x, y = np.array(sorted(points)).T
        bold = row == best
        axes.plot(x, y, "o-", ms=3, lw=1.6 if bold else 0.7, color=BEST if bold else FAINT, zorder=2 + bold)
    axes.set_xlim(0.0, None)
    axes.set_ylim(axes.figure.axes[0].get_ylim())
    axes.tick_params(labelleft=False)  # those of the run, whose labels are in their place
    axes.xaxis.get_major_locator().set_params(nbins=3)
    axes.xaxis.set_major_formatter("{x:,.10g}")


def _leaders(record: Any) -> list[int]:
    """Return the arms pulled so far, sorted by mean reward, the highest first."""
    return sorted(record.pulls, key=lambda arm: -float(np.mean(record.pulls[arm])))


def _arms(record: Any, axes: Any) -> None:
    """Draw the mean scores of the best arms, at most `WIDEST`, with 1.96 standard errors; hollow after one pull."""
    env = record.env
    _style(axes, "", f"mean {_words(env.objectives[0])}", "")
    title = "mean (evaluations) ± 1.96 standard errors\nhollow: one evaluation, no interval"
    axes.set_title(title, fontsize=9, loc="right")
    axes.xaxis.get_major_locator().set_params(nbins=3)
    order = _leaders(record)[:WIDEST]
    for place, arm in enumerate(reversed(order)):
        scores = np.array(record.pulls[arm])
        error = 1.96 * scores.std(ddof=1) / np.sqrt(len(scores)) if len(scores) > 1 else None
        colour = BEST if place == len(order) - 1 else RUN
        fill = "white" if error is None else colour
        axes.errorbar(scores.mean(), place, xerr=error, fmt="o", ms=4, capsize=2, color=colour, markerfacecolor=fill)
    rows, keys = env.rows, env.table.keys
    axes.set_yticks(range(len(order)), [f"{keys[rows[a]][:WIDEST]} ({len(record.pulls[a])})" for a in reversed(order)])


def _cell(record: Any, axes: Any) -> None:
    """Draw the cell of the best row so far, or the cell under construction, or else the last complete one."""
    from hpo_envs.tables.cells.draw import draw
    from hpo_envs.tables.cells.grammar import cell_of, node_of
    from hpo_envs.tables.cells.graph import Sketch
    from hpo_envs.tables.cells.recipe import Cell, InvalidRecipe

    env = record.env
    cell: Any = None
    title = "empty cell" if env.params.kind == "graph" else ""
    try:
        if record.moves:
            cell = Sketch.of([node_of(move, i) for i, move in enumerate(record.moves)])
            title = "cell under construction"
        elif record.entries and env.params.kind == "rows":
            cell = Cell.from_text(env.table.keys[env.rows[int(_best(record)["action"])]])
            title = "best cell so far"
        elif record.entries:
            last = record.entries[-1]
            cell = cell_of(np.array([*last["moves"], last["action"].tolist()]))
            title = "last complete cell"
    except InvalidRecipe as error:
        title = f"invalid cell: {error.rule}"
    axes.set_axis_off()
    axes.set_title(title, fontsize=9)
    if cell is not None:
        draw(cell, axes)


def _is_cell(key: str) -> bool:
    from hpo_envs.tables.cells.recipe import Cell, InvalidRecipe

    try:
        return bool(Cell.from_text(key))
    except InvalidRecipe:
        return False


def _configuration(record: Any, axes: Any) -> None:
    """Show the best configuration so far, in natural values."""
    axes.set_axis_off()
    if record.entries:
        axes.set_title("best so far", fontsize=9, color=BEST)
        entry = _best(record)
        config = entry["info"].get("config") or {"action": np.round(entry["action"], 3).tolist()}
        lines = [f"{_words(k)}: {_short(v)}" for k, v in config.items()][:WIDEST]
        axes.text(-0.05, 0.97, "\n".join(line[:26] for line in lines), fontsize=8, va="top", linespacing=1.6)


def _best(record: Any) -> dict[str, Any]:
    """Return the recorded evaluation with the highest reward in the first objective."""
    return max(record.entries, key=lambda e: float(e["rewards"][0]))


def _short(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, (int, float, np.number)):
        return str(value)
    return f"{value:.3g}" if value < 1e3 else f"{value:.0f}"
