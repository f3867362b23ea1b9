"""The training command."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hpo_envs.agents.models.stacked_gp import START
from hpo_envs.agents.transfer import learned
from hpo_envs.benchmarks.learned import tasks, train
from hpo_envs.benchmarks.learned.train import Group


def test_training_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["--only", "CharHPO", "--generations", "1", "--seeds", "1", "--out", str(tmp_path)]
    assert train.main(command) == 0
    file = json.loads((tmp_path / "learned.json").read_text())
    assert file["names"] == list(START)
    (weights,) = file["weights"]
    assert weights["languages"] == [*"alb ara arm cat dut geo gle hai hun rum".split()]
    assert len(weights["seeds"][0]["numbers"]) == len(START)
    assert (
        (tmp_path / "training.csv")
        .read_text()
        .startswith("weights,seed,generation,validation,cpu_seconds\nCharHPO,0,0,")
    )
    assert "CharHPO 0 1 " in capsys.readouterr().out


def test_a_language_that_is_left_out_is_no_target_and_no_source() -> None:
    group = Group("without ja", ("NMTHPO",), ("jpn",))
    assert group.languages == {
        f"NMTHPO-{pair}-v0": (language,)
        for pair, language in {"zhen": "chi", "ruen": "rus", "swen": "swa", "soen": "som"}.items()
    }
    assert not {i for i in Group("every", tasks.FAMILIES).languages if i in tasks.FLAT}


def test_shipped_weights_are_those_of_the_command() -> None:
    assert [w.name for w in learned.shipped()] == [g.name for g in train.groups()]
