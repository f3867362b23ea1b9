"""The verdict: which optimizer is better across task groups, from the committed table of runs.

    python -m hpo_envs.benchmarks.tasks.verdict build runs/NMTHPO runs/CharHPO ...   # writes the table, see table.py
    python -m hpo_envs.benchmarks.tasks.verdict build runs/NMTLC ... --track "learning curves"   # of another track
    python -m hpo_envs.benchmarks.tasks.verdict publish    # scores, picture, texts of README, report, leaderboard
    python -m hpo_envs.benchmarks.tasks.verdict            # prints the tables

`tests/regression/recompute.py verdict` recomputes its numbers without this suite.
"""

import argparse
import gzip
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from hpo_envs.benchmarks import leaderboard
from hpo_envs.benchmarks.analysis import intervals
from hpo_envs.benchmarks.comparison import summary as boards
from hpo_envs.benchmarks.report import numbers, sentences
from hpo_envs.benchmarks.tasks.verdict import inference, pictures, properties, table
from hpo_envs.tables import screen, store
from hpo_envs.tables.files import atomic

SUMMARY = table.RUNS.with_suffix(".json")

LEARNED = Path(leaderboard.__file__).with_name("learned") / "results" / "adaptation.csv"
"""File of the adaptation gains of learned optimizers, see `hpo_envs.benchmarks.learned.adaptation`."""

LONGEST = max(properties.BUDGETS)
"""Evaluations of the default score."""

DIGITS = 6
"""Significant digits of published numbers."""


def summary(frame: pd.DataFrame) -> dict[str, Any]:
    """Return the numbers of the verdict, as JSON values, from the committed tables of runs.

    `frame` is the table of the verdict; that of the other tracks is read from its file.
    """
    found = inference.ways(frame, LONGEST)
    default, *_ = found.values()
    budgets = {}
    for k in properties.BUDGETS:
        own = found[f"mean regret, {k} evaluations"]
        judged = own.judged
        standings = [{key: s[key] for key in ("agent", "elsewhere", "here", "there")} for s in judged["standings"]]
        budgets[str(k)] = {
            "groups": judged["groups"],
            "best": judged["best"]["there"],
            "standings": sorted(standings, key=lambda s: s["elsewhere"][0]),
            "against_random": inference.pairs(own, judged, inference.BASE),
            "pairs": inference.pairs(own, judged),
        }
    leader, *others = [s["agent"] for s in budgets[str(LONGEST)]["standings"]]
    compared = [(a, inference.BASE) for a in (leader, *others) if a != inference.BASE]
    compared += [(leader, a) for a in others if a != inference.BASE]
    means = np.nanmean(default.values - default.values[default.agents.index(inference.BASE)], axis=2)
    labels = [*dict.fromkeys(default.groups)]
    family = {g: e.split("-")[0] for g, e in zip(default.groups, default.environments, strict=True)}
    by_group = [
        {"group": g, "family": family[g], "environments": default.groups.count(g)}
        | {a: float(m) for a, m in zip(default.agents, grouped, strict=True)}
        for g, grouped in zip(labels, intervals.grouped(means, default.groups).T, strict=True)
    ]
    counts, rows = np.isfinite(default.values[0]).sum(axis=1), properties.known()
    fit = properties.regression(rows)
    result: dict[str, Any] = boards.rounded({
        "runs": len(frame),
        "environments": len(default.environments),
        "groups": len(labels),
        "families": {f: list(family.values()).count(f) for f in dict.fromkeys(family.values())},
        "seeds": [int(x) for x in (counts.min(), counts.max())],
        "commits": sorted(frame["commit"].unique()),
        "budgets": budgets,
        "bayes": [{"a": a, "b": b, **inference.posterior(default, a, b)} for a, b in compared],
        "sensitivity": inference.sensitivity(found),
        "by_group": by_group,
        "pays": {"effects": properties.effects(rows), "r2": fit["r2"], "residual": fit["residual"], "df": fit["df"]},
    }, DIGITS)  # fmt: skip
    return result | {"tracks": tracks(pd.read_parquet(table.TRACKS))}


def tracks(frame: pd.DataFrame) -> dict[str, Any]:
    """Return the scores of the other tracks by name, with the differences from random search across task groups."""
    found: dict[str, Any] = {}
    for name, runs in frame.groupby("track"):
        own, end = (inference.scores(runs, column) for column in ("mean_regret", "final_regret"))
        judged, finals = own.judged, intervals.grouped(np.nanmean(end.values, axis=2), end.groups).mean(axis=1)
        final, budgets = dict(zip(end.agents, finals.tolist(), strict=True)), sorted({*runs["budget"]})
        means = sorted((s["elsewhere"][0], s["agent"]) for s in judged["standings"])
        found[str(name)] = boards.rounded({
            "environments": len(own.environments),
            "groups": judged["groups"],
            "seeds": int(np.isfinite(own.values[0]).sum(axis=1).min()),
            "budget": f"{budgets[0]:g} {runs['unit'].iloc[0]}" if len(budgets) == 1 else "budgets of the ids",
            "standings": [{"agent": a, "mean": mean, "final": final[a]} for mean, a in means],
            "against_random": inference.pairs(own, judged, inference.BASE),
        }, DIGITS)  # fmt: skip
    return found


def measured(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows of `properties.csv`: table, properties and leads of `bo` over `random` by scored environment."""
    rows = []
    keys = ["environment", "group", "table", "sha256", "objectives"]
    scored = frame.dropna(subset=f"mean_{LONGEST}")
    for (env, group, name, sha256, objectives), runs in scored.groupby(keys, sort=True):
        means = runs.groupby("agent")[[f"mean_{k}" for k in properties.BUDGETS]].mean()
        leads = {f"lead_{k}": float(means.loc[inference.BASE, f"mean_{k}"] - means.loc["bo", f"mean_{k}"])
                 for k in properties.BUDGETS}  # fmt: skip
        metric = json.loads(objectives)[0]
        facts = properties.of_table(store.load(name), metric)
        row = {"environment": env, "group": group, "table": name, "sha256": sha256, "metric": metric, **facts, **leads}
        rows.append(boards.rounded(row, DIGITS))
    return rows


def sentence(found: Mapping[str, Any]) -> str:
    """Return the verdict for README, report and leaderboard: a sentence, and a second one that names the agents."""
    own = found["budgets"][str(LONGEST)]
    against = {p["a"]: p for p in own["against_random"]}
    by = {verdict: [s["agent"] for s in own["standings"] if against.get(s["agent"], {}).get("verdict") == verdict]
          for verdict in ("better", "worse", "inconclusive")}  # fmt: skip
    better = by["better"]
    different = [p for p in own["pairs"] if {p["a"], p["b"]} <= {*better} and p["verdict"] != "inconclusive"]
    kept = next((w["kept"] for w in found["sensitivity"] if w["way"] == inference.FAMILIES), 0)
    probable = [b["a"] for b in found["bayes"] if b["b"] == inference.BASE and b["high"] < 0.0]
    doubted = [a for a in better if a not in probable]

    def named(agents: Sequence[str]) -> str:
        return sentences.listed([f"`{a}`" for a in agents], 99) if agents else "none"

    def count(n: int) -> str:
        return {0: "no difference is", 1: "one difference is"}.get(n, f"{n} differences are")

    leads = sorted(-against[a]["difference"][0] for a in better)
    by_how_much = f", by {leads[0]:.3f} to {leads[-1]:.3f}" if better else ""
    seeds = " to ".join(map(str, dict.fromkeys(found["seeds"])))
    return (
        f"On {found['groups']} task groups of {len(found['families'])} families, which are no random sample, with "
        f"{LONGEST} evaluations and {seeds} seeds, {len(better)} of {len(against)} optimizers have significantly lower "
        f"mean normalised regret than random search{by_how_much} (t tests over task groups, Holm over {len(against)}, "
        f"alpha = {intervals.ALPHA:g}); among these, {count(len(different))} significant; with each family as one "
        f"group, {count(kept)} significant at all; a hierarchical model that includes new model classes "
        f"{f'does not confirm the lead of {named(doubted)}' if doubted else 'confirms their leads'}. Better: "
        f"{named(better)}; worse: {named(by['worse'])}; inconclusive: {named(by['inconclusive'])}."
    )


def tables(found: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the Markdown tables of the verdict by name, each as a list of lines."""
    base = {k: {p["a"]: p for p in own["against_random"]} for k, own in found["budgets"].items()}
    bayes = {(b["a"], b["b"]): b for b in found["bayes"]}
    own = found["budgets"][str(LONGEST)]
    leader = own["standings"][0]["agent"]

    def table_of(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
        return [f"| {' | '.join(r)} |" for r in (head, ["---"] * len(head), *rows)]

    def signed(values: Sequence[float]) -> str:
        mean, low, high = values
        return f"{mean:+.3f} [{low:+.3f}, {high:+.3f}]"

    ranking = []
    for s in own["standings"]:
        a, p = s["agent"], base[str(LONGEST)].get(s["agent"])
        few = base[str(properties.BUDGETS[0])].get(a)
        b = bayes.get((a, inference.BASE))
        ranking.append([f"`{a}`", f"{s['elsewhere'][0]:.3f}"] + (
            [signed(p["difference"]), numbers.p_value(p["p_holm"]), f"{p['wilcoxon']:.2g}",
             f"{p['better_on']} of {found['groups']}",
             signed([b["mean"], b["low"], b["high"]]), signed(few["difference"]), f"{p['from_seeds']:.0%}"]
            if p and b and few else ["-"] * 7
        ))  # fmt: skip
    unsure = [[f"`{p['a']}`, `{p['b']}`", signed(p["difference"]), numbers.p_value(p["p_holm"]),
               str(p["needed"] or f"over {inference.MOST}"), f"{p['detectable']:.3f}"]
              for p in own["pairs"] if p["b"] != inference.BASE and p["verdict"] == "inconclusive"]  # fmt: skip
    ways = [[w["way"], str(w["groups"]), f"`{w['leader']}`", ", ".join(f"`{a}`" for a in w["tied"]) or "none",
             f"{w['kept']} of {w['of']}", str(w["other_sign"])] for w in found["sensitivity"]]  # fmt: skip
    pays = [[e["property"], f"{e['sd']:.2g}", signed([e["effect"], e["low"], e["high"]]), numbers.p_value(e["p"])]
            for e in found["pays"]["effects"]]  # fmt: skip
    others = []
    for name, t in found["tracks"].items():
        compared = {p["a"]: p for p in t["against_random"]}
        about = f"{name}: {t['groups']} groups, {t['environments']} tables, {t['budget']}, {t['seeds']} seeds"
        for s in t["standings"]:
            p = compared.get(s["agent"])
            tested = [signed(p["difference"]), numbers.p_value(p["p_holm"]), f"{p['better_on']}"] if p else ["-"] * 3
            others.append([about, f"`{s['agent']}`", f"{s['mean']:.3f}", *tested, f"{s['final']:.3f}"])
            about = ""
    versus = [[f"`{b['b']}`", signed([b["mean"], b["low"], b["high"]]), f"{b['better']:.3f}",
               f"{b['group']:.3f}", f"{b['model']:.3f}"] for b in found["bayes"] if b["a"] == leader]  # fmt: skip
    return {
        "ranking": table_of(["agent", "mean regret", "minus random search [95 %]", "Holm", "Wilcoxon p", "better on",
                             "hierarchical model", f"at {properties.BUDGETS[0]} evaluations", "from seeds"], ranking),
        "power": table_of(["pair", "difference [95 %]", "Holm", "groups needed", "detectable"], unsure),
        "bayes": table_of([f"`{leader}` minus", "mean [95 %]", "P(better)", "sd over groups", "over models"], versus),
        "sensitivity": table_of(["score or tasks", "groups", "leader", "tied", "pairs kept", "other sign"], ways),
        "tracks": table_of(["track", "agent", "mean regret", "minus random search [95 %]", "Holm", "better on",
                            "final regret"], others),
        "pays": table_of(["property", "one sd", "change of the lead [95 %]", "p"], pays),
    }  # fmt: skip


def filled(text: str, parts: Mapping[str, Sequence[str]]) -> str:
    """Return a Markdown page with `parts[NAME]` between each `<!-- verdict: NAME -->` and `<!-- end -->`."""

    def block(match: re.Match[str]) -> str:
        return f"{match[1]}\n" + "\n".join(parts[match[2]]) + "\n<!-- end -->"

    return re.sub(r"(<!-- verdict: (\w+) -->)\n.*?<!-- end -->", block, text, flags=re.S)


def publish() -> dict[str, Any]:
    """Write `properties.csv` and the scores (`SUMMARY`) from the committed table of runs; return the scores."""
    frame = pd.read_parquet(table.RUNS)
    rows = measured(frame)
    atomic.write_csv(properties.PROPERTIES, rows, [*rows[0]])
    properties.known.cache_clear()
    found = summary(frame)
    atomic.write(SUMMARY, json.dumps(found, indent=1) + "\n")
    return found


def state(found: Mapping[str, Any], root: Path) -> None:
    """Write the picture, the blocks of README and report below `root`, and the verdict of the leaderboard."""
    parts = {"sentence": [sentence(found)], **tables(found)}
    for page in (root / "README.md", root / "docs" / "report.md"):
        atomic.write(page, filled(page.read_text("utf-8"), parts))
    _, svg = pictures.draw(found, root / "docs" / "verdict")
    svg.unlink()  # no page shows it
    verdict = {**found, "sentence": sentence(found), "learned": atomic.read_csv(LEARNED)}
    board = boards.read(leaderboard.SUMMARY) | {"verdict": verdict}
    atomic.write_all({leaderboard.SUMMARY: gzip.compress(json.dumps(board, separators=(",", ":")).encode(), mtime=0)})


@screen.on()
def main(words: Sequence[str] | None = None) -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="?", choices=("build", "publish", "show"), default="show")
    parser.add_argument("folders", nargs="*", type=Path, help="for build: where `compare --out` wrote")
    parser.add_argument("--track", help="for build: another track than the one of the verdict")
    parser.add_argument("--root", type=Path, default=Path(), help="of the repository, for publish")
    args = parser.parse_args(words)
    if args.what == "build":
        built = table.with_track(args.track, args.folders) if args.track else table.build(args.folders)
        atomic.write_all({table.TRACKS if args.track else table.RUNS: built})
    elif args.what == "publish":
        state(publish(), args.root)
    else:
        found = json.loads(SUMMARY.read_text("utf-8"))
        print(sentence(found), *(f"\n{name}\n" + "\n".join(t) for name, t in tables(found).items()), sep="\n")


if __name__ == "__main__":
    main()
