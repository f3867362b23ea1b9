"""FIESTA: model selection as a bandit (Moss et al. 2019)."""

from hpo_envs.core.family import Family, Spec
from hpo_envs.tables.datasets.fiesta import TASKS

FAMILY = Family(
    name="FIESTA", dataset="fiesta", entry_point=f"{__name__}.page:FIESTAEnv",
    ids=tuple(Spec(f"FIESTA-{task}-v0", (f"fiesta/{task}",), {"task": task}) for task in TASKS), score="final",
    leaderboard=({}, {"budget": 102}, {"budget": 408}), references=("moss2019fiesta",),
)  # fmt: skip
