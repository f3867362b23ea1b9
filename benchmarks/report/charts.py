"""Charts of the page: axes and series, as plain data."""

from collections.abc import Iterator, Mapping
from typing import Any

from hpo_envs.benchmarks.plots import crowded, most
from hpo_envs.benchmarks.report import sentences

CIVIDIS = ("#fdea45", "#cab969", "#958f78", "#666970", "#31446b", "#00224e")
"""Six steps of the colour map cividis (Nunez, Anderton and Renslow 2018), from light to dark."""


def colour(share: float) -> str:
    """Return the colour of a number from 0 (light) to 1 (dark), clipped, mixed from two neighbours in `CIVIDIS`."""
    at = min(max(share, 0.0), 1.0) * (len(CIVIDIS) - 1)
    i = min(int(at), len(CIVIDIS) - 2)
    a, b = (tuple(int(c[k : k + 2], 16) for k in (1, 3, 5)) for c in CIVIDIS[i : i + 2])
    return "#" + "".join(f"{round(x + (y - x) * (at - i)):02x}" for x, y in zip(a, b, strict=True))


def ink(share: float) -> str:
    """Return "#000" or "#fff", whichever has more contrast on `colour(share)` (WCAG 2.2, relative luminance)."""
    return "#fff" if share > 0.5342 else "#000"


def chart(title: str, xlabel: str, ylabel: str, panel: Mapping[str, Any], **options: Any) -> dict[str, Any]:
    """Return a chart: `panel` has `x` and, by name, `agents`: lists of one line, or of a line and the ends of its band.

    Options are `xlog`, `ylog`, `xreverse` and `step` (`pre` or `post`); `points`, the series drawn as points, and
    `notes` on each; `labels` of x = 0, 1, ...; `shades`, the colour of each series, which are all shown without a
    legend; `axes`, one for each x, with `labels`, or `low`, `high` and `log`; `bars` (start, end, row, series, note),
    and labels of `rows`.
    """
    axes = {"title": title, "xlabel": xlabel, "ylabel": ylabel}
    return {**axes, "x": panel["x"], "series": panel["agents"], **options}


def of_track(t: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Yield (key, chart, caption) of each chart of a track; only that of regret if scores are raw."""
    c, name = t["curves"], t["name"]
    title, label = ("Raw score", "raw score") if t.get("raw") else ("Regret", "normalised regret")
    shown = most([r["agent"] for r in t["ranking"]])
    log = not t.get("raw") and crowded({a: c["regret"]["agents"][a] for a in shown})
    yield (
        "regret",
        chart(f"{title} over the budget, {name}", "share of the budget", label, c["regret"], ylog=log),
        "Lower and further left is better. Mean of environments and runs; bands are 95 % intervals for other seeds.",
    )
    if t.get("raw"):  # targets are regrets
        return
    positive = [i for i, x in enumerate(c["ert"]["x"]) if x > 0]  # on a log axis
    ert = {a: [[line[i] for i in positive] for line in lines] for a, lines in c["ert"]["agents"].items()}
    yield (
        "ert",
        chart(
            f"Cost against quality, {name}", "target: regret", "expected cost, in budgets",
            {"x": [c["ert"]["x"][i] for i in positive], "agents": ert}, xlog=True, ylog=True, xreverse=True,
        ),
        "What it costs on average to reach a quality, restarting runs that failed; harder targets to the right.",
    )  # fmt: skip
    yield (
        "ecdf",
        chart(f"Targets met, {name}", "share of the budget", "share of (run, target) pairs", c["ecdf"], xlog=True),
        "Higher is better: of all pairs of a run and one of 21 regret targets, how many were met by then.",
    )
    yield (
        "profile",
        chart(f"Distribution of runs, {name}", sentences.measure(t), "share of runs at least as good", c["profile"]),
        "Higher is better: how many runs ended with this score or a better one.",
    )


def of_environments(summary: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return charts of scores against evaluations and, if the budget has another unit, cost, for each environment."""
    environments = {e["label"]: e for e in summary["environments"]}
    variants = []
    for env, panels in summary["curves"].items():
        raw = environments[env]["optimum"] == "none"
        for against, panel in panels.items():
            xlabel = "evaluations" if against == "evaluations" else f"cost ({environments[env]['cost_unit']})"
            log = {"xlog": against == "evaluations", "ylog": not raw and crowded(panel["agents"])}
            ylabel = "raw score" if raw else "normalised regret"
            variants.append(chart(f"{env}, by {xlabel}", xlabel, ylabel, panel, **log))
    return variants


def of_fronts(summary: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return charts of attainment surfaces, one per environment and fraction of the budget, the whole budget first."""
    variants = []
    for env, entry in summary["fronts"].items():
        first, second = entry["objectives"]
        step = "post" if entry["signs"][0] < 0 else "pre"  # a surface holds up to a point, or from it on
        for stage, agents in reversed(entry["stages"].items()):
            panel = {"x": entry["x"], "agents": agents}
            variants.append(chart(f"{env}, {stage} of the budget", first, second, panel, step=step))
    return variants
