"""Recompute the results of a comparison from its Parquet files, with pandas and SciPy and nothing of this suite.

    python tests/regression/recompute.py runs/ [runs-2/ ...] [--rival random]

For every family: mean regret of each agent, and its difference from the rival's, with 95 % intervals and p-values of
two plain t tests: over seeds on fixed environments, and over task groups. Holm's correction counts the agents of a
family. Only runs with a budget of evaluations are read.
"""

import argparse
from pathlib import Path

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


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path, help="where `compare --out` wrote")
    parser.add_argument("--rival", default="random", help="whom all others are compared with (default: random)")
    args = parser.parse_args()
    scores = runs(pd.concat([evaluations(folder) for folder in args.folders]))
    print(
        differences(scores.drop_duplicates(["environment", "agent", "seed"]), args.rival)
        .round(4)
        .to_string(index=False)
    )


if __name__ == "__main__":
    main()
