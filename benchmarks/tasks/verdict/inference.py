"""Tests across task groups, with power; posteriors of a hierarchical model; sensitivity to scores and tasks."""

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from hpo_envs.benchmarks.analysis import intervals, significance
from hpo_envs.tables.table import Floats

BASE = "random"

FAMILIES = "each family one group"
"""Name of the analysis with the fewest independent tasks."""

MOST = 1000
"""Largest number of task groups given as `needed`."""

STEPS = 8
"""Number of values of each standard deviation in the grid of the hierarchical model."""


@dataclass(frozen=True, eq=False)
class TaskScores:
    """Scores of all agents on all environments; lower is better."""

    agents: tuple[str, ...]
    environments: tuple[str, ...]
    groups: tuple[str, ...]  # (environments,) task groups
    models: tuple[str, ...]  # (environments,) model classes
    values: Floats  # (agents, environments, seeds), NaN beyond the seeds of an environment

    @functools.cached_property
    def judged(self) -> dict[str, Any]:
        """Standings and pairs, see `significance.judged`."""
        return significance.judged(dict(zip(self.agents, self.values, strict=True)), self.groups)

    def difference(self, a: str, b: str) -> Floats:
        """Return the (environments, seeds) scores of agent a minus those of agent b."""
        return np.asarray(self.values[self.agents.index(a)] - self.values[self.agents.index(b)])


def scores(frame: pd.DataFrame, column: str) -> TaskScores:
    """Return the scores in a column of the table of runs; environments and seeds without all agents are left out."""
    wide = frame.pivot_table(index=["environment", "group", "model", "seed"], columns="agent", values=column).dropna()
    tasks = wide.index.droplevel("seed").unique()
    values = np.ascontiguousarray(intervals.padded([wide.loc[task].to_numpy(float) for task in tasks]))
    environments, groups, models = (tuple(tasks.get_level_values(k)) for k in ("environment", "group", "model"))
    return TaskScores(tuple(wide.columns), environments, groups, models, values)


def pairs(found: TaskScores, judged: Mapping[str, Any], base: str | None = None) -> list[dict[str, Any]]:
    """Return a record per pair: difference and interval across task groups, p-values, verdict, power.

    `p` is of the t test, `p_holm` with Holm's correction, `wilcoxon` of Wilcoxon's test. `better_on` is the number of
    groups on which the first agent is better. `needed` is the number of groups that would make the difference
    significant with a power of 80 %, if its mean and deviation stay as they are (None: over `MOST`), `detectable` the
    difference that the given groups find with that power; both at the level that Bonferroni's correction gives a pair.
    `from_seeds` is the share of the variance of the mean difference that is due to the seeds, which more of them would
    reduce. `judged` is `found.judged`; with `base` only pairs with this agent, as the second one, are tested, and
    Holm's procedure corrects for these.
    """
    from scipy import stats

    chosen = judged["pairs"]
    if base:
        chosen = [p for a in found.agents if (p := significance.against(chosen, a, base))]
    adjusted, level = significance.holm([p["there"]["p"] for p in chosen]), intervals.ALPHA / len(chosen)
    groups, records = np.arange(2, MOST + 1), []
    related = np.array([found.groups.count(g) for g in found.groups])
    for p, p_holm in zip(chosen, adjusted.tolist(), strict=True):
        d = found.difference(p["a"], p["b"])
        means, n = intervals.grouped(np.nanmean(d, axis=1), found.groups), np.isfinite(d).sum(axis=1) * related
        own = intervals.grouped(np.nanvar(d, axis=1, ddof=1) / n, found.groups)
        mean, least = p["there"]["difference"][0], detectable(float(means.std(ddof=1)), groups, level)
        enough = groups[abs(mean) >= least]
        verdict = ("better" if mean < 0 else "worse") if p_holm < intervals.ALPHA else significance.INCONCLUSIVE
        records.append(
            {"a": p["a"], "b": p["b"], **p["there"], "p_holm": p_holm, "verdict": verdict}
            | {"wilcoxon": float(stats.wilcoxon(means).pvalue), "better_on": int((means < 0).sum())}
            | {"from_seeds": float(own.mean() / means.var(ddof=1))}
            | {"needed": int(enough[0]) if len(enough) else None}
            | {"detectable": float(least[judged["groups"] - 2])}
        )
    return records


def detectable(deviation: float, groups: Any, level: float) -> Floats:
    """Return the least mean difference that a paired t test detects with a power of 80 %, by number of groups.

    The test is two-sided at `level`; `deviation` is the standard deviation over groups.
    """
    from scipy.special import nctdtrinc, stdtrit

    df = np.asarray(groups) - 1.0
    return np.asarray(nctdtrinc(df, 0.2, stdtrit(df, 1 - level / 2)) * deviation / np.sqrt(groups))


def posterior(found: TaskScores, a: str, b: str) -> dict[str, float]:
    """Return the posterior of the mean difference of two agents in a model with effects of task group and model class.

    The difference on environment e is normal around mu + u[group] + v[model], with the variance of the mean of its
    seeds plus sigma^2; u and v are normal with mean 0. The prior is flat in mu, and half-normal in each of the three
    standard deviations, with the deviation over environments as its scale; the posterior is a sum over a grid of them.
    `better` is the probability of a mean below 0; `rest`, `group` and `model` are posterior means of the deviations.
    """
    from scipy.optimize import brentq
    from scipy.special import ndtr

    d = found.difference(a, b)
    y, n = np.nanmean(d, axis=1), np.isfinite(d).sum(axis=1)
    same = [np.equal.outer(np.array(k), np.array(k)).astype(float) for k in (found.groups, found.models)]
    own = np.diag(np.nanvar(d, axis=1, ddof=1) / n)
    grid = 2 * y.std() * (np.arange(STEPS) + 0.5) / STEPS
    prior, (logs, centres, spreads) = -(grid**2) / (2 * y.var()), ([], [], [])
    for sigma, own_prior in zip(grid, prior, strict=True):
        squares = [s[None] * grid[:, None, None] ** 2 for s in same]
        v = squares[0][:, None] + squares[1][None] + own + np.eye(len(y)) * sigma**2
        solved = np.linalg.solve(v, np.column_stack([np.ones(len(y)), y])[None, None])
        ones, mixed, whole = solved[..., 0].sum(-1), solved[..., 1].sum(-1), solved[..., 1] @ y
        fit = -(np.linalg.slogdet(v)[1] + np.log(ones) + whole - mixed**2 / ones) / 2
        logs.append(fit + prior[:, None] + prior + own_prior)
        centres.append(mixed / ones)
        spreads.append(ones**-0.5)
    weight = np.exp(np.array(logs) - np.max(logs))
    weight, centre, spread = weight / weight.sum(), np.array(centres), np.array(spreads)

    def below(x: float) -> float:
        return float((weight * ndtr((x - centre) / spread)).sum())

    reach = float(np.abs(centre).max() + 20 * spread.max())
    low, high = (brentq(lambda x, q=q: below(x) - q, -reach, reach) for q in (0.025, 0.975))
    deviations = {
        name: float((weight.sum(axis=other) * grid).sum())
        for name, other in (("rest", (1, 2)), ("group", (0, 2)), ("model", (0, 1)))
    }
    return {"mean": float((weight * centre).sum()), "low": low, "high": high, "better": below(0.0)} | deviations


def ways(frame: pd.DataFrame, most: int) -> dict[str, TaskScores]:
    """Return scores by name of the analysis (another score, grouping or choice of tasks); the first is the default."""
    from scipy.stats import rankdata, trim_mean

    default, family = scores(frame, f"mean_{most}"), frame["environment"].str.split("-").str[0]
    fields = {k: getattr(default, k) for k in ("agents", "environments", "groups", "models")}
    coarse = frame.assign(group=frame["group"].where(family != "CharHPO", "CharHPO, " + frame["group"].str[-9:]))
    found = {f"mean regret, {most} evaluations": default}
    found |= {f"{kind} regret, {k} evaluations": scores(frame, f"{kind}_{k}")
              for k in (most, most // 2) for kind in ("final", "mean") if (k, kind) != (most, "mean")}  # fmt: skip
    found |= {
        "rank of mean regret": TaskScores(**fields, values=rankdata(default.values, axis=0, nan_policy="omit")),
        "interquartile mean of seeds": TaskScores(
            **fields, values=np.array([[[trim_mean(x[x == x], 0.25)] for x in own] for own in default.values])
        ),
        "regret not clipped at 1": scores(frame, f"unclipped_{most}"),
        "CharHPO's languages as two groups": scores(coarse, f"mean_{most}"),
        "each corpus one group": scores(frame.assign(group=frame["group"].str.split(",").str[0]), f"mean_{most}"),
        FAMILIES: scores(frame.assign(group=family), f"mean_{most}"),
    }
    return found | {f"without {name}": scores(frame[family != name], f"mean_{most}") for name in family.unique()}


def sensitivity(found: Mapping[str, TaskScores]) -> list[dict[str, Any]]:
    """Return a record per analysis: leader, agents tied with it, significant pairs of the default that stay or flip."""
    verdicts = {name: one.judged for name, one in found.items()}
    known = [p for p in next(iter(verdicts.values()))["pairs"] if p["there"]["verdict"] in ("better", "worse")]
    rows = []
    for name, judged in verdicts.items():
        now = [(p["there"], n["there"]) for p in known if (n := significance.against(judged["pairs"], p["a"], p["b"]))]
        same = sum(n["verdict"] == p["verdict"] for p, n in now)
        turned = sum(n["difference"][0] * p["difference"][0] < 0 for p, n in now)
        first, *rest = sorted(judged["standings"], key=lambda s: s["elsewhere"][0])
        tied = [s["agent"] for s in rest if s["there"] == significance.TIED]
        rows.append({"way": name, "groups": judged["groups"], "leader": first["agent"], "tied": tied}
                    | {"kept": same, "of": len(known), "other_sign": turned})  # fmt: skip
    return rows
