"""Recompute the results of a comparison from its Parquet files, with pandas and SciPy and nothing of this suite.

    python tests/regression/recompute.py runs/ [runs-2/ ...] [--rival random]
    python tests/regression/recompute.py verdict       # the committed verdict, from its table of runs

For every family: mean regret of each agent, and its difference from the rival's, with 95 % intervals and p-values of
two plain t tests: over seeds on fixed environments, and over task groups. Holm's correction counts the agents of a
family. Only runs with a budget of evaluations are read.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats


def evaluations(folder: Path) -> pd.DataFrame:
    """All evaluations of a folder of `compare`, with the task group of each environment."""
    parts = [pd.read_parquet(file) for file in sorted(folder.glob("*/*.parquet"))]
    about = pd.read_parquet(folder / "runs.parquet")
    about = about[about["unit"] == "evaluations"][["environment", "agent", "seed", "group", "budget"]]
    return pd.concat(parts).merge(about, on=["environment", "agent", "seed"])


def runs(found: pd.DataFrame) -> pd.DataFrame:
    """Mean and final regret of each run; the regret after its last evaluation holds until the end of the budget."""
    found = found.sort_values(["environment", "agent", "seed", "step"])
    key = ["environment", "group", "agent", "seed"]
    of = found.dropna(subset="regret").groupby(key)
    scores = of.agg(total=("regret", "sum"), n=("regret", "size"), final=("regret", "last"), budget=("budget", "first"))
    scores["mean"] = (scores["total"] + (scores["budget"] - scores["n"]) * scores["final"]) / scores["budget"]
    scores = scores.reset_index()
    return scores.assign(family=scores["environment"].str.split("-").str[0])


def over_seeds(d: pd.Series) -> tuple[float, float, float]:
    """Mean over environments, half of its interval, and p; seeds are random (Welch and Satterthwaite)."""
    by = d.groupby("environment").agg(["mean", "var", "size"])
    parts = by["var"] / by["size"] / len(by) ** 2
    df = parts.sum() ** 2 / (parts**2 / (by["size"] - 1)).sum() if parts.sum() else 1.0
    return tested(by["mean"].mean(), np.sqrt(parts.sum()), df)


def over_groups(d: pd.Series) -> tuple[float, float, float]:
    """Mean over task groups, half of its interval, and p; groups are random."""
    means = d.groupby(["group", "environment"]).mean().groupby("group").mean()
    if len(means) < 2:
        return float(means.mean()), np.nan, np.nan
    return tested(means.mean(), means.std() / np.sqrt(len(means)), len(means) - 1)


def tested(mean: float, error: float, df: float) -> tuple[float, float, float]:
    """A mean, half of its 95 % interval, and its p-value."""
    return float(mean), float(stats.t.ppf(0.975, df) * error), float(2 * stats.t.sf(abs(mean) / error, df))


def differences(scores: pd.DataFrame, rival: str) -> pd.DataFrame:
    """A row for each family and agent; only environments and seeds that both agents have."""
    wide = scores.set_index(["family", "group", "environment", "seed", "agent"])["mean"].unstack()
    rows = []
    for (family, agent), some in wide.melt(ignore_index=False, var_name="agent").groupby(["family", "agent"]):
        d = (some["value"] - wide.loc[[family], rival]).dropna()
        if agent == rival or d.empty:
            continue
        here, elsewhere = over_seeds(d), over_groups(d)
        counts = {"environments": d.index.unique("environment").size, "groups": d.index.unique("group").size}
        mean = some["value"].groupby("environment").mean().mean()
        row = {"family": family, "agent": agent, **counts, "runs": len(d), "regret": mean, "difference": here[0]}
        rows.append(row | {"half": here[1], "p": here[2], "over groups": elsewhere[0], "group half": elsewhere[1]})
    found = pd.DataFrame(rows)
    found["p (Holm)"] = found.groupby("family")["p"].transform(holm)
    return found


def holm(p: pd.Series) -> pd.Series:
    """Holm's adjusted p-values."""
    ranked = p.sort_values()
    return (ranked * np.arange(len(p), 0, -1)).cummax().clip(upper=1.0).reindex(p.index)


VERDICT = Path(__file__).parents[2] / "benchmarks" / "comparison" / "verdict.parquet"
NAMES = ["environment", "group", "model"]


def matrix(frame: pd.DataFrame, column: str) -> pd.DataFrame:
    """Agents as columns, a row for each environment and seed that all agents have."""
    return frame.dropna(subset=column).set_index([*NAMES, "seed", "agent"])[column].unstack().dropna()


def group_test(d: pd.DataFrame) -> dict[str, float]:
    """t test over task groups, with the variance that seeds shared by all environments add.

    Args:
        d: Differences; a row for each environment, of the index (group, ...), and a column for each seed.
    """
    x, labels = d.to_numpy(), d.index.get_level_values("group")
    ran = np.isfinite(x).sum(axis=1)
    task = np.nanmean(x, axis=1)
    of = (labels.to_numpy()[:, None] == labels.unique().to_numpy()).astype(float)
    of /= of.sum(axis=0)
    means = task @ of
    n = len(means)
    weights = of.sum(axis=1) / n
    within = np.nansum((x - task[:, None]) ** 2, axis=1) / np.maximum(ran - 1, 1) / ran
    per_seed = weights @ x
    per_seed = per_seed[np.isfinite(per_seed)]
    shared = per_seed.var(ddof=1) / len(per_seed) if len(per_seed) > 1 else 0.0
    extra, between = max(shared - within @ weights**2, 0.0), means.var(ddof=1) / n
    df = (between + extra) ** 2 / (between**2 / (n - 1) + (extra**2 / (len(per_seed) - 1) if extra else 0.0))
    mean, half, p = tested(means.mean(), np.sqrt(between + extra), df)
    same = {"wilcoxon": stats.wilcoxon(means).pvalue, "better_on": int((means < 0).sum()), "sd": means.std(ddof=1)}
    same["from_seeds"] = within @ weights**2 / between
    return {"mean": mean, "low": mean - half, "high": mean + half, "p": p, "groups": n, **same}


def shifts(level: float, sizes: np.ndarray) -> np.ndarray:
    """Noncentrality at which a two-sided t test finds a difference with a power of 80 %, by bisection."""
    critical = stats.t.ppf(1 - level / 2, sizes - 1)
    low, high = np.zeros(len(sizes)), 4 * critical
    for _ in range(60):
        middle = (low + high) / 2
        found = stats.nct.sf(critical, sizes - 1, middle) >= 0.8
        low, high = np.where(found, low, middle), np.where(found, middle, high)
    return high


def tests(wide: pd.DataFrame, pairs: list[tuple[str, str]]) -> pd.DataFrame:
    """Tests of some pairs, Holm's correction over them, and the groups that a power of 80 % needs."""
    by_seed = {a: wide[a].unstack("seed") for a in wide.columns}
    found = pd.DataFrame([{"a": a, "b": b, **group_test(by_seed[a] - by_seed[b])} for a, b in pairs])
    found["p_holm"] = holm(found["p"])
    level, sizes = 0.05 / len(found), np.arange(2, 1001)
    quantiles = shifts(level, sizes) / np.sqrt(sizes)
    found["detectable"] = found["sd"] * quantiles[found["groups"] - 2]
    found["needed"] = [
        next((n for n, q in zip(sizes, quantiles, strict=True) if q * r.sd <= abs(r.mean)), None)
        for r in found.itertuples()
    ]
    return found.set_index(["a", "b"])


def leaders(wide: pd.DataFrame) -> tuple[list[str], list[str], pd.DataFrame]:
    """Agents in the order of their means over groups; those tied with the first; and tests of all pairs."""
    means = wide.groupby(["group", "environment"]).mean().groupby("group").mean().mean().sort_values()
    names = [*means.index]
    every = tests(wide, [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]])
    first = every.loc[names[0]]
    tied = [a for a in names[1:] if holm(first["p"])[a] >= 0.05] if (first["p"] >= 0.05).any() else []
    return names, tied, every


def posterior(d: pd.Series, steps: int = 8) -> dict[str, float]:
    """The hierarchical model by normal densities with a very wide prior of the mean, a point of the grid at a time."""
    by = d.groupby(NAMES)
    y, own = by.mean(), by.var(ddof=1) / by.size()
    same = [np.equal.outer(*[y.index.get_level_values(k)] * 2).astype(float) for k in ("group", "model")]
    scale, wide = y.std(ddof=0), np.full((len(y), len(y)), 1e4)
    grid = 2 * scale * (np.arange(steps) + 0.5) / steps
    rows = []
    for s, g, m in np.array(np.meshgrid(grid, grid, grid, indexing="ij")).reshape(3, -1).T:
        v = g**2 * same[0] + m**2 * same[1] + np.diag(own + s**2)
        factor = np.linalg.cholesky(v + wide)
        whitened = np.linalg.solve(factor, np.column_stack([y, np.full(len(y), 1e4)]))
        log = -np.log(np.diag(factor)).sum() - whitened[:, 0] @ whitened[:, 0] / 2 - (s**2 + g**2 + m**2) / 2 / scale**2
        rows.append((log, whitened[:, 1] @ whitened[:, 0], 1e4 - whitened[:, 1] @ whitened[:, 1]))
    log, centre, variance = np.array(rows).T
    weight = np.exp(log - log.max()) / np.exp(log - log.max()).sum()
    return {"mean": weight @ centre, "better": weight @ stats.norm.cdf(0.0, centre, np.sqrt(variance))}


def pays(rows: pd.DataFrame) -> pd.DataFrame:
    """Weighted least squares of the lead on properties, with errors robust to clusters."""
    both = pd.concat([rows.assign(budget=k, lead=rows[f"lead_{k}"]) for k in (20, 40)])
    logs = np.log2(both[["dimensions", "configurations", "budget"]].astype(float))
    x = np.column_stack(
        [np.ones(len(both)), logs.iloc[:, :2], both[["near_best", "smoothness", "noise"]], logs.iloc[:, 2]]
    )
    w = 1 / both.groupby("group")["lead"].transform("size").to_numpy()
    root = np.sqrt(w)[:, None]
    beta, *_ = np.linalg.lstsq(x * root, both["lead"] * root[:, 0], rcond=None)
    bread = np.linalg.pinv(x.T @ (w[:, None] * x))
    scores = (
        pd.DataFrame(x * (w * (both["lead"].to_numpy() - x @ beta))[:, None])
        .groupby(both["group"].to_numpy())
        .sum()
        .to_numpy()
    )
    n, p, g = len(x), x.shape[1], len(scores)
    errors = np.sqrt(np.diag(bread @ scores.T @ scores @ bread) * g / (g - 1) * (n - 1) / (n - p))
    sd = np.sqrt(np.average((x - np.average(x, axis=0, weights=w)) ** 2, axis=0, weights=w))
    half = stats.t.ppf(0.975, g - p) * errors
    return pd.DataFrame({"effect": beta * sd, "low": (beta - half) * sd, "high": (beta + half) * sd}).iloc[1:]


def ways(frame: pd.DataFrame) -> list[pd.DataFrame]:
    """The scores of the sensitivity analysis, in its order."""
    family, default = frame["environment"].str.split("-").str[0], matrix(frame, "mean_40")
    halves = frame["group"].mask(family == "CharHPO", frame["group"].str.contains("pronunciation").astype(str))
    corpus = frame["group"].str.replace(r",.*", "", regex=True)
    seeds = default.groupby(NAMES).agg(lambda x: stats.trim_mean(x, 0.25))
    found = [default, *(matrix(frame, c) for c in ("final_40", "final_20", "mean_20"))]
    found += [default.rank(axis=1), seeds.assign(seed=0).set_index("seed", append=True), matrix(frame, "unclipped_40")]
    found += [matrix(frame.assign(group=g), "mean_40") for g in (halves, corpus, family)]
    return found + [matrix(frame[family != name], "mean_40") for name in family.unique()]


def check(stated: dict[str, Any], frame: pd.DataFrame, rows: pd.DataFrame, models: int | None = None) -> list[str]:
    """What differs between the stated verdict and the one that follows from the runs."""
    wrong: list[str] = []

    def equal(where: str, found: Any, said: Any, tolerance: float = 2e-4) -> None:
        if not (found is None and said is None) and not np.allclose(
            np.asarray(found, float), np.asarray(said, float), rtol=2e-3, atol=tolerance
        ):
            wrong.append(f"{where}: {np.asarray(said)} stated, {np.asarray(found)} found")

    for budget, own in stated["budgets"].items():
        wide = matrix(frame, f"mean_{budget}")
        names, tied, _ = leaders(wide)
        every = tests(wide, [(p["a"], p["b"]) for p in own["pairs"]])
        if names != [s["agent"] for s in own["standings"]]:
            wrong.append(f"order at {budget}: {names}")
        if tied != [s["agent"] for s in own["standings"][1:] if s["there"] == "tied for best"]:
            wrong.append(f"tied at {budget}: {tied}")
        base = tests(wide, [(p["a"], p["b"]) for p in own["against_random"]])
        for p, table in [*((p, every) for p in own["pairs"]), *((p, base) for p in own["against_random"])]:
            row = table.loc[(p["a"], p["b"])]
            equal(f"{p['a']}, {p['b']} at {budget}", row[["mean", "low", "high"]], p["difference"])
            for key in ("p", "p_holm", "wilcoxon", "better_on", "needed", "detectable", "from_seeds"):
                equal(f"{key} of {p['a']}, {p['b']}", None if pd.isna(row[key]) else row[key], p[key])
        for s in own["standings"]:
            mean = wide[s["agent"]].groupby(["group", "environment"]).mean().groupby("group").mean().mean()
            equal(f"mean of {s['agent']}", mean, s["elsewhere"][0])
    wide = matrix(frame, "mean_40")
    leads = wide.sub(wide["random"], axis=0).groupby(["group", "environment"]).mean().groupby("group").mean()
    for row in stated["by_group"]:
        equal(row["group"], leads.loc[row["group"]], [row[a] for a in leads.columns])
    known = None
    for said, scores in zip(stated["sensitivity"], ways(frame) if stated["sensitivity"] else [], strict=True):
        names, tied, every = leaders(scores)
        signs = pd.Series(np.sign(every["mean"]) * (every["p_holm"] < 0.05) * (every["groups"] >= 6))
        signs = pd.concat([signs, -signs.swaplevel()])
        lead = pd.concat([every["mean"], -every["mean"].swaplevel()])
        known = signs[signs < 0].index if known is None else known
        tied = tied if every["groups"].iloc[0] >= 6 else []
        counts = [int((signs[known] < 0).sum()), len(known), int((lead[known] > 0).sum())]
        if (names[0], tied, counts) != (said["leader"], said["tied"], [said["kept"], said["of"], said["other_sign"]]):
            wrong.append(f"{said}: {names[0]}, {tied}, {counts}")
    for b in stated["bayes"][:models]:
        found = posterior(wide[b["a"]] - wide[b["b"]])
        equal(f"hierarchical, {b['a']}, {b['b']}", [found["mean"], found["better"]], [b["mean"], b["better"]], 2e-3)
    every_track = pd.read_parquet(VERDICT.parents[1] / "tasks" / "verdict" / "tracks.parquet")
    for name, track in stated["tracks"].items():
        own_runs = every_track[every_track["track"] == name]
        wide, finals = (matrix(own_runs, f"{kind}_regret") for kind in ("mean", "final"))
        leads = tests(wide, [(p["a"], "random") for p in track["against_random"]])
        for p in track["against_random"]:
            row = leads.loc[(p["a"], "random"), ["mean", "low", "high", "p_holm"]]
            equal(f"{p['a']} of {name}", row, [*p["difference"], p["p_holm"]])
        for s in track["standings"]:
            own = pd.DataFrame({"mean": wide[s["agent"]], "final": finals[s["agent"]]})
            both = own.groupby(["group", "environment"]).mean().groupby("group").mean().mean()
            equal(f"regret of {s['agent']} of {name}", both, [s["mean"], s["final"]])
    for k in (20, 40):
        means = frame.groupby(["environment", "agent"])[f"mean_{k}"].mean().unstack()
        equal(f"leads of bo at {k}", (means["random"] - means["bo"])[rows["environment"]], rows[f"lead_{k}"])
    for said, row in zip(stated["pays"]["effects"], pays(rows).itertuples(), strict=True):
        equal(f"of {said['property']}", [row.effect, row.low, row.high], [said["effect"], said["low"], said["high"]])
    return wrong


def main() -> int:
    """Print the table, or what differs from the committed verdict."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", help="where `compare --out` wrote, or: verdict")
    parser.add_argument("--rival", default="random", help="whom all others are compared with (default: random)")
    args = parser.parse_args()
    if args.folders == ["verdict"]:
        stated = json.loads(VERDICT.with_suffix(".json").read_text("utf-8"))
        rows = pd.read_csv(VERDICT.parents[1] / "tasks" / "verdict" / "properties.csv")
        wrong = check(stated, pd.read_parquet(VERDICT), rows)
        print("\n".join(wrong) or "every number of the verdict follows from the runs")
        return int(bool(wrong))
    scores = runs(pd.concat([evaluations(Path(folder)) for folder in args.folders]))
    scores = scores.drop_duplicates(["environment", "agent", "seed"])
    print(differences(scores, args.rival).round(4).to_string(index=False))
    return 0


if __name__ == "__main__" and main():
    sys.exit("the committed verdict does not follow from the runs")
