"""`hpo-envs reproduce nmthpo`: Tables 3 and 4, the claims of section 6, figures, and what goes beyond the paper."""

from __future__ import annotations

import functools
import time
from collections.abc import Sequence

from hpo_envs.benchmarks.papers import common
from hpo_envs.benchmarks.papers.common import Record, Reproduction
from hpo_envs.benchmarks.papers.nmthpo import analysis, automl2022, figures, settings, tables
from hpo_envs.tables import store
from hpo_envs.tables.datasets.nmthpo import PAIRS

MISSING = "Figure 8 (retraining with other seeds) is not here: those runs are not in the published data."


def table(number: int, r: Reproduction) -> None:
    """Table 3 or 4, and the claims of section 6 on it."""
    start = time.perf_counter()
    entries = analysis.entries(settings.scores(r, settings.tasks(number), f"table {number}"))
    seconds = time.perf_counter() - start
    rows = [record(e) for e in entries]
    r.write(f"table{number}", rows)
    trials = len(r.seeds(settings.TRIALS))
    common.show(f"Table {number}, {trials} trials, {seconds:.0f} s with {r.jobs} process(es)", rows)
    print("z: difference in combined standard errors, sqrt(published_std^2/100 + our_std^2/trials), after the half")
    print("unit that printing may have rounded away; 'agrees' is |z| <= 2.")
    printed = [e for e in entries if e.z is not None]
    few = f"Of {trials} trials: too few to judge." if trials < settings.ENOUGH else ""
    for e in printed:
        published, ours = f"{e.published:g} ± {e.published_std:g}", f"{e.mean:.4g} ± {e.std:.3g}"
        quantity, verdict = f"{e.pair} {e.method} {e.score}", "reported" if few else e.verdict
        r.compare_published(f"Table {number}", quantity, published, ours, verdict, few)
    print(f"\nTable {number}: {agreeing(printed)} of {len(printed)} published means within two standard errors")
    for method in dict.fromkeys(e.method for e in printed):
        here = [e for e in printed if e.method == method]
        print(f"  {method:14} {agreeing(here):2d} of {len(here)}")
    sizes = {pair: len(store.load(f"nmthpo/{pair}").keys) for pair in PAIRS}
    claims = analysis.claims(entries, sizes)
    print("\nClaims of section 6")
    for claim in claims:
        print(f"  {claim.verdict:6} {claim.text}: {claim.evidence}")
    r.write_json(f"claims{number}", [{"claim": c.text, "verdict": c.verdict, "evidence": c.evidence} for c in claims])


def agreeing(entries: Sequence[analysis.Entry]) -> int:
    """Number of agreeing values."""
    return sum(e.verdict == "agrees" for e in entries)


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
    "table3": functools.partial(table, 3),
    "table4": functools.partial(table, 4),
    "figures": draw,
    "automl2022": automl2022.run,
}

PRINTED = ("tables", "table3", "table4", "figures")
"""Parts with published numbers and figures, for `hpo-envs reproduce all`."""

QUICK = 2
"""Trials of `--quick`."""

main = functools.partial(common.reproduce, "nmthpo", PARTS)
