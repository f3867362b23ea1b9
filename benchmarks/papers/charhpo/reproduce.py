"""`hpo-envs reproduce charhpo`."""

from __future__ import annotations

import functools

from hpo_envs.benchmarks.papers import common
from hpo_envs.benchmarks.papers.charhpo import analysis, figures, settings
from hpo_envs.benchmarks.papers.common import Record, Reproduction


def tables(r: Reproduction) -> Record:
    """Print and write the verdict on every published value; return their summary."""
    expected = settings.expected()
    summary: Record = {}
    for variant in ("published", "paper"):
        entries = analysis.entries(expected, analysis.values(settings.sweeps(), variant))
        counts = count(entries)
        summary[f"values that agree, {variant} definitions"] = counts
        print(f"\nvalues that agree with the published ones, {variant} definitions")
        for table, (agree, n) in counts.items():
            print(f"  Table {table:<4} {agree:4} of {n}")
        if variant == "published":
            apart = [e for e in entries if e.verdict != "agrees"]
            summary["values that differ"] = [record(e) for e in apart]
            for e in apart:
                print(f"  differs: Table {e.key[0]} {' '.join(e.key[1:])}: published {e.published}, ours {e.ours}")
            r.write("verdicts", [record(e) for e in entries])
            for e in entries:
                ours = e.ours if isinstance(e.ours, str) else f"{e.ours:.6g}"
                r.compare_published(
                    f"Table {e.key[0]}", " ".join(filter(None, e.key[1:])), e.published, ours, e.verdict
                )
            first = first_best()
            summary["rho of Table 12 with the first of the tied best runs"] = first
            print(f"  rho of Table 12 with the first of the tied best runs: {first[0]} of {first[1]}")
    return summary


def count(entries: list[analysis.Entry]) -> dict[str, tuple[int, int]]:
    """Number of agreeing and of all values of each table."""
    counts = {}
    for table in sorted({e.key[0] for e in entries}):
        here = [e.verdict == "agrees" for e in entries if e.key[0] == table]
        counts[str(table)] = sum(here), len(here)
    counts["all"] = sum(agree for agree, _ in counts.values()), len(entries)
    return counts


def first_best() -> tuple[int, int]:
    """Number of agreeing and of all rho of Table 12 with the first of the tied best runs.

    The verdicts accept any of the tied runs: which one an unstable sort returned cannot be known.
    """
    expected = settings.expected()
    agree = [
        analysis.entry(key, expected[key].text, [analysis.of_sweep(s, "published")["rho"][0]]).verdict == "agrees"
        for s in settings.sweeps()
        for key in [(12, s.task, s.lang, s.architecture, "rho")]
    ]
    return sum(agree), len(agree)


def record(e: analysis.Entry) -> Record:
    """An entry as a row of `verdicts.csv`."""
    names = ("table", "task", "lang", "architecture", "quantity")
    return {
        **dict(zip(names, e.key, strict=True)),
        "published": e.published,
        "ours": e.ours if isinstance(e.ours, str) else float(f"{e.ours:.6g}"),
        "difference": "" if e.difference is None else float(f"{e.difference:.3g}"),
        "verdict": e.verdict,
    }


def draw(r: Reproduction) -> Record:
    """Figures 1 and 2."""
    sweeps = settings.sweeps()
    common.drawn(lambda: figures.plot_cases(r.out / "figure1") + figures.plot_boxes(sweeps, r.out / "figure2"))
    return {"figure 1": figures.of_cases(), "figure 2": figures.boxes(sweeps)}


PARTS: common.Parts = {"tables": tables, "figures": draw}

PRINTED = tuple(PARTS)
"""Parts with published numbers and figures, for `hpo-envs reproduce all`."""

QUICK = 1
"""Trials of `--quick`; nothing here is drawn."""

main = functools.partial(common.reproduce, "charhpo", PARTS, finish=common.write_summary)
