"""The paper's tables and figures again, with a verdict on every published number."""

from __future__ import annotations

import functools

import numpy as np

from hpo_envs.benchmarks.papers import common
from hpo_envs.benchmarks.papers.common import Record, Reproduction
from hpo_envs.benchmarks.papers.fiesta import analysis, figures, settings
from hpo_envs.benchmarks.papers.fiesta.select import select

COLUMNS = ("where", "row", "delta", "quantity", "published", "ours", "error", "runs", "verdict")


def note(
    r: Reproduction,
    where: str,
    row: str,
    delta: float | None,
    quantity: str,
    ours: float,
    error: float = np.nan,
    runs: int = 0,
) -> Record:
    """A number of ours, next to the published one if there is one.

    Args:
        r: The reproduction, for which it is compared.
        where: Table or figure; after a colon, in what it departs from that.
        row: Of the table.
        delta: Error rate, if that has any.
        quantity: Which number of the row.
        ours: The number.
        error: Its standard error.
        runs: That it is the mean of.
    """
    table, _, departure = where.partition(":")
    level = "" if delta is None else f"{delta:g}"
    published = common.expected("fiesta").get((table, row, level, quantity))
    verdict = _verdict(quantity, ours, error, published, runs)
    if published is not None and not departure:
        spread = "" if np.isnan(error) else f" ± {error:.2g}"
        label = " ".join(filter(None, (row, level and f"delta {level}", quantity)))
        r.compare_published(where, label, published.text, f"{ours:.4g}{spread}", verdict)
    spread = "" if np.isnan(error) else f"{error:.6g}"
    values = (where, row, level, quantity, published and published.text, f"{ours:.6g}", spread, runs, verdict)
    return dict(zip(COLUMNS, values, strict=True))


def _verdict(quantity: str, ours: float, error: float, published: common.Published | None, runs: int) -> common.Verdict:
    if published is None:
        return "not published"
    if not published.details["runs"]:
        return common.judge(ours - published.value, 0.0)
    return analysis.verdict(quantity, ours, error, published.value, runs, int(published.details["runs"]))


def table1(r: Reproduction) -> list[Record]:
    """The schedule of sequential halving: four models, sixteen evaluations."""
    from hpo_envs.agents.bandits.elimination import halving_schedule

    rounds = enumerate(halving_schedule(4, 16), start=1)
    return [note(r, "Table 1", f"round {i}", None, "evaluations", float(each)) for i, (_, each) in rounds]


def _levels(r: Reproduction, where: str, todo: tuple[settings.Setting, ...]) -> list[Record]:
    """Minimum, mean and maximum evaluations to each confidence, and the fraction of correct selections."""
    rows = []
    for setting in todo:
        for delta in settings.DELTAS:
            found = select(r, setting, settings.TRIALS, confidence=1.0 - delta)
            for quantity, (value, error) in found.summary().items():
                rows.append(note(r, where, setting.name, delta, quantity, value, error, len(found)))
    return rows


def table2(r: Reproduction) -> list[Record]:
    """Evaluations to a confidence: non-adaptive and TTTS."""
    return _levels(r, "Table 2", settings.TABLE_2)


def table3(r: Reproduction) -> list[Record]:
    """Evaluations to a confidence: batch Thompson sampling."""
    return _levels(r, "Table 3", settings.TABLE_3)


def uncounted(r: Reproduction) -> list[Record]:
    """Tables 2 and 3 as the authors' notebook counts: five evaluations of each model first, counted as three."""
    rows = []
    for setting in settings.UNCOUNTED:
        where = "Table 3" if setting.agent == "bts" else "Table 2"
        rows += _levels(r, f"{where}: five first, counted as three", (setting,))
    return rows


def figure1(r: Reproduction) -> list[Record]:
    """Section 2: how often the better recogniser wins on one split, on one seed, and over both."""
    x = figures.recognisers()
    means = {"all runs": x[1].mean() - x[0].mean()}
    means |= {f"split {i}": x[1, i].mean() - x[0, i].mean() for i in range(3)}
    wins = {
        "one split, its five seeds": (x[1].mean(axis=1) > x[0].mean(axis=1)).mean(),
        "one split and seed": (x[1] > x[0]).mean(),
        "one seed, all splits": (x[1].mean(axis=0) > x[0].mean(axis=0)).mean(),
    }
    common.drawn(lambda: figures.figure1(r.out))
    return [
        *(note(r, "Figure 1", row, None, "mean F1 of lstm minus cnn", float(v)) for row, v in means.items()),
        *(note(r, "Figure 1", row, None, "lstm wins, per cent", 100.0 * float(v)) for row, v in wins.items()),
    ]


def figure2(r: Reproduction) -> None:
    """One run of TTTS."""
    common.drawn(lambda: figures.figure2(r.out, r.seed))


def figure3(r: Reproduction) -> None:
    """Scores of the eight sentiment models."""
    common.drawn(lambda: figures.figure3(r.out))


def figure4(r: Reproduction) -> list[Record]:
    """Right selections by budget: sequential halving and non-adaptive on twelve models."""
    env, rows = "FIESTA-tdsa12-v0", []
    points: dict[str, dict[int, tuple[float, float]]] = {}
    for budget in settings.FIGURE_4_BUDGETS:
        for agent in ("sh", "nonadaptive"):
            setting = settings.Setting(f"{agent}, T={budget}", agent, env)
            found = select(r, setting, settings.FIGURE_4_TRIALS, budget=budget)
            points.setdefault(agent, {})[budget] = value, error = found.summary()["correct"]
            row = agent if budget == settings.NAMED_BUDGET else setting.name
            rows.append(note(r, "Figure 4", row, None, "correct", value, error, len(found)))
    # Section 4.1 says floor(log2 N) rounds; Algorithm 1 divides by ceil(log2 N).
    floor = settings.Setting("sh", "sh", env, hyperparameters={"rounds": "floor", "total": settings.NAMED_BUDGET})
    found = select(r, floor, settings.FIGURE_4_TRIALS, budget=2 * settings.NAMED_BUDGET)
    label = "Figure 4: budget cut into floor(log2 N) parts"
    for quantity in ("correct", "mean"):
        rows.append(note(r, label, "sh", None, quantity, *found.summary()[quantity], len(found)))
    common.drawn(lambda: figures.figure4(r.out, points))
    return rows


PARTS: common.Parts = {
    part.__name__: part for part in (table1, table2, table3, uncounted, figure1, figure2, figure3, figure4)
}

QUICK = 10
"""Trials of `--quick`."""

main = functools.partial(common.reproduce, "fiesta", PARTS)
