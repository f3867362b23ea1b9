"""CellMini on a table of the test's own: held-out losses, refusals, and pages that say what a step does."""

from __future__ import annotations

import re

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from hpo_envs.core.pages import HEADINGS
from hpo_envs.families.cellmini import live, page
from hpo_envs.tables.datasets.cellmini import build
from hpo_envs.tables.table import Table
from tests.tables.datasets.cellmini.test_build import arrays


@pytest.fixture(scope="module")
def table() -> Table:
    return build.assemble(arrays())


@pytest.mark.parametrize("of", [page.CellMiniEnv, page.CellMiniLCEnv, live.CellMiniLiveEnv])
def test_pages_have_the_headings_of_all_pages(of: type) -> None:
    assert tuple(re.findall(r"^\s*## (.+)$", of.__doc__ or "", re.MULTILINE)) == HEADINGS


def test_test_losses_are_held_out_in_both_forms(table: Table) -> None:
    env = page.CellMiniEnv(table=table)
    env.reset(seed=3)
    _, reward, _, _, info = env.step(2)
    assert set(info["held_out"]) == {"test_loss"}
    assert reward == -info["metrics"]["validation_loss"]
    envs = page.CellMiniVectorEnv(2, autoreset_mode=AutoresetMode.NEXT_STEP, table=table)
    envs.reset(seed=[3, 4])
    *_, batched = envs.step(np.array([2, 2]))
    assert batched["held_out"]["test_loss"][0] == info["held_out"]["test_loss"]
    assert set(batched["metrics"]) == set(info["metrics"]) == {"validation_loss", "train_loss", "parameters"}


def test_what_is_held_out_is_no_objective(table: Table) -> None:
    with pytest.raises(ValueError, match="objective must be one of validation_loss, .*, got 'test_loss'"):
        page.CellMiniEnv(table=table, objective="test_loss")


def test_curves_pay_by_the_formula(table: Table) -> None:
    env = page.CellMiniLCEnv(table=table)
    env.reset(seed=0)
    *_, info = env.step(np.array([2, 4]))
    assert info["cost"] == pytest.approx(table.cost[2, 0, 4])
    assert set(info["held_out"]) == {"test_loss"}


def test_the_live_id_is_registered_and_not_listed() -> None:
    from hpo_envs.registry import SPECS

    assert "CellMiniLive-v0" in gym.registry
    assert {"CellMini-v0", "CellMiniLC-v0"} <= set(SPECS)
    assert "CellMiniLive-v0" not in SPECS
