"""The paper's tables and figures again, with a verdict on every published number, and what the paper did not test."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from hpo_envs.benchmarks.papers.fiesta import analysis, sweep
from hpo_envs.benchmarks.papers.fiesta.select import select

COLUMNS = ("where", "row", "delta", "quantity", "published", "ours", "error", "runs", "verdict")
Row = dict[str, Any]


class Study:
    """One reproduction: where results go, and how much is run.

    Args:
        out: Folder for results.
        trials: Runs of each row; None takes the paper's number.
        jobs: Processes.
        seed: First seed.
    """

    def __init__(self, out: Path, trials: int | None, jobs: int, seed: int) -> None:
        self.out, self.trials, self.jobs, self.seed = out, trials, jobs, seed
        self.rows: list[Row] = []

    def seeds(self, usual: int) -> range:
        """The seeds of a row that the paper ran `usual` times."""
        return range(self.seed, self.seed + (self.trials or usual))

    def select(self, setting: sweep.Setting, usual: int, **options: Any) -> analysis.Selections:
        """Plays a setting under a progress bar."""
        seeds = self.seeds(usual)
        with tqdm(total=len(seeds), desc=setting.name, leave=False, unit="run") as bar:
            return select(setting, seeds, jobs=self.jobs, progress=bar.update, **options)

    def add(self, where: str, row: str, delta: float | None, quantity: str, ours: float, **more: Any) -> None:
        """Notes one number, beside the published one if there is one."""
        known = expected().get((where.partition(":")[0], row, delta, quantity))
        error, runs = more.get("error", float("nan")), more.get("runs", 0)
        said = more.get("verdict")
        if said is None:
            said = "" if known is None else _judge(quantity, ours, error, known, runs)
        self.rows.append(
            dict(zip(COLUMNS, (where, row, delta, quantity, known and known[0], ours, error, runs, said), strict=True))
        )

    def add_summary(self, where: str, row: str, delta: float | None, found: analysis.Selections) -> None:
        """Notes least, mean and most evaluations and the share of right selections."""
        for quantity, (value, error) in found.summary().items():
            self.add(where, row, delta, quantity, value, error=error, runs=len(found))


def table1(study: Study) -> None:
    """The schedule of sequential halving: four models, sixteen evaluations."""
    from hpo_envs.agents.bandits.elimination import halving_schedule

    for i, (_, each) in enumerate(halving_schedule(4, 16), start=1):
        study.add("Table 1", f"round {i}", None, "evaluations", float(each))


def table2(study: Study) -> None:
    """Evaluations to a confidence: non-adaptive and TTTS."""
    _levels(study, "Table 2", sweep.TABLE_2)


def table3(study: Study) -> None:
    """The same for batch Thompson sampling."""
    _levels(study, "Table 3", sweep.TABLE_3)


def uncounted(study: Study) -> None:
    """Tables 2 and 3 as the authors' notebook counts: five evaluations of each model first, counted as three."""
    for setting in sweep.UNCOUNTED:
        where = "Table 3" if setting.agent == "bts" else "Table 2"
        _levels(study, f"{where}: five first, counted as three", (setting,))


def figure4(study: Study) -> None:
    """Right selections by budget: sequential halving and non-adaptive on twelve models."""
    env = "FIESTA-tdsa12-v0"
    for budget in sweep.FIGURE_4_BUDGETS:
        for agent in ("sh", "nonadaptive"):
            found = study.select(
                sweep.Setting(f"{agent}, T={budget}", agent, env), sweep.FIGURE_4_TRIALS, budget=budget
            )
            value, error = found.summary()["correct"]
            named = budget == sweep.NAMED_BUDGET
            study.add(
                "Figure 4",
                agent if named else f"{agent}, T={budget}",
                None,
                "correct",
                value,
                error=error,
                runs=len(found),
            )
    # Section 4.1 says floor(log2 N) rounds; Algorithm 1 divides by ceil(log2 N).
    floor = sweep.Setting("sh", "sh", env, hyperparameters={"rounds": "floor", "total": sweep.NAMED_BUDGET})
    found = study.select(floor, sweep.FIGURE_4_TRIALS, budget=2 * sweep.NAMED_BUDGET)
    for quantity in ("correct", "mean"):
        value, error = found.summary()[quantity]
        label = "Figure 4: budget cut into floor(log2 N) parts"
        study.add(label, "sh", None, quantity, value, error=error, runs=len(found))


def complexity(study: Study) -> None:
    """H of appendix A for each set of arms."""
    from hpo_envs.tables import store

    for name, metric in (("tdsa8", "f1"), ("tdsa12", "f1"), ("ner", "test_f1"), ("gaussian", "score")):
        study.add("Appendix A", name, None, "H", analysis.complexity(store.load(f"fiesta/{name}").final(metric)))


def figure1(study: Study) -> None:
    """Section 2: how often the better recogniser wins on one split, on one seed, and over both."""
    from hpo_envs.tables import store
    from hpo_envs.tables.datasets.fiesta.build import NER_SEEDS, NER_SPLITS

    x = store.load("fiesta/ner").values[:, :, 0, 0].reshape(2, NER_SPLITS, NER_SEEDS)
    study.add("Figure 1", "all runs", None, "mean F1 of lstm minus cnn", float(x[1].mean() - x[0].mean()))
    for i in range(3):
        study.add("Figure 1", f"split {i}", None, "mean F1 of lstm minus cnn", float(x[1, i].mean() - x[0, i].mean()))
    wins = {
        "one split, its five seeds": (x[1].mean(axis=1) > x[0].mean(axis=1)).mean(),
        "one split and seed": (x[1] > x[0]).mean(),
        "one seed, all splits": (x[1].mean(axis=0) > x[0].mean(axis=0)).mean(),
    }
    for row, share in wins.items():
        study.add("Figure 1", row, None, "lstm wins, per cent", 100.0 * float(share))


def variants(study: Study) -> None:
    """What the paper leaves open: shared splits, without replacement, the logit, few draws; delta .05."""
    _levels(study, "Variant", sweep.VARIANTS, deltas=(0.05,))


def literature(study: Study) -> None:
    """What the field offers, at delta .05: the same stopping rule, then each method's own; and successive rejects."""
    _levels(study, "Literature", sweep.LITERATURE, deltas=(0.05,))
    for budget in (96, sweep.NAMED_BUDGET):
        for agent in ("sh", "sr", "nonadaptive"):
            setting = sweep.Setting(f"{agent}, T={budget}", agent, "FIESTA-tdsa12-v0")
            found = study.select(setting, 2000, budget=budget)
            study.add_summary("Literature, fixed budget", setting.name, None, found)


def belief(study: Study) -> None:
    """Quadrature of pi against 10^7 Monte-Carlo draws, on random posteriors of 3 to 500 evaluations an arm."""
    from hpo_envs.agents.bandits import best_arm as b

    draws = 10**7 if study.trials is None else 10_000 * study.trials
    for arms in (2, 5, 10, 20, 50):
        rng = np.random.default_rng((study.seed, arms))
        counts = rng.integers(3, 501, arms)
        deviations = 0.02 * np.exp(rng.normal(0.0, 0.5, arms))
        # Means within a few posterior scales of each other, so that many arms may be the best.
        p = b.posterior(counts, rng.normal(0.6, 0.005, arms), counts * deviations**2)
        pi, sampled = b.best_probability(p), b.best_probability_sampled(p, draws, rng)
        error = np.sqrt(np.maximum(pi * (1.0 - pi), 1.0 / draws) / draws)
        fast = float(np.abs(b.best_probability(p, "fast") - pi).max())
        row = f"{arms} arms"
        study.add("Belief", row, None, "largest pi", float(pi.max()), runs=draws)
        study.add("Belief", row, None, "largest difference to the draws", float(np.abs(pi - sampled).max()), runs=draws)
        study.add(
            "Belief", row, None, "in their standard errors", float((np.abs(pi - sampled) / error).max()), runs=draws
        )
        study.add("Belief", row, None, "fast rule minus exact rule", fast)


def promise(study: Study) -> None:
    """The fixed-confidence promise: how often the selected arm is not the best, against delta."""
    for setting in sweep.PROMISES:
        for delta in sweep.DELTAS:
            found = study.select(setting, sweep.PROMISE_TRIALS, confidence=1.0 - delta)
            wrong, n = int((~found.right).sum()), len(found)
            low, high = analysis.clopper_pearson(wrong, n)
            kept = analysis.promise_kept(wrong, n, delta)
            study.add("Promise", setting.name, delta, "wrong, per cent", 100.0 * wrong / n, runs=n, verdict=kept)
            study.add("Promise", setting.name, delta, "wrong, lower bound", 100.0 * low, runs=n)
            study.add("Promise", setting.name, delta, "wrong, upper bound", 100.0 * high, runs=n)
            study.add("Promise", setting.name, delta, "mean", float(found.evaluations.mean()), runs=n)


def figures(study: Study) -> None:
    """Figures 1 to 4 as png and svg (needs the extra `plots`)."""
    from hpo_envs.benchmarks.papers.fiesta import figures as f

    f.draw_all(study.out, study.rows, study.seed)


def speed(study: Study) -> None:
    """Time of a TTTS evaluation, ours against the authors' package in one process (needs `fiesta-nlp`)."""
    from hpo_envs.benchmarks.papers.fiesta.speed import measure

    for row, quantity, value in measure(study.seed, study.trials or 1):
        study.add("Speed", row, 0.05, quantity, value)


PARTS = {
    f.__name__: f
    for f in (
        table1, table2, table3, uncounted, figure4, complexity, figure1, belief, variants, literature, promise,
        figures, speed,
    )
}  # fmt: skip
"""Parts that `only` may name; all but `speed` are run without it."""


def main(out: Path, *, trials: int | None = None, jobs: int = 1, seed: int = 0, only: str | None = None) -> int:
    """Runs the parts, prints them and writes `results.csv`.

    Args:
        out: Folder, created.
        trials: Runs of each row; None takes the paper's numbers (about ten minutes on two cores).
        jobs: Processes.
        seed: First seed.
        only: One part instead of all.

    Raises:
        ValueError: Unknown part.
    """
    if only is not None and only not in PARTS:
        raise ValueError(f"only must be one of {', '.join(PARTS)}, got {only!r}")
    out.mkdir(parents=True, exist_ok=True)
    study = Study(out, trials, jobs, seed)
    for name in [only] if only else [n for n in PARTS if n != "speed"]:
        done = len(study.rows)
        PARTS[name](study)
        print(format_rows(study.rows[done:]), end="", flush=True)
        write(out / "results.csv", study.rows)
    print(f"\nresults: {out / 'results.csv'}")
    return 0


def expected() -> dict[tuple[str, str, float | None, str], tuple[float, int]]:
    """Published value and number of runs by (where, row, delta, quantity)."""
    with open(Path(__file__).with_name("expected.csv"), newline="", encoding="utf-8") as stream:
        return {
            (r["where"], r["row"], float(r["delta"]) if r["delta"] else None, r["quantity"]): (
                float(r["published"]),
                int(r["runs"] or 0),
            )
            for r in csv.DictReader(stream)
        }


def write(path: Path, rows: Iterable[Row]) -> None:
    """Writes results as CSV, numbers with four significant digits beyond the point."""
    with open(path, "w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, COLUMNS)
        writer.writeheader()
        for row in rows:
            writer.writerow({k: _text(v) for k, v in row.items()})


def format_rows(rows: list[Row]) -> str:
    """A table for the terminal."""
    lines = []
    for r in rows:
        delta = "" if r["delta"] is None else f" delta {r['delta']:g}"
        error = "" if np.isnan(r["error"]) else f" ± {r['error']:.2f}"
        known = "" if r["published"] is None else f"  published {r['published']:g}"
        label = f"{r['where']}, {r['row']}{delta}, {r['quantity']}"
        lines.append(f"{label:78} {r['ours']:10.4g}{error}{known}  {r['verdict']}".rstrip())
    return "".join(line + "\n" for line in lines)


def _levels(
    study: Study, where: str, settings: tuple[sweep.Setting, ...], deltas: tuple[float, ...] = sweep.DELTAS
) -> None:
    for setting in settings:
        for delta in deltas:
            found = study.select(setting, sweep.TRIALS, confidence=1.0 - delta)
            study.add_summary(where, setting.name, delta, found)


def _judge(quantity: str, ours: float, error: float, known: tuple[float, int], runs: int) -> str:
    published, published_runs = known
    if not published_runs:
        return "agrees" if ours == published else "differs"
    return analysis.verdict(quantity, ours, error, published, runs, published_runs)


def _text(value: Any) -> str:
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return ""
    return f"{value:.6g}" if isinstance(value, float) else str(value)
