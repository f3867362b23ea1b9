"""`hpo-envs importance`: of a table, an environment, a folder of runs."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from hpo_envs.benchmarks import runs
from hpo_envs.benchmarks.analysis import sensitivity
from hpo_envs.benchmarks.analysis.forest_importance import space_of
from hpo_envs.benchmarks.study import store
from hpo_envs.commands import main
from hpo_envs.tables import store as tables

SOME = ["--trees", "4", "--json"]


def test_importance_of_a_table_and_of_its_id_agree(capsys: pytest.CaptureFixture[str]) -> None:
    found = []
    for source in ("nmthpo/soen", "NMTHPO-soen-v0"):
        assert main.main(["importance", source, *SOME, "--pairs", "2"]) == 0
        found.append(json.loads(capsys.readouterr().out))
    assert found[0] == found[1]
    assert {r["what"] for r in found[0]["main"]} == {"bpe", "layers", "embed", "hidden", "heads", "init_lr"}
    assert len(found[0]["pairs"]) == 2
    assert sum(r["share"] for r in found[0]["main"]) <= 1.0


def test_metric_to_minimise_has_its_cutoff_in_its_own_unit(capsys: Any, cli: Any, tmp_path: Path) -> None:
    words = ["importance", "charhpo/g2p-dut-lstm", "--trees", "4"]
    out = cli([*words, "--metric", "accuracy", "--cutoff", "median", "--out", str(tmp_path / "i")])
    assert "learning_rate" in out
    assert {p.name for p in tmp_path.iterdir()} == {"i.csv", "i.png", "i.svg"}
    assert main.main(["importance", "nmthpo/zhen", *SOME, "--metric", "perplexity", "--cutoff", "20"]) == 0
    assert json.loads(capsys.readouterr().out)["cutoff"] == 20.0


def test_runs_of_a_study_are_averaged_by_row(capsys: pytest.CaptureFixture[str], cli: Any, tmp_path: Path) -> None:
    for env, budget in (("NMTHPO-zhen-v0", 40), ("CushLEPOR-ted-ende-v0", 12)):
        kwargs = {}
        store.write(runs.run("random", env, range(2), budget=budget, env_kwargs=kwargs), tmp_path)
    words = ["importance", str(tmp_path), "--trees", "3", "--json"]
    found = json.loads(cli([*words, "--env", "NMTHPO-zhen-v0"]))
    assert 40 <= found["runs"] <= 80
    assert found["metric"] == "bleu"
    assert (len(json.loads(cli([*words, "--env", "CushLEPOR-ted-ende-v0"]))["main"]), main.main(words)) == (6, 2)
    assert "--env must be one of" in capsys.readouterr().err
    store.write(runs.run("random", "NASBenchNLP-cell-v0", [0], budget=2), tmp_path)
    assert main.main([*words, "--env", "NASBenchNLP-cell-v0"]) == 2
    assert "--env must have configurations as actions, got NASBenchNLP-cell-v0" in capsys.readouterr().err


def test_runs_with_checkpoints_have_the_hyperparameters_of_the_rows(cli: Any, tmp_path: Path) -> None:
    store.write(runs.run("random", "NMTLC-swen-v0", range(2), budget=2e5, env_kwargs={}), tmp_path)
    found = json.loads(cli(["importance", str(tmp_path), *SOME]))
    table = tables.load("nmtlc/swen")
    axes = [axis.name for axis in space_of(table)[1]]
    assert {f["what"] for f in found["main"]} == {*axes, table.level_unit}
    assert found["runs"] >= 10


def test_sensitivity_is_that_of_the_rows(cli: Any) -> None:
    words = ["importance", "CharHPO-g2p-hun-transformer-v0", "--sensitivity"]
    table = tables.load("charhpo/g2p-hun-transformer")
    assert json.loads(cli([*words, "--json"]))["metrics"] == pytest.approx(sensitivity.analyse(table))
    assert "rope 1 %" in cli([*words, "--rope", "1"])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["fiesta/ner"], "must have hyperparameters or features"),
        (["nmthpo/zhen", "--cutoff", "low"], "--cutoff must be a number or 'median'"),
        (["nmthpo/zhen", "--cutoff", "nan"], "--cutoff must be a number or 'median'"),
        (["nmthpo/zhen", "--trees", "0"], "--trees must be"),
        (["nmthpo/zhen", "--seed", "-1"], "--seed must be an int >= 0, got -1"),
        *(
            ([f"{name}-v0"], f"an id whose rewards are in one table, got {name}-v0")
            for name in ("CushLEPOR-ted-ende", "NMTHPO", "FunctionHPO")
        ),
        (["NMTHPO-zz-v0"], "did you mean 'NMTHPO-v0'"),
        (["fiesta/ner", "--sensitivity"], "must have a hyperparameter that varies"),
        ([".", "--sensitivity"], "source must be a table, an id or (without --sensitivity) a folder of results, got ."),
        ([__file__], f"a folder of results, got {__file__}"),
        ([str(Path(__file__).parent)], "source must be a folder with runs, got none in "),
    ],
)
def test_commands_name_what_is_wrong(words: list[str], message: str, cli: Any) -> None:
    assert message in cli(["importance", *words], 2)


def test_plots_without_matplotlib_are_refused_before_work(
    cli: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert "plots need matplotlib: pip install" in cli(["importance", "nmthpo/zhen", "--out", str(tmp_path / "a")], 2)
    assert not [*tmp_path.iterdir()]
