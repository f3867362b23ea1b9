"""StepLaw: learning rate and batch size of pretraining (Li et al. 2025); needs `hpo-envs fetch steplaw`."""

from hpo_envs.core.family import Family, Spec
from hpo_envs.tables.datasets.steplaw import GRIDS

FAMILY = Family(
    name="StepLaw", dataset="steplaw", entry_point=f"{__name__}.page:StepLawEnv", references=("li2025steplaw",),
    ids=tuple(Spec(f"StepLaw-{grid}-v0", (f"steplaw/{grid}",), {"grid": grid}) for grid in GRIDS),
)  # fmt: skip
