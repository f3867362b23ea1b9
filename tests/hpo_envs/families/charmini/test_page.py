"""CharMini on a table of the test's own: held-out scores, refusals, and pages that say what a step does."""

from __future__ import annotations

import re

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from hpo_envs.core.pages import HEADINGS
from hpo_envs.families.charmini import live, page
from hpo_envs.tables.datasets.charmini import build
from hpo_envs.tables.table import Table
from tests.tables.datasets.charmini.test_build import arrays

CLASSES = (page.CharMiniEnv, page.CharMiniLCEnv, live.CharMiniLiveEnv, live.CharMiniLiveLCEnv)


@pytest.fixture(scope="module")
def table() -> Table:
    return build.assemble("charmini/eng-lstm", arrays())


@pytest.mark.parametrize("of", CLASSES)
def test_pages_have_the_headings_of_all_pages(of: type) -> None:
    assert tuple(re.findall(r"^\s*## (.+)$", of.__doc__ or "", re.MULTILINE)) == HEADINGS


def test_test_scores_are_held_out_in_both_forms(table: Table) -> None:
    env = page.CharMiniEnv(table=table)
    env.reset(seed=3)
    _, reward, _, _, info = env.step(1)
    assert set(info["held_out"]) == set(build.HELD_OUT)
    assert not set(info["held_out"]) & set(info["metrics"])
    assert reward == info["metrics"]["accuracy"]
    envs = page.CharMiniVectorEnv(2, autoreset_mode=AutoresetMode.NEXT_STEP, table=table)
    envs.reset(seed=[3, 4])
    *_, batched = envs.step(np.array([1, 1]))
    assert {name: values[0] for name, values in batched["held_out"].items()} == info["held_out"]
    assert set(batched["metrics"]) == set(info["metrics"])


def test_what_is_held_out_is_no_objective_and_no_cost(table: Table) -> None:
    with pytest.raises(ValueError, match="objective must be one of accuracy, .*, got 'test_accuracy'"):
        page.CharMiniEnv(table=table, objective="test_accuracy")
    with pytest.raises(ValueError, match="cost must be one of evaluations, .*, got 'test_phoneme_error_rate'"):
        page.CharMiniEnv(table=table, cost="test_phoneme_error_rate")


def test_curves_pay_by_the_formula(table: Table) -> None:
    env = page.CharMiniLCEnv(table=table)
    env.reset(seed=0)
    *_, info = env.step(np.array([2, 4]))
    assert info["cost"] == pytest.approx(table.cost[2, 0, 4])
    assert set(info["held_out"]) == set(build.HELD_OUT)


def test_unknown_architectures_are_refused() -> None:
    with pytest.raises(ValueError, match="architecture must be one of lstm, transformer, got 'gru'"):
        page.CharMiniEnv("gru")


def test_live_ids_are_registered_and_not_listed() -> None:
    from hpo_envs.registry import SPECS

    ids = {f"{name}-eng-{arch}-v0" for name in ("CharMiniLive", "CharMiniLiveLC") for arch in ("lstm", "transformer")}
    assert ids <= set(gym.registry)
    assert not ids & set(SPECS)
