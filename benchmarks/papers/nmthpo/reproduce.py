"""`hpo-envs reproduce nmthpo`: Tables 3 and 4, the claims of section 6, figures, and the AutoML-2022 competition."""

from __future__ import annotations

import functools

from hpo_envs.benchmarks.papers import common
from hpo_envs.benchmarks.papers.common import Record, Reproduction
from hpo_envs.benchmarks.papers.nmthpo import analysis, automl2022, figures, settings, tables
from hpo_envs.tables import store
from hpo_envs.tables.datasets.nmthpo import PAIRS

MISSING = "Figure 8 (retraining with other seeds) is not here: those runs are not in the published data."


def _table(number: int, r: Reproduction) -> list[Record]:
    """Table 3 or 4; the claims of section 6 on it are printed, and written as `claims3.csv` or `claims4.csv`."""
    entries = analysis.entries(settings.scores(r, settings.tasks(number), f"table {number}"))
    trials = len(r.seeds(settings.TRIALS))
    few = f"Of {trials} trials: too few to judge." if trials < settings.ENOUGH else ""
    for e in entries:
        if e.z is not None:
            published, ours = f"{e.published:g} ± {e.published_std:g}", f"{e.mean:.4g} ± {e.std:.3g}"
            quantity, verdict = f"{e.pair} {e.method} {e.score}", "reported" if few else e.verdict
            r.compare_published(f"Table {number}", quantity, published, ours, verdict, few)
    sizes = {pair: len(store.load(f"nmthpo/{pair}").keys) for pair in PAIRS}
    claims = [vars(claim) for claim in analysis.claims(entries, sizes)]
    common.show("Claims of section 6", claims)
    r.write(f"claims{number}", claims)
    return [record(e) for e in entries]


def table3(r: Reproduction) -> list[Record]:
    """Targets of one objective; z is the difference in combined standard errors, beyond rounding."""
    return _table(3, r)


def table4(r: Reproduction) -> list[Record]:
    """Targets of two objectives; z is the difference in combined standard errors, beyond rounding."""
    return _table(4, r)


def record(e: analysis.Entry) -> Record:
    """An entry as a row of `table3.csv` or `table4.csv`."""
    return {
        "table": e.table,
        "pair": e.pair,
        "method": e.method,
        "score": e.score,
        "mean": f"{e.mean:.4f}",
        "std": f"{e.std:.4f}",
        "trials": e.trials,
        "published": e.published,
        "published_std": e.published_std,
        "z": "" if e.z is None else f"{e.z:.2f}",
        "verdict": e.verdict,
    }


def draw(r: Reproduction) -> None:
    """Figures 1 and 4 to 7."""
    figures.draw(r.out, list(r.seeds(settings.TRIALS)))
    print(MISSING)


PARTS: common.Parts = {
    "tables": tables.run,
    "table3": table3,
    "table4": table4,
    "figures": draw,
    "automl2022": automl2022.run,
}

QUICK = 2
"""Trials of `--quick`."""

main = functools.partial(common.reproduce, "nmthpo", PARTS)
