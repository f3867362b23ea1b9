import pytest

from hpo_envs.benchmarks.study import trainings
from hpo_envs.benchmarks.study.executors import Processes


def train(task):
    return {"task": task, "value": len(task)}


class Killed(BaseException):
    pass


def test_killed_sweep_goes_on_without_losing_or_repeating_training(tmp_path):
    tasks, made = [f"t-{i}" for i in range(6)], []

    def fragile(task):
        if len(made) == 4 and not again:
            raise Killed
        made.append(task)
        return train(task)

    again = False
    with pytest.raises(Killed):
        trainings.conduct(tasks, fragile, tmp_path / "new")
    again = True
    seen = []
    count = trainings.conduct(tasks, fragile, tmp_path / "new", known=["t-5"], watch=lambda *a: seen.append(a))
    assert count == 1
    assert made == tasks[:5]
    assert seen == [(5, 6, None), (6, 6, {"task": "t-4", "value": 3})]
    assert [r["task"] for r in trainings.records(tmp_path / "new")] == tasks[:5]


def test_processes_make_same_trainings(tmp_path):
    tasks = [f"t-{i}" for i in range(5)]
    with Processes(2) as executor:
        trainings.conduct(tasks, train, tmp_path, executor)
    assert sorted(r["task"] for r in trainings.records(tmp_path)) == tasks


def test_nothing_to_read(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"trainings must be in .*trainings\.jsonl"):
        trainings.records(tmp_path)
