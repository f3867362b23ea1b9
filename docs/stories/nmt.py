"""Zhang and Duh 2020: can one compare optimisers of translation models without training any?

python docs/stories/nmt.py            (seconds; --help for options)
"""

import numpy as np
from story import COLOURS, Story, figure, options, save

from hpo_envs import run
from hpo_envs.benchmarks.analysis import forest_importance
from hpo_envs.benchmarks.papers.nmthpo import figures
from hpo_envs.tables import store
from hpo_envs.tables.datasets import nmthpo

PAIRS = tuple(nmthpo.PAIRS)
AGENTS = {
    "bo-ei-matern52": "BO, length-scale 1",
    "graph-ei-matern52": "graph, EI",
    "graph-eif-matern52": "graph, expected influence",
    "bo": "BO, fitted length-scales",
}
"""Three methods of the paper (BO_EI_M, GB_EI_M, GB_EIF_M), and the default of this suite."""


def main(arguments=None):
    """Tell the story; return its verdicts."""
    args = options(__doc__, 20, arguments)
    tables = [store.load(f"nmthpo/{p}") for p in PAIRS]
    story = Story("Six tables of translation models")
    rows = sum(map(len, tables))
    story.say(f"""Training one translation model takes 17 GPU hours, so papers on hyperparameter optimisation rarely
        try it. Zhang and Duh trained {rows} of them once and published a table per language pair. Looking a model up
        takes microseconds: this page makes {len(AGENTS) * len(PAIRS) * args.seeds} searches, each until it has
        found the best model of its table.""")

    by_pair = dict(zip(PAIRS, tables, strict=True))
    correlation, common = figures.correlations(by_pair), len(figures.common_configurations(by_pair)["jaen"])
    near, far = correlation[2, 3], correlation[2, 5]
    story.claim(
        "good configurations are not always good across data sets (figure 4)",
        far < 0.5 < near,
        f"Over the {common} configurations that all six pairs have, BLEU ranks correlate at {near:.2f} between ja-en "
        f"and en-ja, which share their data, and at {far:.2f} between ja-en and so-en.",
    )

    found = [forest_importance.importance(*forest_importance.of_table(t, "bleu")) for t in tables]
    names, shares = found[0].names, np.array([f.main for f in found])
    top = [names[i] for i in shares.argmax(axis=1)]
    story.claim(
        "which hyperparameter matters most depends on the data set (section 3.5)",
        len(set(top)) > 1,
        "Largest main effect: " + ", ".join(f"{p} {t} ({s.max():.0%})" for p, t, s in zip(PAIRS, top, shares,
        strict=True)) + " of the variance.",
    )  # fmt: skip

    # The paper's fixed-target best (ftb): models trained until the best one is.
    tops = [t.final("bleu").max() for t in tables]
    each = [*zip(PAIRS, tables, tops, strict=True)]

    def lengths(agent, pair, table, top):
        given = {"budget": len(table), "target": lambda row, bleu: bleu >= top}
        return [len(r) for r in run(agent, f"NMTHPO-{pair}-v0", range(args.seeds), **given)]

    ftb = {a: np.array([lengths(a, *one) for one in each]) for a in AGENTS}
    # Random search needs no simulation: the first of k best among n models is at (n + 1) / (k + 1) on average.
    chance = np.array([(len(t) + 1) / ((t.final("bleu") == top).sum() + 1) for _, t, top in each])
    mean = {a: n.mean(axis=1) for a, n in ftb.items()}
    print(f"\nModels trained until the best one is (mean of {args.seeds} searches; random search: exact)")
    print(f"{'':26}" + "".join(f"{p:>8}" for p in PAIRS))
    print(f"{'models in the table':26}" + "".join(f"{len(t):8}" for t in tables))
    print(f"{'random search':26}" + "".join(f"{n:8.1f}" for n in chance))
    for a, label in AGENTS.items():
        print(f"{label:26}" + "".join(f"{n:8.1f}" for n in mean[a]))

    swen = PAIRS.index("swen")
    share = mean["bo-ei-matern52"][swen] / chance[swen]
    story.claim(
        "on sw-en, BO_EI_M takes only 10 % of the time of random search to reach the best model (section 6.1.2)",
        share <= 0.2,
        f"It takes {share:.0%}: {mean['bo-ei-matern52'][swen]:.0f} models instead of {chance[swen]:.0f}.",
    )
    graph = np.minimum(mean["graph-ei-matern52"], mean["graph-eif-matern52"])
    ahead = int((graph < mean["bo-ei-matern52"]).sum())
    story.claim(
        "the better graph-based search finds the best model before BO does on four of the six pairs (section 6.1.2)",
        ahead >= 4,
        f"It does on {ahead}: " + ", ".join(f"{p} {g:.0f} against {b:.0f}" for p, g, b in zip(PAIRS, graph,
        mean["bo-ei-matern52"], strict=True)) + ".",
    )  # fmt: skip
    fitted = int((mean["bo"] < mean["bo-ei-matern52"]).sum())
    eif = int((mean["graph-eif-matern52"] < mean["graph-ei-matern52"]).sum())
    story.say(f"""What differs. The paper's Gaussian process takes raw BLEU and length-scales of 1. With
        standardised BLEU and fitted length-scales it is faster on {fitted} of 6 pairs here, so that "BO" is as
        good as its settings. The paper's own acquisition, expected influence, beats EI on the graph on {eif} of 6;
        its published numbers could be reproduced in part only (docs/agents-nmt.md says what was tried). On zh-en
        three measured models tie for the best, and any of them ends a search here; the paper looks for one of
        them.""")

    drawn, (left, right) = figure(2)
    sizes = np.array([len(t) for t in tables])
    shares_of = {"random search": 100 * chance / sizes} | {AGENTS[a]: 100 * n / sizes for a, n in mean.items()}
    order = sorted(shares_of, key=lambda label: -shares_of[label].mean())
    for y, label in enumerate(reversed(order)):
        colour = "0.6" if label == "random search" else COLOURS[0]
        left.barh(y, shares_of[label].mean(), color=colour, height=0.6)
        left.plot(shares_of[label], [y] * len(PAIRS), "o", color="k", markersize=3)
    left.set_yticks(range(len(order)), order[::-1])
    model, chosen = (shares_of[label].mean() for label in (AGENTS["bo"], "random search"))
    title = f"To find the best model, BO (fitted) trains {model:.0f} %\nof the models, random search {chosen:.0f} %"
    left.set_title(title)
    left.set(xlabel="% of the models trained (dots: language pairs)", xlim=(0, None))
    right.imshow(shares, cmap="cividis", aspect="auto", vmin=0)
    for (row, column), share in np.ndenumerate(shares):
        colour = "black" if share > np.max(shares) / 2 else "white"
        right.text(column, row, f"{100 * share:.0f}", ha="center", va="center", color=colour)
    right.set_xticks(range(len(names)), names, rotation=30)
    right.set_yticks(range(len(PAIRS)), [f"{p[:2]}-{p[2:]}" for p in PAIRS])
    most = max(set(top), key=top.count)
    right.set_title(f"{most} matters most on {top.count(most)} of {len(PAIRS)} language pairs\n(% of BLEU's variance)")
    save(drawn, args.out, "nmt")
    return story.verdicts


if __name__ == "__main__":
    main()
