"""Numbers of a comparison recomputed by a program that does not use the suite."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from hpo_envs.commands.main import main
from tests.helpers import ROOT
from tests.regression import recompute


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    study = tmp_path_factory.mktemp("study") / "study.toml"
    study.write_text(
        'environments = ["TextMini-names-*", "TextMini-reviews-joint-v0", "TextMini-pos_mlt-*", "NMTHPO-swen-v0"]\n'
        'agents = ["random", "regularized-evolution", "bo"]\nseeds = 3\nbudget = 8\n'
    )
    assert main(["compare", str(study), "--out", str(study.parent / "runs")]) == 0
    return study.parent / "runs"


def test_scores_and_leads_are_those_of_the_suite(folder: Path) -> None:
    scores = recompute.runs(recompute.evaluations(folder))
    ours = pd.read_parquet(folder / "runs.parquet").set_index(["environment", "agent", "seed"])
    found = scores.set_index(["environment", "agent", "seed"])
    assert len(found) == len(ours) == 5 * 3 * 3
    assert np.allclose(found["mean"], ours["mean_regret"].reindex(found.index), rtol=0, atol=1e-12)
    assert np.allclose(found["final"], ours["final_regret"].reindex(found.index), rtol=0, atol=1e-12)
    table = recompute.differences(scores, "random").set_index(["family", "agent"])
    wide = ours["mean_regret"].unstack("agent")
    lead = (wide["bo"] - wide["random"]).groupby("environment").mean()
    assert table.loc[("TextMini", "bo"), "difference"] == pytest.approx(lead.drop("NMTHPO-swen-v0").mean(), abs=1e-12)
    assert table.loc[("TextMini", "bo"), "groups"] == 3  # names is measured with two classes of models
    assert table.loc[("NMTHPO", "bo"), "runs"] == 3
    assert (table["p (Holm)"] >= table["p"]).all()


def test_it_imports_nothing_of_the_suite(folder: Path) -> None:
    program = str(ROOT / "tests" / "regression" / "recompute.py")
    code = (
        f"import sys, runpy, json; sys.argv = [{program!r}, {str(folder)!r}]; runpy.run_path({program!r}, "
        "run_name='__main__'); print(json.dumps([m for m in sys.modules if m.startswith(('hpo_envs', 'gymnasium'))]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=folder)
    *table, modules = done.stdout.splitlines()
    assert (json.loads(modules), len(table)) == ([], 1 + 2 * 2)


def test_committed_verdict_follows_from_the_committed_runs() -> None:
    stated = json.loads(recompute.VERDICT.with_suffix(".json").read_text("utf-8"))
    frame = pd.read_parquet(recompute.VERDICT)
    rows = pd.read_csv(recompute.VERDICT.parents[1] / "tasks" / "verdict" / "properties.csv")
    assert recompute.check(stated, frame, rows, models=1) == []
    stated["budgets"]["40"]["pairs"][3]["difference"][0] += 0.01
    stated["pays"]["effects"][2]["high"] += 0.01
    assert len(recompute.check({**stated, "sensitivity": []}, frame, rows, models=0)) >= 2
