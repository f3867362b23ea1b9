"""`hpo-envs reproduce char`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hpo_envs.benchmarks.papers.charhpo import analysis, claims, figures, optimisers
from hpo_envs.benchmarks.papers.charhpo import sweep as sw
from hpo_envs.benchmarks.papers.charhpo.analysis import Verdict
from hpo_envs.benchmarks.report import plots
from hpo_envs.tables.files import atomic

PARTS = ("tables", "claims", "figures", "optimisers")


def main(out: Path, *, trials: int | None = None, jobs: int = 1, seed: int = 0, only: str | None = None) -> int:
    """Reproduces the paper.

    Args:
        out: Folder for `summary.json` (or one named after `only`), tables and figures.
        trials: Seeds of the optimiser study, 20 by default.
        jobs: Processes of the optimiser study; the rest takes seconds.
        seed: First seed of the optimiser study.
        only: One of `PARTS`.
    """
    chosen = PARTS if only is None else (only,)
    sweeps = sw.sweeps()
    options = {"--only": only, "--trials": trials, "--seed": seed or None}
    words = [f"{name} {value}" for name, value in options.items() if value is not None]
    summary: dict[str, Any] = {"command": " ".join(["hpo-envs reproduce char", *words])}
    if "tables" in chosen:
        summary |= _tables(sweeps, out)
    if "claims" in chosen:
        summary["claims"] = _claims(sweeps, out)
    if "figures" in chosen:
        summary["figure 1"], summary["figure 2"] = figures.of_cases(), figures.boxes(sweeps)
        _draw(sweeps, out)
    if "optimisers" in chosen:
        summary["optimisers"] = _optimisers(out, trials or optimisers.TRIALS, seed, jobs)
    (out / f"{only or 'summary'}.json").write_text(json.dumps(summary, indent=1) + "\n", encoding="utf-8")
    print(f"\nwritten to {out}/")
    return 0


def _tables(sweeps: Sequence[sw.Sweep], out: Path) -> dict[str, Any]:
    """Prints and writes the verdicts; returns their summary."""
    expected = sw.expected()
    summary: dict[str, Any] = {}
    for variant in ("published", "paper"):
        found = analysis.verdicts(expected, analysis.cells(sweeps, variant))  # type: ignore[arg-type]
        counts = count(found)
        summary[f"equal cells, {variant} definitions"] = counts
        print(f"\ncells equal to the published ones, {variant} definitions")
        for table, (equal, n) in counts.items():
            print(f"  Table {table:<4} {equal:4} of {n}")
        if variant == "published":
            unequal = [v for v in found if not v.equal]
            summary["unequal cells"] = [record(v) for v in unequal]
            for v in unequal:
                print(f"  differs: Table {v.cell[0]} {' '.join(v.cell[1:])}: published {v.published}, ours {v.ours}")
            atomic.write_csv(out / "verdicts.csv", [record(v) for v in found])
            first = first_best(expected, sweeps)
            summary["rho of Table 12 with the first of the tied best runs"] = first
            print(f"  rho of Table 12 with the first of the tied best runs: {first[0]} of {first[1]}")
    return summary


def count(found: Sequence[Verdict]) -> dict[str, tuple[int, int]]:
    """For each table the number of equal cells, and of cells."""
    tables = sorted({v.cell[0] for v in found})
    mine = {t: [v.equal for v in found if v.cell[0] == t] for t in tables}
    counts = {str(t): (sum(equal), len(equal)) for t, equal in mine.items()}
    counts["all"] = (sum(map(sum, mine.values())), len(found))
    return counts


def first_best(expected: Mapping[sw.Cell, str], sweeps: Sequence[sw.Sweep]) -> tuple[int, int]:
    """How many rho of Table 12 agree when the first in the file of the tied best runs is taken, and how many there are.

    The verdicts accept any of the tied runs: which one an unstable sort returned cannot be known.
    """
    equal = [
        analysis.verdict(cell, expected[cell], [analysis.of_sweep(s, "published")["rho"][0]]).equal
        for s in sweeps
        for cell in [(12, s.task, s.lang, s.architecture, "rho")]
    ]
    return sum(equal), len(equal)


def record(v: Verdict) -> dict[str, Any]:
    """A verdict as a row of `verdicts.csv`."""
    table, task, lang, architecture, quantity = v.cell
    ours = v.ours if isinstance(v.ours, str) else float(f"{v.ours:.6g}")
    return {
        "table": table,
        "task": task,
        "lang": lang,
        "architecture": architecture,
        "quantity": quantity,
        "published": v.published,
        "ours": ours,
        "difference": "" if v.difference is None else float(f"{v.difference:.3g}"),
        "verdict": "equal" if v.equal else "differs",
    }


def _claims(sweeps: Sequence[sw.Sweep], out: Path) -> dict[str, Any]:
    summary: dict[str, Any] = {}
    for variant in ("published", "paper"):
        answers = claims.answer(sweeps, variant)  # type: ignore[arg-type]
        words = claims.verdict(answers)
        summary[variant] = words
        print(f"\nclaims, {variant} definitions, 12 pairs of task and language")
        for claim, verdict in words.items():
            print(f"  {claim}?\n    {verdict}")
        atomic.write_csv(out / f"claims_{variant}.csv", [r for rows in answers.values() for r in rows])
    return summary


def _draw(sweeps: Sequence[sw.Sweep], out: Path) -> None:
    try:
        files = figures.plot_cases(out / "figure1") + figures.plot_boxes(sweeps, out / "figure2")
    except ModuleNotFoundError as error:
        print(error)
    else:
        print("\nfigures: " + ", ".join(str(f) for f in files))


def _optimisers(out: Path, trials: int, seed: int, jobs: int) -> dict[str, Any]:
    s = optimisers.study(trials=trials, seed=seed, jobs=jobs)
    by_evaluations, by_seconds = optimisers.against_evaluations(s), optimisers.against_seconds(s)
    atomic.write_csv(out / "loss_evaluations.csv", by_evaluations)
    atomic.write_csv(out / "loss_seconds.csv", by_seconds)
    found = optimisers.rankings(s)
    check = optimisers.simulation_check(s)
    print(f"\nrandom search, {trials} runs a sweep, against its closed form: {check}")
    print("\naverage ranks over the 24 sweeps (1 = best)")
    for label, r in found.items():
        ranks = ", ".join(f"{m} {v:.2f}" for m, v in zip(r.methods, r.ranks, strict=True))
        print(f"  {label}: {ranks}; critical difference {r.difference:.2f}, Friedman p = {r.p:.2g}")
    print("\npoints below the sweep's best after 20 evaluations, mean of the sweeps")
    for name, value in list(by_evaluations[19].items())[1:]:
        print(f"  {name:26} {value:6.3f}")
    try:
        optimisers.plot(by_evaluations, by_seconds, out / "optimisers")
        for label, r in found.items():
            plots.critical_difference(r, out / f"ranking_{label.replace(' ', '_')}", label)
    except ModuleNotFoundError as error:
        print(error)
    return {
        "trials": trials,
        "closed form against simulation": check,
        "rankings": {label: r.record() for label, r in found.items()},
    }
