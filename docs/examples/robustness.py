"""Do verdicts across languages depend on how runs are scored and averaged?

    hpo-envs leaderboard run --help                            # how to get runs of a family
    python docs/examples/robustness.py RUNS                                   # of CharMini, with 20 evaluations
    python docs/examples/robustness.py RUNS/setting-2 RUNS/guests-2           # with 40, and with other packages
    python docs/examples/robustness.py RUNS --without eng learned-policy --family CharMiniLC

One line for each way to score the same runs: the agent with the lowest mean, the agents tied with it, and how
many of the default's significant pairs (Holm's correction over all pairs) have the same verdict, and how many
the opposite. Then, for each pair without a significant difference, how many task groups would have made it
significant, if mean and deviation stayed as they are. Then, for each pair of agents, how much languages and seeds vary.
"""

import argparse
import itertools
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import rankdata, t, trim_mean

from hpo_envs import SPECS, Comparison
from hpo_envs.benchmarks.analysis import intervals, significance
from hpo_envs.benchmarks.comparison.scored import Scores
from hpo_envs.families.registry import held_out_of

MOST = 1000
"""Task groups beyond which no number is given."""


def curves(folders: Sequence[Path], family: str, without: Collection[str] = ()) -> tuple[list[str], list[str], Any]:
    """Environments, agents, and (agents, environments, seeds, points) regret of the seeds that all have.

    Points are evaluations, or fiftieths of the budget where evaluations differ in cost.
    """
    scores = Scores()
    for k, block in enumerate(Comparison.load(*folders).blocks()):
        name, *parts = block.header["env"].split("-")
        if name == family and not {*parts, block.header["agent"]} & {*without}:
            scores.add(block, (k,))
    scored = scores.scored()
    envs, agents = sorted(scored), [*next(iter(scored.values()))]
    every = [runs for by in scored.values() for runs in by.values()]
    count, lengths = min(len(runs.seeds) for runs in every), {runs.evaluations.shape[1] for runs in every}
    points = "evaluations" if len(lengths) == 1 else "shares"
    return envs, agents, np.stack([[getattr(scored[e][a], points)[:count] for e in envs] for a in agents])


def languages(envs: Sequence[str]) -> list[str]:
    """Language of each environment: what is random here, although it makes no task group of its own."""
    return [held_out_of(SPECS[env.partition(" ")[0]].tables)[0] for env in envs]


def components(differences: Any, envs: Sequence[str]) -> tuple[float, float, float]:
    """Mean of (environments, seeds) differences, standard deviations over languages and over seeds of a language.

    A negative estimate of the variance over languages counts as 0.
    """
    labels = np.array(languages(envs))
    apart = np.stack([differences[labels == k].mean(axis=0) for k in dict.fromkeys(labels.tolist())])
    seeds = float(apart.var(axis=1, ddof=1).mean())
    over = float(apart.mean(axis=1).var(ddof=1)) - seeds / apart.shape[1]
    return float(apart.mean()), max(over, 0.0) ** 0.5, seeds**0.5


def shared(regret: Any, start: int) -> Any:
    """Regret of agents that all begin with the first configuration of one of them."""
    return np.minimum(regret, regret[start, :, :, :1])


def ways(regret: Any, agents: list[str]) -> Mapping[str, Callable[[], Any]]:
    """Names and (agents, environments, seeds) scores; lower is better."""
    start = agents.index("random")
    return {
        "mean regret": lambda: regret.mean(axis=-1),
        "interquartile mean of seeds": lambda: trim_mean(regret.mean(axis=-1), 0.25, axis=-1)[..., None],
        "rank": lambda: rankdata(regret.mean(axis=-1), axis=0),
        "final regret": lambda: regret[..., -1],
        "without the first evaluation": lambda: regret[..., 1:].mean(axis=-1),
        "same first evaluation": lambda: shared(regret, start).mean(axis=-1),
    }


def judge(scores: Any, envs: list[str], agents: list[str], part: str = "") -> dict[str, Any]:
    """`significance.judged` of the environments whose names contain a part."""
    some = [i for i, env in enumerate(envs) if part in env]
    by_agent = {a: own[some] for a, own in zip(agents, scores, strict=True)}
    return significance.judged(by_agent, languages([envs[i] for i in some]))


def line(name: str, found: Mapping[str, Any], default: Mapping[str, Any]) -> str:
    """A line of the table."""
    known = [p for p in default["pairs"] if p["there"]["p_holm"] < intervals.ALPHA]
    now = [significance.against(found["pairs"], p["a"], p["b"])["there"]["verdict"] for p in known]  # type: ignore[index]
    same = sum(v == p["there"]["verdict"] for v, p in zip(now, known, strict=True))
    turned = sum({v, p["there"]["verdict"]} == {"better", "worse"} for v, p in zip(now, known, strict=True))
    first = min(found["standings"], key=lambda s: s["elsewhere"][0])["agent"]
    tied = [s["agent"] for s in found["standings"] if s["there"] == significance.TIED and s["agent"] != first]
    several = f"{len(tied)}: {', '.join(tied[:6])}{', ...' if len(tied) > 6 else ''}" if tied else "none"
    return f"| {name} | `{first}` | {several} | {same} of {len(known)} | {turned} |"


def needed(difference: float, deviation: float, pairs: int = 1) -> int | None:
    """Task groups from which a mean difference is significant among many pairs, if its deviation over groups stays."""
    groups = np.arange(2, MOST + 1)
    level = 1.0 - intervals.ALPHA / 2 / pairs  # Bonferroni's: Holm's depends on the other pairs
    enough = abs(difference) > t.ppf(level, groups - 1) * deviation / np.sqrt(groups)
    return int(groups[enough.argmax()]) if enough.any() else None


def main(argv: list[str] | None = None) -> int:
    """Print the table, and the groups needed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", type=Path, nargs="+", metavar="RUNS", help="folders of runs that have one budget")
    parser.add_argument("--family", default="CharMini", help="of the environments (default: %(default)s)")
    parser.add_argument("--without", nargs="*", default=[], metavar="NAME", help="languages or agents to leave out")
    args = parser.parse_args(argv)
    envs, agents, regret = curves(args.folders, args.family, args.without)
    scores = {name: make() for name, make in ways(regret, agents).items()}
    found = {name: judge(matrix, envs, agents) for name, matrix in scores.items()}
    default = found["mean regret"]
    models = sorted({env.split("-")[2] for env in envs})
    found |= {f"mean regret, {m} only": judge(scores["mean regret"], envs, agents, f"-{m}-") for m in models}
    print(f"{len(agents)} agents, {len(envs)} environments, {default['groups']} groups, {regret.shape[2]} seeds\n")
    print("| score | leader | tied with it | significant pairs kept | reversed |\n|---|---|---|---|---|")
    print(*(line(name, judged, default) for name, judged in found.items()), sep="\n")
    print("\n| pair without significant difference | difference | groups needed |\n|---|---|---|")
    for p in default["pairs"]:
        if p["there"]["p_holm"] >= intervals.ALPHA:
            a, b = (scores["mean regret"][agents.index(p[k])] for k in "ab")
            apart = intervals.across_tasks(a - b, languages(envs))
            groups = needed(float(apart.mean), float(apart.se) * default["groups"] ** 0.5, len(default["pairs"]))
            print(f"| `{p['a']}`, `{p['b']}` | {apart.mean:.3f} | {groups or f'over {MOST}'} |")
    print("\n| pair | models | mean difference | deviation over languages | over seeds |\n|---|---|---|---|---|")
    for (i, a), (j, b) in itertools.combinations(enumerate(agents), 2):
        for models_of in (*models, ""):
            some = [k for k, env in enumerate(envs) if f"-{models_of}" in env]
            apart = scores["mean regret"][i, some] - scores["mean regret"][j, some]
            numbers = " | ".join(f"{x:.3f}" for x in components(apart, [envs[k] for k in some]))
            print(f"| `{a}`, `{b}` | {models_of or 'all'} | {numbers} |")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
