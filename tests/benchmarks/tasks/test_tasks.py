"""Splits of tasks: disjoint, complete, usable, and the arguments that restrict what is drawn."""

from fnmatch import fnmatch

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import data_equivalence

from hpo_envs.benchmarks import tasks
from hpo_envs.core.family import IdArguments
from hpo_envs.families import registry
from hpo_envs.tables.datasets.charmini import LANGUAGES, SHARED_TASK
from tests.helpers import rejects

PARTS = ("train", "validation", "test")


def labels(split: tasks.TaskSplit, part: str) -> list[str]:
    return [str(task) for task in getattr(split, part)]


def part_of(name: str, task: IdArguments) -> str:
    """The part of a task, by the label in its id or arguments."""
    env_id, kwargs = task
    d = tasks.DISTRIBUTIONS[name]
    start, end = d.ids.split("{}") if not kwargs else ("", "")
    return d.held_out[next(iter(kwargs.values()))[0] if kwargs else env_id.removeprefix(start).removesuffix(end)]


@pytest.mark.parametrize("name", tasks.names())
def test_splits_are_disjoint_and_complete(name: str) -> None:
    split = tasks.split(name)
    parts = [labels(split, p) for p in PARTS]
    assert all(parts) or (name.startswith("CharMini") and parts[0] and set(LANGUAGES) < {"eng", *SHARED_TASK})
    together = [t for p in parts for t in p]
    assert len(together) == len(set(together)) == len(tasks.DISTRIBUTIONS[name].held_out)
    known = [[part_of(name, t) for t in getattr(split, p)] for p in PARTS]
    for i in range(3):
        for j in range(i):
            assert not set(known[i]) & set(known[j]), "a language or task group is on two sides"


@pytest.mark.parametrize("name", [d.name for d in tasks.DISTRIBUTIONS.values() if not d.argument])
def test_splits_cover_every_id_of_their_family_that_is_one_task_and_has_one_objective(name: str) -> None:
    ids = {t[0] for p in PARTS for t in getattr(tasks.split(name), p)}
    family = registry.family_of(next(iter(ids)))
    assert family is not None
    one = {s.id for s in family.ids if len(s.tables) == 1 and not isinstance(s.kwargs.get("objective"), tuple)}
    assert ids == {i for i in one if fnmatch(i, tasks.DISTRIBUTIONS[name].ids.format("*"))}
    assert ids == one or family.dataset == "textmini"  # a distribution for each class of models


@pytest.mark.parametrize(
    ("name", "count", "languages"),
    [
        ("NMTHPO", 6, "zh ru ja sw so"),
        ("NMTHPO-v0", 4, "zh ru ja"),
        ("NMTLC", 8, "zh ru ja sw so fr"),
        ("CharHPO", 24, "alb ara cat dut gle hai hun rom arm_e geo"),
        ("CharHPO-v0", 24, "alb ara cat dut gle hai hun rom arm_e geo"),
        ("CharMini", 2 * len(LANGUAGES), " ".join(LANGUAGES)),
        ("CharMiniLC", 2 * len(LANGUAGES), " ".join(LANGUAGES)),
    ],
)
def test_how_many_tasks_in_which_languages(name: str, count: int, languages: str) -> None:
    assert (len(tasks.DISTRIBUTIONS[name].held_out), tasks.held_out(name)) == (count, languages.split())


def test_tables_in_english_are_divided_by_task_groups_and_others_by_languages() -> None:
    known = tasks.DISTRIBUTIONS["TextMini-joint"].held_out
    assert (known["banking"], known["case_rus"]) == ("BANKING77, intent", "rus")
    assert len(tasks.leave_one_out("TextMini-joint")) == len(known)
    assert set(tasks.held_out("TextMini-crf")) == {"WNUT17, named entities", "mlt", "vie", "wol"}
    assert tasks.split("TextMini-crf").test == (("TextMini-tones_vie-crf-v0", {}), ("TextMini-words_vie-crf-v0", {}))


@pytest.mark.parametrize("name", tasks.names())
def test_leave_one_out(name: str) -> None:
    splits = tasks.leave_one_out(name)
    assert list(splits) == tasks.held_out(name)
    tested = [t for s in splits.values() for t in labels(s, "test")]
    assert len(tested) == len(set(tested)) == len(tasks.DISTRIBUTIONS[name].held_out)
    for language, s in splits.items():
        assert not s.validation
        assert len(s.train) + len(s.test) == len(tasks.DISTRIBUTIONS[name].held_out)
        assert {part_of(name, t) for t in s.test} == {language}
        assert language not in {part_of(name, t) for t in s.train}


@pytest.mark.parametrize("name", ["NMTHPO-v0", "CharHPO-v0"])
def test_drawn_episodes_are_of_part_and_all_of_it(name: str) -> None:
    split = tasks.split(name)
    for part in PARTS:
        env_id, kwargs = split.drawn(part)
        expected = set(next(iter(kwargs.values())))
        envs = gym.make_vec(env_id, num_envs=256, **kwargs)
        _, info = envs.reset(seed=3)
        assert {t.partition("/")[2].removesuffix("-grid") for t in info["table"]} == expected
        env = gym.make(env_id, **kwargs)
        assert env.reset(seed=3)[1]["table"] == info["table"][0]


def test_restrictions_change_no_other_number() -> None:
    """An id without the new arguments draws as before; a restricted one answers like the whole one."""
    every = ("zhen", "ruen", "jaen", "enja")
    whole, same = (gym.make("NMTHPO-v0", **k) for k in ({}, {"pairs": every}))
    one = gym.make("NMTHPO-v0", pairs="enja")
    for seed in range(5):
        assert data_equivalence(whole.reset(seed=seed)[1], same.reset(seed=seed)[1])
    whole.reset(options={"table": "enja"})
    one.reset()
    for action in ([0, 0, 0, 0, 0, 0], [2, 1, 2, 1, 1, 2]):
        assert whole.step(np.array(action))[1] == one.step(np.array(action))[1]


@pytest.mark.parametrize(
    ("env_id", "kwargs", "message"),
    [
        ("NMTHPO-v0", {"pairs": ("zhen", "ruem")}, "pair in pairs must be one of .*, got 'ruem', did you mean 'ruen'"),
        ("NMTHPO-v0", {"pairs": ()}, "pairs must be distinct and not empty"),
        ("NMTHPO-v0", {"pairs": ("zhen", "zhen")}, "pairs must be distinct"),
        ("CharHPO-v0", {"sweeps": ("g2p-geo-lstn",)}, "got 'g2p-geo-lstn'"),
        ("CharHPO-v0", {"sweeps": ("g2p-geo-lstm",), "architecture": "transformer"}, "sweeps must have a task in"),
    ],
)
def test_wrong_restrictions(env_id: str, kwargs: dict[str, object], message: str) -> None:
    rejects(message, gym.make, env_id, **kwargs)


def test_wrong_names() -> None:
    rejects("name must be one of .*, did you mean 'NMTLC'", tasks.split, "NMTL")
    rejects("version must be 1, got 2", tasks.split, "NMTLC", 2)
    rejects("part must be one of .*, got 'tset'", tasks.split("NMTHPO-v0").drawn, "tset")
    rejects("NMTLC must draw its tasks", tasks.split("NMTLC").drawn, "test")
    rejects("have some in 'validation'", tasks.leave_one_out("NMTHPO-v0")["zh"].drawn, "validation")
