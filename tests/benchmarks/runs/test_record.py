"""The record of a run: entries of its evaluations, and its header."""

import functools
import operator
from pathlib import Path

import gymnasium as gym

from hpo_envs.benchmarks.runs import run
from hpo_envs.benchmarks.runs.provenance import called
from hpo_envs.benchmarks.runs.record import EpisodeLog, copied
from hpo_envs.benchmarks.study import store


def test_headers_say_what_was_run() -> None:
    (r,) = run("random", "NMTHPO-v0", [3], budget=5)
    assert (len(r), r.header["env"], r.header["kind"]) == (5, "NMTHPO-v0", "measured")
    assert r.header["table"].startswith("nmthpo/")
    assert len(r.header["sha256"]) == 64
    assert r.header["seed"] == r.seed == 3
    assert r.header["objectives"] == ["bleu"]
    assert {"hpo_envs", "python", "numpy", "gymnasium"} <= r.header["versions"].keys()


def test_callables_have_name_wherever_they_are_in_memory() -> None:
    bound = functools.partial(functools.partial(run, "bo", seeds=[1]), key=len, log=EpisodeLog(), other=object())
    of = "hpo_envs.benchmarks.runs.loop:run"
    assert called(run) == of
    assert called(bound) == f"{of}('bo', seeds=[1], key=builtins:len, log={EpisodeLog()!r}, other=<object>)"
    assert called(EpisodeLog().add) == "hpo_envs.benchmarks.runs.record:EpisodeLog.add"
    assert called(operator.itemgetter(1)) == "operator:itemgetter"


def test_each_pull_of_a_batch_has_an_entry() -> None:
    log = EpisodeLog()
    log.add([3, 5], 1.5, {"status": "ok", "cost": 2.0, "price": 3.0, "scores": [1.0, 2.0]})
    log.add(4, 0.5, {"status": "ok", "cost": 1.0, "price": 7.0})
    assert (log.actions, log.rewards, log.costs, log.statuses) == ([3, 5, 4], [1.0, 2.0, 0.5], [1.0, 1.0, 1.0], [0] * 3)
    assert log.prices == [1.5, 1.5, 7.0]


def test_moves_are_kept_by_evaluation() -> None:
    log = EpisodeLog()
    for action, finished in [(1, False), (2, True), (3, False)]:
        log.move(action, finished)
    assert log.moves == [[1, 2], [3]]


def test_headers_are_each_runs_own() -> None:
    first, second = run("random", "NMTHPO-zhen-v0", [0, 1], env_kwargs={"subsample": 0.5})
    assert first.header["scale"]["best"] is not second.header["scale"]["best"]
    first.header["scale"]["signs"].append(1.0)
    first.header["numbers"].clear()
    assert second.header["scale"]["signs"] == [1.0]
    assert second.header["numbers"]
    plain = {"a": [1, {"b": [2]}], "c": None}
    copy = copied(plain)
    assert copy == plain
    copy["a"][1]["b"].append(3)
    assert plain == {"a": [1, {"b": [2]}], "c": None}


def test_headers_have_the_seed_that_draws_the_episode_of_a_run_also_when_stored(tmp_path: Path) -> None:
    runs = run("random", "NMTHPO-zhen-v0", seeds=[3, 11], env_kwargs={"subsample": 0.5})
    store.write(runs, tmp_path)
    one = store.read(tmp_path)[1]
    assert one.header == runs[1].header
    env = gym.make("NMTHPO-zhen-v0", shuffle=one.header["shuffle"], subsample=one.header["subsample"])
    env.reset(seed=one.header["reset_seed"])
    rows = env.unwrapped.rows.tolist()
    assert len(rows) == 59
    for row, reward, cost in zip(one.actions, one.rewards, one.costs, strict=True):
        _, found, *_, info = env.step(rows.index(row))
        assert (found, info["cost"]) == (reward, cost)
