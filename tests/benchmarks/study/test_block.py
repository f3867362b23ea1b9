"""Runs as columns are the runs, whichever of them are taken."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from hpo_envs.benchmarks.runs import Run, run
from hpo_envs.benchmarks.study import store
from hpo_envs.benchmarks.study.block import Block, blocks_of, layout_of


@pytest.fixture(scope="module")
def runs() -> list[Run]:
    made = run("random", "FIESTA-tdsa8-v0", range(4), budget=9)
    short = dataclasses.replace(
        made[1],
        **{name: getattr(made[1], name)[:5] for name in ("actions", "rewards", "costs")},
        evaluated={name: values[:5] for name, values in made[1].evaluated.items()},
    )
    return [made[0], short, *made[2:]]


def test_a_block_gives_its_runs_back(runs: list[Run]) -> None:
    block = Block.of(runs)
    assert len(block) == 4
    assert block.starts.tolist() == [0, 9, 14, 23, 32]
    assert store.digest(block.runs()) == store.digest(runs)
    assert block.header_of(1) == runs[1].header
    assert not set(block.header) & {"seed", *block.rest[0]}
    assert block.run(1).actions.base is None
    assert block.array("truth").shape == (32,)
    assert block.array("recommended_truth").tolist() == [r.recommended_truth for r in runs]


def test_some_of_the_runs(runs: list[Run]) -> None:
    some = Block.of(runs).take(np.array([3, 1]))
    assert some.seeds.tolist() == [3, 1]
    assert store.digest(some.runs()) == store.digest([runs[3], runs[1]])
    assert len(Block.of(runs).take(np.array([], np.intp))) == 0


def test_runs_of_one_layout_are_together(runs: list[Run]) -> None:
    other = run("random", "NMTHPO-zhen-v0", [0], budget=2)
    blocks = list(blocks_of([runs[0], *other, *runs[1:]]))
    assert [(b.header["env"], len(b)) for b in blocks] == [("FIESTA-tdsa8-v0", 4), ("NMTHPO-zhen-v0", 1)]
    with pytest.raises(ValueError, match="arrays of the same types and shapes"):
        Block.of([runs[0], *other])
    with pytest.raises(ValueError, match="actions must be numbers"):
        layout_of(dataclasses.replace(runs[0], actions=np.array(["a"])))
