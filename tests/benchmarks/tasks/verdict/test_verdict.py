"""The verdict across task groups: its table of runs, its statistics, and the pages that state it."""

import dataclasses
import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from hpo_envs.benchmarks import Comparison, leaderboard
from hpo_envs.benchmarks.report import groups
from hpo_envs.benchmarks.tasks.verdict import __main__ as verdict
from hpo_envs.benchmarks.tasks.verdict import inference, properties, table
from hpo_envs.tables import store
from tests.helpers import ROOT

STATED: dict[str, Any] = json.loads(verdict.SUMMARY.read_text("utf-8"))


def scored(values: Any, labels: tuple[str, ...], models: tuple[str, ...]) -> inference.TaskScores:
    names = tuple(f"env-{i}" for i in range(len(labels)))
    return inference.TaskScores(("a", "random"), names, labels, models, np.stack([values, np.zeros_like(values)]))


def test_table_has_mean_and_final_regret_after_20_and_40_evaluations(tmp_path: Path) -> None:
    study = {"environments": ["NMTHPO-zhen-v0", "CharMini-eng-lstm-v0"], "agents": ["random", "bo"], "seeds": 2}
    Comparison({**study, "budget": 40}, tmp_path).run()
    (tmp_path / "built.parquet").write_bytes(table.build([tmp_path]))
    found = pd.read_parquet(tmp_path / "built.parquet").set_index(["environment", "agent", "seed"])
    every = pd.concat(pd.read_parquet(p) for p in tmp_path.glob("*-v0/*.parquet")).sort_values("step")
    curves = every.groupby(["environment", "agent", "seed"])["regret"]
    for k in properties.BUDGETS:
        assert np.allclose(found[f"mean_{k}"], curves.apply(lambda x, k=k: x[:k].mean()).reindex(found.index), 0, 1e-6)
        assert np.allclose(
            found[f"final_{k}"], curves.apply(lambda r, k=k: r.iloc[k - 1]).reindex(found.index), atol=1e-6
        )
        assert (found[f"unclipped_{k}"] >= found[f"mean_{k}"] - 1e-6).all()
    assert {*found["model"]} == {"transformer", "lstm"}


def test_detectable_difference_is_found_with_power_of_80_percent() -> None:
    rng = np.random.default_rng(0)
    for groups_, level in ((3, 0.01), (7, 0.001), (20, 0.01)):
        shift = float(inference.detectable(1.0, groups_, level))
        drawn = rng.normal(shift, 1.0, (20_000, groups_))
        assert np.mean(stats.ttest_1samp(drawn, 0.0, axis=1).pvalue < level) == pytest.approx(0.8, abs=0.01)


def test_hierarchical_model_finds_group_effects_and_is_antisymmetric() -> None:
    rng = np.random.default_rng(1)
    labels = tuple(f"g{i // 2}" for i in range(40))
    effects = np.repeat(rng.normal(0.0, 0.3, 20), 2)
    found = scored(-0.5 + effects[:, None] + rng.normal(0.0, 0.1, (40, 10)), labels, ("m", "n") * 20)
    one, other = inference.posterior(found, "a", "random"), inference.posterior(found, "random", "a")
    assert one["mean"] == pytest.approx(-0.5 + effects.mean(), abs=0.05)
    assert one["group"] == pytest.approx(effects.std(), abs=0.1)
    assert max(one["rest"], one["model"]) < one["group"]
    assert [one["low"], one["better"]] == pytest.approx([-other["high"], 1 - other["better"]])


def test_pairs_with_random_search_are_corrected_for_these_alone() -> None:
    rng = np.random.default_rng(2)
    found = scored(rng.normal(-0.2, 1.0, (12, 8)), tuple("abcdefghijkl"), ("m",) * 12)
    three = dataclasses.replace(
        found, agents=("a", "b", "random"), values=np.insert(found.values, 1, rng.normal(0.0, 1.0, (12, 8)), axis=0)
    )
    judged = three.judged
    every, base = inference.pairs(three, judged), inference.pairs(three, judged, "random")
    assert (len(every), [(p["a"], p["b"]) for p in base]) == (3, [("a", "random"), ("b", "random")])
    assert all(p["needed"] is None or p["needed"] > 12 or abs(p["difference"][0]) >= p["detectable"] for p in base)
    means = np.nanmean(three.difference("a", "random"), axis=1)
    assert base[0]["wilcoxon"] == pytest.approx(stats.wilcoxon(means).pvalue)
    assert base[0]["p_holm"] <= 2 * base[0]["p"] + 1e-12


def test_regression_of_the_lead_recovers_an_exact_relation() -> None:
    rng = np.random.default_rng(3)
    rows = [
        {"group": f"g{i % 20}", "dimensions": rng.integers(2, 20), "configurations": rng.integers(50, 900)}
        | {"near_best": rng.uniform(0, 0.2), "smoothness": rng.uniform(), "noise": rng.uniform(0, 0.3)}
        for i in range(60)
    ]
    beta = np.array([0.1, -0.02, 0.03, 0.5, 0.2, -0.4, 0.01])
    for k in properties.BUDGETS:
        for row, lead in zip(rows, properties.design(rows, k) @ beta, strict=True):
            row[f"lead_{k}"] = lead
    fit = properties.regression(rows)
    assert np.allclose(fit["coefficients"], beta)
    assert (fit["r2"], fit["df"]) == (pytest.approx(1.0), 13)


def test_committed_properties_are_those_of_the_tables() -> None:
    zhen = store.load("nmthpo/zhen")
    bleu = zhen.final("bleu")
    found = properties.of_table(zhen, "bleu")
    near = (bleu >= bleu.max() - properties.NEAR * (bleu.max() - np.median(bleu))).mean()
    assert found["near_best"] == pytest.approx(near)
    assert (found["dimensions"], found["configurations"], found["noise"]) == (6, len(zhen), 0.0)
    assert properties.described(zhen, "bleu") == pytest.approx(found, rel=1e-4)
    assert properties.described(zhen, "perplexity") == properties.of_table(zhen, "perplexity") != found
    mean, low, high = properties.expected_lead(found, 40)
    assert low < mean < high
    assert f"lead of bo over random search, 40 evaluations: {mean:.2f}" in properties.lines(found)[-1]


@pytest.mark.skipif(not (ROOT / "README.md").exists(), reason="no README here")
def test_pages_state_the_committed_verdict() -> None:
    parts = {"sentence": [verdict.sentence(STATED)], **verdict.tables(STATED)}
    for page, names in (("README.md", ["sentence"]), ("docs/report.md", [*parts])):
        text = (ROOT / page).read_text("utf-8")
        assert verdict.filled(text, parts) == text
        assert all(f"<!-- verdict: {name} -->" in text for name in names)
    board = json.loads(gzip.decompress(leaderboard.SUMMARY.read_bytes()))["verdict"]
    assert ({k: board[k] for k in STATED}, board["sentence"]) == (STATED, parts["sentence"][0])


def test_board_has_a_row_for_each_task_group_and_folds_its_tables() -> None:
    learned = [
        {"method": m, "level": "family", "NMTHPO": "0.3", "mean": "0.4"} for m in ("in-context", "in-context, blind")
    ]
    shown = groups.section({**STATED, "sentence": "Verdict.", "learned": learned})
    picture, _, rest = shown.partition("</ol>")
    assert picture.count('class="who"') == STATED["groups"] + 1
    assert all(f">{r['group']}<" in picture for r in STATED["by_group"])
    assert rest.count("<details>") == 2
    assert "in-context, blind" in rest
