"""Lines become rows, repeats and levels."""

from __future__ import annotations

from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from hpo_envs.benchmarks import run
from hpo_envs.tables import user
from hpo_envs.tables.row_order import natural
from tests.tables.user.helpers import write


def test_the_order_of_the_lines_says_nothing(tmp_path: Path) -> None:
    """A file sorted by score has the rows where the same file in another order has them."""
    lines = [f".{i},{'ab'[i % 2]},.{i}5" for i in range(1, 9)]
    orders = [lines, lines[::-1], lines[1::2] + lines[::2]]
    tables = [user.from_csv(write(tmp_path, "\n".join(["lr,kind,acc", *o, ""])), "acc", "max") for o in orders]
    configs = [[t.config(row) for row in range(8)] for t in tables]
    assert configs[0] == configs[1] == configs[2]
    assert all((t.values == tables[0].values).all() for t in tables)


CURVES = "lr,epoch,loss,seconds\n.1,1,2.5,3\n.1,2,2.0,6\n.1,4,1.5,12\n.01,1,2.7,3\n.01,2,2.6,7\n"


def test_checkpoints_become_levels(tmp_path: Path) -> None:
    t = natural(user.from_csv(write(tmp_path, CURVES), "loss", level="epoch", cost="seconds"))
    assert t.levels.tolist() == [1, 2, 4]
    assert t.metrics[0].goal == "min"
    env = gym.make("TableLC-v0", table=t, budget=None)
    check_env(env.unwrapped, skip_render_check=True)
    env.reset(seed=0)
    _, reward, _, _, info = env.step(np.array([1, 1]))
    assert (reward, info["cost"]) == (-2.0, 6.0)
    _, reward, _, _, info = env.step(np.array([1, 2]))
    assert (reward, info["cost"]) == (-1.5, 6.0)
    assert run("hyperband", "TableLC-v0", [0], env_kwargs={"table": t})[0].rewards.max() <= -1.5
    # As a table of final scores, the last checkpoint counts.
    env = gym.make("TableHPO-v0", table=t)
    env.reset()
    assert env.step(0)[1] == -2.6


def test_costs_that_fall_are_refused(tmp_path: Path) -> None:
    text = CURVES.replace(".1,4,1.5,12", ".1,4,1.5,5")
    with pytest.raises(ValueError, match="line 4, column seconds: must be the cost since the start of the run"):
        user.from_csv(write(tmp_path, text), "loss", level="epoch", cost="seconds")
    with pytest.raises(ValueError, match="line 7: must be another configuration than line 6, .*--repeat"):
        user.from_csv(write(tmp_path, CURVES + ".01,2,2.8,7\n"), "loss", level="epoch", cost="seconds")
