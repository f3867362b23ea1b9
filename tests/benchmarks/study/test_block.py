"""Blocks of runs, calls in processes, and expected runs."""

import dataclasses
import itertools
import json
import math
import types
from pathlib import Path

import numpy as np
import pytest

from hpo_envs.benchmarks.runs import Run, executors, run
from hpo_envs.benchmarks.study import manifest, store
from hpo_envs.benchmarks.study import task as work
from hpo_envs.benchmarks.study.block import Block, blocks_of, layout_of
from hpo_envs.benchmarks.study.study import Entrant, Environment
from hpo_envs.benchmarks.study.task import StudyTask, perform, remainder
from tests.helpers import rejects


@pytest.fixture(scope="module")
def runs() -> list[Run]:
    made = run("random", "FIESTA-tdsa8-v0", range(4), budget=9)
    short = dataclasses.replace(
        made[1],
        **{name: getattr(made[1], name)[:5] for name in ("actions", "rewards", "costs")},
        evaluated={name: values[:5] for name, values in made[1].evaluated.items()},
    )
    return [made[0], short, *made[2:]]


def test_block_gives_its_runs_back(runs: list[Run]) -> None:
    block = Block.of(runs)
    assert (len(block), block.starts.tolist()) == (4, [0, 9, 14, 23, 32])
    assert (store.digest(block.runs()), block.header_of(1)) == (store.digest(runs), runs[1].header)
    assert not set(block.header) & {"seed", *block.rest[0]}
    assert block.run(1).actions.base is None
    assert block.arrays["truth"].shape == (32,)
    assert block.arrays["recommended_truth"].tolist() == [r.recommended_truth for r in runs]


def test_some_of_runs(runs: list[Run]) -> None:
    some = Block.of(runs).take(np.array([3, 1]))
    assert (some.seeds.tolist(), store.digest(some.runs())) == ([3, 1], store.digest([runs[3], runs[1]]))
    assert len(Block.of(runs).take(np.array([], np.intp))) == 0


def test_runs_of_one_layout_are_together(runs: list[Run]) -> None:
    other = run("random", "NMTHPO-zhen-v0", [0], budget=2)
    blocks = list(blocks_of([runs[0], *other, *runs[1:]]))
    assert [(b.header["env"], len(b)) for b in blocks] == [("FIESTA-tdsa8-v0", 4), ("NMTHPO-zhen-v0", 1)]
    rejects("arrays of the same types and shapes", Block.of, [runs[0], *other])
    rejects("action must hold numbers", layout_of, dataclasses.replace(runs[0], actions=np.array(["a"])))


def test_tasks_take_about_their_time_and_lose_no_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = itertools.count()
    clock = types.SimpleNamespace(perf_counter=lambda: next(ticks) / 10)  # each look at it is a tenth of a second later
    monkeypatch.setattr(work, "time", clock)
    environment = Environment("NMTHPO-zhen-v0", {})
    task = StudyTask(environment, Entrant("random", "random"), tuple(range(50)), seconds=0.35)
    done = perform(task)  # batches of 1, 2, 2 and 1 begin before the time is over
    rest = remainder(done)
    assert [r.seed for r in done.runs] == list(range(6))
    assert [len(t.seeds) for t in rest] == [4] * 11  # six runs took half a second
    assert [s for t in rest for s in t.seeds] == list(range(6, 50))


@pytest.mark.parametrize("jobs", [1, 2])
def test_map_has_every_result_under_its_index(jobs: int) -> None:
    with executors.of_jobs(jobs) as executor:
        assert (executor.workers, dict(executor.map(math.factorial, [5, 0, 3]))) == (jobs, {0: 120, 1: 1, 2: 6})
        assert dict(executor.map(math.factorial, [])) == {}
        with pytest.raises(ValueError, match="not defined for negative"):
            list(executor.map(math.factorial, [-1]))


def test_one_process_takes_calls_in_order() -> None:
    executor = executors.Calls()
    executor.submit(math.sqrt, 4.0)
    executor.submit(math.sqrt, 9.0)
    assert [executor.next(), executor.next()] == [2.0, 3.0]


def test_expected_runs_are_kept_and_extended(tmp_path: Path) -> None:
    assert manifest.read(tmp_path) is None
    assert manifest.missing(tmp_path, {}) == ""
    assert "there is no study.json" in manifest.missing(tmp_path, {("E-v0", "a"): [0]})
    manifest.note(tmp_path, {("E-v0", "a"): (0, 1, 2, 7), ("E-v0", "b"): (0,)})
    assert manifest.read(tmp_path) == {("E-v0", "a"): {0, 1, 2, 7}, ("E-v0", "b"): {0}}
    (tmp_path / "E-v0").mkdir()
    (tmp_path / "E-v0" / "part.parquet").touch()
    manifest.note(tmp_path, {("E-v0", "a"): (3,)})
    assert manifest.read(tmp_path) == {("E-v0", "a"): {0, 1, 2, 3, 7}, ("E-v0", "b"): {0}}
    here = {("E-v0", "a"): [0, 2, 3, 7], ("E-v0", "b"): [0, 5]}
    assert manifest.missing(tmp_path, here) == "INCOMPLETE: 1 of 6 runs of the study are missing: a on E-v0, seeds 1."
    assert manifest.missing(tmp_path, {}).endswith("a on E-v0, seeds 0-3, 7; b on E-v0, seeds 0.")
    (tmp_path / "E-v0" / "part.parquet").unlink()
    manifest.note(tmp_path, {("E-v0", "a"): (3,)})
    assert manifest.read(tmp_path) == {("E-v0", "a"): {3}}, "runs that were deleted are made otherwise"


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", '{"format": 2, "runs": {}}', '{"format": 1, "runs": {"E": 3}}', "[" * 5000]
    + [json.dumps({"format": 1, "runs": {"E": {agent: [[0, 999_999]] for agent in "abcde"}}})]
    + [
        f'{{"format": 1, "runs": {{"E": {{"a": [{pair}]}}}}}}'
        for pair in ("[0, 1e9]", "[0, 999999999999]", "[2, 1]", "3")
    ],
)
@pytest.mark.hostile
def test_damaged_files_are_rejected(tmp_path: Path, text: str) -> None:
    (tmp_path / "study.json").write_text(text)
    rejects(r"study.json must list runs in the format of hpo_envs, got ", manifest.read, tmp_path)
    (tmp_path / manifest.NAME).write_text("[1]")
    rejects("study.json must list commands as strings, got ", manifest.commands, tmp_path)
