"""`hpo-envs sensitivity`: of random actions, of a table's rows."""

from __future__ import annotations

import json

import pytest

from hpo_envs.benchmarks.analysis import sensitivity
from hpo_envs.commands import main
from hpo_envs.tables import store


def test_sensitivity_of_random_actions(capsys: pytest.CaptureFixture[str]) -> None:
    """An environment without rows is searched at random, on one task, and repeats with its seed."""
    words = "sensitivity --env CharHPO-v0 --runs 230 --json --arguments task=g2p lang=geo architecture=lstm".split()
    assert main.main(words) == 0
    first = capsys.readouterr().out
    assert main.main(words) == 0
    assert capsys.readouterr().out == first
    got = json.loads(first)
    assert (got["table"], got["kind"], got["runs"]) == ("charhpo/g2p-geo-lstm", "surrogate", 230)
    sweep = sensitivity.analyse(store.load("charhpo/g2p-geo-lstm"))
    assert got["metrics"]["best"] == pytest.approx(sweep["best"], abs=8)
    assert got["metrics"]["equivalent"] == pytest.approx(sweep["equivalent"], abs=14)
    assert main.main(["sensitivity", "--env", "CharHPO-v0", "--arguments", "task"]) == 2
    assert "--arguments must be NAME=VALUE, got 'task'" in capsys.readouterr().err


def test_sensitivity_of_a_table_is_that_of_its_rows(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["sensitivity", "--env", "CharHPO-g2p-hun-transformer-v0", "--json"]
    assert main.main(words) == 0
    table = store.load("charhpo/g2p-hun-transformer")
    assert json.loads(capsys.readouterr().out)["metrics"] == pytest.approx(sensitivity.analyse(table))
    assert main.main([*words, "--hyperparameters", "batch_size", "--variant", "published"]) == 0
    alone = sensitivity.analyse(table.configs[:, :1], table.final("accuracy"), variant="published")
    assert json.loads(capsys.readouterr().out)["metrics"] == pytest.approx(alone)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--env", "FIESTA-ner-v0"], "must have hyperparameters"),
        (["--env", "NMTHPO-swen-v0", "--hyperparameters", "width"], "must be among bpe"),
        (["--env", "NMTHPO-swen-v0", "--variant", "code"], "variant must be one of"),
    ],
)
def test_commands_say_what_is_wrong(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["sensitivity", *words]) == 2
    assert message in capsys.readouterr().err
