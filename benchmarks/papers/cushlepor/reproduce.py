"""`hpo-envs reproduce cushlepor`."""

from __future__ import annotations

import functools
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from hpo_envs.benchmarks import runs as loop
from hpo_envs.benchmarks.papers import common
from hpo_envs.benchmarks.papers.common import Record, Reproduction
from hpo_envs.benchmarks.papers.cushlepor import analysis, figures, optimum, settings
from hpo_envs.tables import hlepor, store
from hpo_envs.tables.datasets.cushlepor import agreement, text_metrics
from hpo_envs.tables.datasets.cushlepor.space import BOUNDS
from hpo_envs.tables.table import Table

Floats = npt.NDArray[np.float64]


def _setup() -> tuple[Table, analysis.Corpus]:
    """English to German, and its labels."""
    table = store.load("cushlepor/ted-ende")
    return table, analysis.Corpus.of(table)


def _of_table(name: str, table: Table, records: list[Record]) -> Record:
    """A part of the summary, which says what table it is about."""
    p = table.provenance
    print(f"{table.name}: {len(table)} segments, sha256 {p.sha256[:12]}")
    return {"table": {"name": table.name, "sha256": p.sha256}, name: records}


def _text_scores(table: Table) -> dict[str, Floats]:
    return text_metrics.of_table(table.name)


def _tuned(table: Table, objective: str, bounds: str, held_out: Sequence[str] | None = None) -> tuple[float, Floats]:
    return optimum.of_env({"objective": objective, "bounds": bounds, "held_out": held_out}, table)


def published(r: Reproduction) -> Record:
    """The published numbers, and what of them can be shown."""
    examples = {
        "package example guide": ([0],),
        "package example guide and army": ([0, 1],),
        "package example cities": ([2],),
        "package example cities and boom": ([2, 3],),
    }
    pairs = json.loads(Path(__file__).with_name("package_examples.json").read_text(encoding="utf-8"))
    scores = hlepor.score([p["hypothesis"] for p in pairs], [p["reference"] for p in pairs], variant="released")
    records = []
    computed = {name: float(scores[rows].mean()) for name, (rows,) in examples.items()} | to_psqm()
    print("\npublished numbers")
    for (quantity,), p in common.expected("cushlepor").items():
        ours = computed.get(quantity)
        verdict = "reported" if ours is None else common.judge(ours - p.value, 0.5 * 10.0**-p.decimals)
        record = {"quantity": quantity, "published": p.text, **p.details, "ours": ours, "verdict": verdict}
        records.append(record)
        needs = f"Not computed: {p.details['why not']}." if ours is None and p.details["why not"] else ""
        text = "" if ours is None else f"{ours:.5f}"
        r.compare_published(p.details["source"], quantity, p.text, text, verdict, needs)
        beside = f"ours {ours:.5f}, {verdict}" if ours is not None else p.details["why not"] or "see agents"
        print(f"  {quantity:<48} {p.text:<8} {beside}")
    return _of_table("published", store.load("cushlepor/ted-ende"), records)


PSQM = "cushlepor/newstest2020-ende-psqm"


def to_psqm() -> dict[str, float]:
    """RMSEs to the pSQM labels of newstest2020, English to German; nothing as long as the labels are not installed."""
    if store.missing(PSQM):
        return {}
    table = store.load(PSQM)
    found = rmses(analysis.Corpus.of(table))
    try:
        bleu = text_metrics.of_table(PSQM)["sentence BLEU"]
    except ModuleNotFoundError as error:
        print(error)
        return found
    return {**found, "RMSE to pSQM of BLEU": analysis.rmse(bleu, table.values[:, 0, 0, 0])}


def rmses(corpus: analysis.Corpus) -> dict[str, float]:
    """RMSE of the default hLEPOR and of the published cushLEPOR(pSQM) on all segments."""
    presets = {"hLEPOR": "default", "cushLEPOR": "cushlepor-psqm-en-de"}
    return {
        f"RMSE to pSQM of {name}": analysis.rmse(corpus.basis.scores(hlepor.preset(p).vector()), corpus.human)
        for name, p in presets.items()
    }


def compare_settings(r: Reproduction) -> Record:
    """Default, published settings, tuned ones and other metrics on both splits."""
    table, corpus = _setup()
    scores = {name: corpus.basis.scores(p.vector()) for name, p in settings.presets().items()}
    vectors = {name: list(p.vector()) for name, p in settings.presets().items()}
    for objective in agreement.NAMES:
        for bounds in BOUNDS:
            vector = _tuned(table, objective, bounds)[1]
            name = f"tuned for {objective}, {bounds} box"
            scores[name], vectors[name] = corpus.basis.scores(vector), vector.tolist()
    for variant in ("paper", "relative"):
        scores[f"default, variant {variant}"] = analysis.Corpus.of(table, variant).basis.scores(
            hlepor.preset("default").vector()
        )
    constant = np.full(len(table), corpus.human[~corpus.held_out].mean())
    records = analysis.both_splits({**scores, **_text_scores(table), "best constant (train)": constant}, corpus)
    for record in records:
        record["parameters"] = " ".join(f"{v:.4g}" for v in vectors.get(record["metric"], []))
    r.write("settings", _rounded(records))
    print(f"\n{'train / held-out':36} {'Pearson':>15} {'Kendall':>15} {'system r':>15} {'RMSE':>15}")
    for record in records:
        both = [f"{record[f'{m} train']:7.3f} /{record[f'{m} held-out']:6.3f}" for m in agreement.NAMES]
        print(f"{record['metric']:36} " + " ".join(f"{text:>15}" for text in both))
    return _of_table("settings", table, records)


def validate(r: Reproduction) -> Record:
    """Tuned against every published setting on documents it was not tuned on."""
    table, corpus = _setup()
    weights = analysis.resamples(corpus, settings.BOOTSTRAP)
    others = {name: corpus.basis.scores(p.vector()) for name, p in settings.presets().items()}
    others |= _text_scores(table)
    records: list[Record] = []
    for bounds in BOUNDS:
        folds: Floats = np.zeros(len(table))
        for document in corpus.documents:
            rows = corpus.document == corpus.documents.index(document)
            folds[rows] = corpus.basis.scores(_tuned(table, "pearson", bounds, (document,))[1])[rows]
        split = corpus.basis.scores(_tuned(table, "pearson", bounds)[1])
        test = np.unique(corpus.document[corpus.held_out]).tolist()
        every = list(range(len(corpus.documents)))
        for name, tuned, documents in (("leave one talk out", folds, every), ("talks 5 and 6 held out", split, test)):
            for record in analysis.differences(tuned, others, corpus, documents, weights):
                records.append({"split": name, "bounds": bounds, **record})
    r.write("validation", _rounded(records))
    print("\ntuned for Pearson minus others, mean Pearson inside held-out talks [95 % bootstrap interval]")
    for record in records:
        print(
            f"  {record['split']:24} {record['bounds']:10} {record['tuned']:.3f} against {record['against']:26} "
            f"{record['other']:.3f}: {record['difference']:+.3f} [{record['low']:+.3f}, {record['high']:+.3f}] "
            f"{record['verdict']}"
        )
    return _of_table("validation", table, records)


def run_agents(r: Reproduction) -> Record:
    """Evaluations until within 1 % of the best found, by agent and problem; the RMSE over trials as a figure."""
    table = store.load("cushlepor/ted-ende")
    records: list[Record] = []
    seeds = r.seeds(settings.TRIALS)
    for problem in settings.PROBLEMS:
        best = _tuned(table, problem.objective, problem.bounds)[0]
        # One problem runs to the end for the figure; elsewhere arriving is all that counts.
        whole = problem == settings.Problem("rmse", "published")
        goal = None if whole else best - settings.WITHIN * abs(best)
        todo = [(agent, problem, seeds, goal) for agent in settings.AGENTS]
        curves = {}
        for agent, rewards in zip(settings.AGENTS, r.map(_rewards, todo, problem.name, "agent"), strict=True):
            if isinstance(rewards, str):
                print(rewards)
                continue
            curves[agent] = rewards
            records.append(
                {
                    "objective": problem.objective,
                    "bounds": problem.bounds,
                    "agent": agent,
                    "runs": len(seeds),
                    "best found": best,
                    **analysis.evaluations_to(rewards, best, settings.WITHIN),
                }
            )
        if whole:
            values = {agent: [-x for x in rewards] for agent, rewards in curves.items()}
            common.drawn(lambda: figures.over_trials(values, -best, "RMSE so far", r.out / "rmse_over_trials"))  # noqa: B023
    r.write("agents", _rounded(records))
    print(f"\nevaluations to within 1 % of the best found (budget {settings.BUDGET}, {len(seeds)} runs)")
    for record in records:
        print(
            f"  {record['objective']:8} {record['bounds']:10} {record['agent']:8} reached {record['reached']:4.0%}, "
            f"median {record['median']:g}, third quartile {record['quartile 3']:g}"
        )
    plain = [{k: (None if v == float("inf") else v) for k, v in record.items()} for record in records]
    return _of_table("agents", table, plain)


def _rewards(agent: str, problem: settings.Problem, seeds: range, goal: float | None) -> list[Floats] | str:
    """Rewards of an agent's runs, or what is to be installed for it."""
    kwargs = {"objective": problem.objective, "bounds": problem.bounds}
    target = None if goal is None else lambda action, reward: reward >= goal
    try:
        runs = loop.run(agent, settings.ENV, seeds, budget=settings.BUDGET, target=target, env_kwargs=kwargs)
    except ModuleNotFoundError as error:
        return str(error)
    return [run.rewards for run in runs]


def draw(r: Reproduction) -> None:
    """Figures 6 and 7: distributions of human scores, the default's and the published tuned ones'."""
    table, corpus = _setup()
    default = corpus.basis.scores(hlepor.preset("default").vector())
    shared = {"human (1 - MQM/25)": corpus.human, "hLEPOR, default": default}
    panels = {
        "as figure 6: tuned on LaBSE": {
            **shared,
            "cushLEPOR(LM)": corpus.basis.scores(hlepor.preset("cushlepor-lm-en-de").vector()),
        },
        "as figure 7: tuned on pSQM": {
            **shared,
            "cushLEPOR(pSQM)": corpus.basis.scores(hlepor.preset("cushlepor-psqm-en-de").vector()),
        },
        "tuned here on MQM": {
            **shared,
            "tuned for Pearson": corpus.basis.scores(_tuned(table, "pearson", "published")[1]),
            "tuned for RMSE": corpus.basis.scores(_tuned(table, "rmse", "published")[1]),
        },
    }
    common.drawn(lambda: figures.distributions(panels, r.out / "score_distributions"))


def _rounded(records: Sequence[Record]) -> list[Record]:
    return [{k: round(v, 5) if isinstance(v, float) else v for k, v in record.items()} for record in records]


PARTS: common.Parts = {
    "published": published,
    "settings": compare_settings,
    "validation": validate,
    "agents": run_agents,
    "figures": draw,
}

PRINTED = ("published", "agents", "figures")
"""Parts with published numbers and figures, for `hpo-envs reproduce all`."""

QUICK = 1
"""Trials of `--quick`."""

main = functools.partial(common.reproduce, "cushlepor", PARTS, finish=common.write_summary)
