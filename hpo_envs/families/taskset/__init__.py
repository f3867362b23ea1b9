"""TaskSet: tuning the optimizer of recurrent text classifiers (Metz et al. 2020); final results, learning curves."""

from typing import Any

from hpo_envs.core.family import Family, Spec
from hpo_envs.tables.datasets.taskset import TASKS


def _family(name: str, entry_point: str, **more: Any) -> Family:
    ids = tuple(Spec(f"{name}-{task}-v0", (f"taskset/{task}",), {"task": task}) for task in TASKS)
    entry_point = f"{__name__}.page:{entry_point}"
    return Family(name, "taskset", entry_point, ids, references=("metz2020thousand", "kadra2023scaling"), **more)


FINAL = _family("TaskSet", "TaskSetEnv", leaderboard=({}, {"budget": 40}))
CURVES = _family("TaskSetLC", "TaskSetLCEnv", short={"cost": "evaluations", "budget": 4})
