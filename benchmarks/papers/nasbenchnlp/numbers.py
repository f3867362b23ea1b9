"""Every published number of the paper, compared with ours if released data give one.

Among them are those of section 4: prediction of divergence and final loss from the features of an architecture.
"""

import numpy as np
import numpy.typing as npt
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.metrics import roc_auc_score

from hpo_envs.benchmarks.papers import common
from hpo_envs.benchmarks.papers.common import Reproduction
from hpo_envs.benchmarks.papers.nasbenchnlp import analysis, settings
from hpo_envs.tables import cells, store
from hpo_envs.tables.cells import grammar, recipe
from hpo_envs.tables.datasets.nasbenchnlp import TRAINING
from hpo_envs.tables.frames import natural
from hpo_envs.tables.table import STATUSES, Floats, Table

WIKITEXT2, FINAL, PTB = "nasbenchnlp/wikitext2", "nasbenchnlp/ptb-final", "nasbenchnlp/ptb"

Key = tuple[str, str]
"""Place in the paper and quantity."""

Range = tuple[float, float, float]
"""Our number, and both ends of its range over random halves."""

NEEDS = {
    "texts": "The texts: data/datasets.zip of the release.",
    "logs": "The logs on PTB: hpo-envs fetch nasbenchnlp-ptb-logs.",
    "features": "The logs on PTB: hpo-envs fetch nasbenchnlp-ptb-logs. Features of 14,322 recipes are released.",
    "weights": "The weights of the models, which upstream's README links (Dropbox), and the texts of the tasks.",
    "awd-lstm": "A default of salesforce/awd-lstm-lm.",
    "glue": "Printed as taken from the paper that introduces GLUE, arXiv:1804.07461.",
    "method": "An estimate whose method was not released.",
    "clusters": "The clusters are of correlations with word similarity, from the weights that upstream's README links.",
}
"""Column `needs` of `expected.csv` -> the missing data, and where they are."""

LIMIT = 6.0
"""Log perplexity up to which section 4 repeats its regression of the loss."""

TREES = {"max_iter": 100, "learning_rate": 0.1, "max_depth": 6}
"""Gradient boosting in place of the paper's XGBoost: histogram-based, 100 rounds of depth 6 at rate 0.1."""


def of_tables(final: Table, curves: Table) -> dict[Key, float]:
    """Return the numbers from the final losses on PTB and the curves on WikiText-2, whose recipes are parsed."""
    for name in curves.keys:
        recipe.Cell.from_text(name.split("#")[0])
    losses = final.values[:, :, -1, final.metric("test_loss")]
    runs = np.isfinite(losses) | (final.status == STATUSES.index("diverged"))
    found: dict[Key, float] = {
        ("Table 1", "PTB vocabulary"): cells.VOCABULARY["ptb"],
        ("Table 1", "WikiText-2 vocabulary"): cells.VOCABULARY["wikitext2"],
        ("section 3", "nodes at most"): recipe.MAX_NODES,
        ("section 3", "hidden states at most"): recipe.MAX_HIDDEN,
        ("section 3", "linear inputs at most"): grammar.SLOTS,
        ("section 3", "architectures trained three times"): len(final),
        ("section 3", "architectures on WikiText-2"): len(curves),
        ("section 3", "conventional cells"): len(cells.EXAMPLES),
        ("section 3", "epochs"): float(curves.levels[-1]),
        **{("section 3", name.replace("_", " ")): value for name, value in TRAINING.items()},
        ("section 4", "share of flawed architectures"): float(np.isnan(losses[runs]).mean()),
        ("figure 7", "pairs"): settings.PAIRS,
        ("section 5", "trials"): settings.TRIALS,
    }
    for name, cell in cells.EXAMPLES.items():
        found["Table 2", f"{name} parameters"] = cells.parameters(cell, cells.VOCABULARY["ptb"])
    for name, top in zip(("Top-2", "Top-4"), analysis.top_architectures(final, 2), strict=True):
        found["Table 2", f"{name} parameters"] = common.Published(top["parameters"]).value
        found["Table 2", f"{name} perplexity"] = top["test_perplexity"]
    return found


def of_logs(curves: Table) -> dict[Key, float]:
    """Return the numbers from the full logs on PTB."""
    best, diverged = analysis.of_cells(curves), curves.status == STATUSES.index("diverged")
    return {
        ("section 3", "architectures on PTB"): len(curves),
        ("section 4", "share of flawed architectures"): float(diverged.any(axis=1).mean()),
        ("section 5", "lowest test log perplexity"): analysis.lowest(curves),
    } | {
        ("Table 2", f"{name} perplexity"): float(np.exp(best[key]))
        for name, cell in cells.EXAMPLES.items()
        if (key := cells.key(cell)) in best
    }


def half_splits(
    n: int, count: int, seed: int, strata: npt.NDArray[np.bool_] | None = None
) -> list[npt.NDArray[np.bool_]]:
    """Return `count` random halves of n rows, as (n,) masks of the training half; stratified by `strata`, if given."""
    rng = np.random.default_rng(seed)
    halves = []
    for _ in range(count):
        mask = np.zeros(n, bool)
        for part in [np.arange(n)] if strata is None else [np.flatnonzero(strata), np.flatnonzero(~strata)]:
            mask[rng.permutation(part)[: len(part) // 2]] = True
        halves.append(mask)
    return halves


def auc_of_divergence(features: Floats, diverged: npt.NDArray[np.bool_], splits: int, seed: int) -> Floats:
    """Return the (splits,) ROC AUC of a classifier of divergence, trained on one half and tested on the other."""
    scores = []
    for train in half_splits(len(features), splits, seed, diverged):
        model = HistGradientBoostingClassifier(random_state=0, **TREES).fit(features[train], diverged[train])
        scores.append(roc_auc_score(diverged[~train], model.predict_proba(features[~train])[:, 1]))
    return np.array(scores)


def r2_of_loss(features: Floats, loss: Floats, splits: int, seed: int) -> tuple[Floats, Floats, Floats]:
    """Return the (splits,) R2 of a regression of the loss, and true and predicted losses of the first test half."""
    scores, first = [], (np.zeros(0), np.zeros(0))
    for i, train in enumerate(half_splits(len(features), splits, seed)):
        model = HistGradientBoostingRegressor(random_state=0, **TREES).fit(features[train], loss[train])
        true, predicted = loss[~train], model.predict(features[~train])
        scores.append(1.0 - ((true - predicted) ** 2).sum() / ((true - true.mean()) ** 2).sum())
        first = (true, predicted) if i == 0 else first
    return np.array(scores), *first


def interval(values: Floats) -> tuple[float, float, float]:
    """Return the mean and both ends of the central 95 % of values over splits, rounded to three decimals."""
    low, high = np.quantile(values, [0.025, 0.975])
    return round(float(values.mean()), 3), round(float(low), 3), round(float(high), 3)


def feature_checks(table: Table, splits: int, seed: int) -> dict[str, tuple[float, float, float]]:
    """Return mean, low and high of each check of section 4 on a table's features: AUC of divergence, R2 of the loss.

    Each architecture counts once; the R2 is also computed for losses of at most `LIMIT` alone.
    """
    x, diverged = table.features, np.array([(s == 2).any() for s in table.status])
    loss = table.final("test_loss")
    known = ~np.isnan(loss) & ~diverged
    found = {"auc_diverged": interval(auc_of_divergence(x, diverged, splits, seed))}
    for name, chosen in (("r2_loss", known), (f"r2_loss<={LIMIT:g}", known & (loss <= LIMIT))):
        found[name] = interval(r2_of_loss(x[chosen], loss[chosen], splits, seed)[0])
    return found


def compare(r: Reproduction) -> None:
    """Compare every published number with ours, or note the data that it needs."""
    final = natural(store.load(FINAL))
    ours: dict[Key, float | Range] = {**of_tables(final, natural(store.load(WIKITEXT2)))}
    if not store.missing(PTB):
        ours |= of_logs(store.load(PTB))
    ours |= {("section 4", name): found for name, found in feature_checks(final, r.trials or 20, r.seed).items()}
    for (where, quantity), p in common.expected("nasbenchnlp").items():
        value = ours.get((where, quantity))
        if value is None:
            never = p.details["needs"] == "method"
            without: common.Verdict = "never published" if never else "not at hand"
            r.compare_published(where, quantity, p.text, "", without, NEEDS[p.details["needs"]])
        else:
            mean, *ends = value if isinstance(value, tuple) else (value, value)
            r.compare_published(where, quantity, p.text, f"{mean:.6g}", p.judge(*ends))
