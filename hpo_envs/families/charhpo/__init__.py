"""CharHPO: hyperparameter optimisation of character transduction models (Wiemerslage et al. 2024), and a surrogate."""

from hpo_envs.core.family import Distribution, Family, Spec
from hpo_envs.tables.datasets.charhpo import SWEEPS, TABLES

_LANGUAGES = {f"{task}-{lang}-{architecture}": lang for task, lang, architecture in SWEEPS}


def _sweep(task: str, lang: str, architecture: str) -> Spec:
    name, kwargs = f"{task}-{lang}-{architecture}", {"task": task, "lang": lang, "architecture": architecture}
    return Spec(f"CharHPO-{name}-v0", (f"charhpo/{name}",), kwargs)


FAMILY = Family(
    name="CharHPO", dataset="charhpo", entry_point=f"{__name__}.page:CharHPOEnv",
    ids=(
        *(_sweep(*sweep) for sweep in SWEEPS),
        Spec("CharHPO-v0", TABLES, {}, f"{__name__}.space:CharSpaceEnv", surrogate=True),
    ),
    distributions=(
        Distribution("CharHPO", "CharHPO-{}-v0", _LANGUAGES, ("hai", "arm_e"), ("rom", "geo")),
        Distribution("CharHPO-v0", "CharHPO-v0", _LANGUAGES, ("hai", "arm_e"), ("rom", "geo"), "sweeps"),
    ),
    leaderboard=({}, {"budget": 40}), references=("wiemerslage2024quantifying",),
)  # fmt: skip
