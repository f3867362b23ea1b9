"""CharMini: small character models that this project trained, as a table, and trained for real at each step."""

from __future__ import annotations

from hpo_envs.core.family import Distribution, Family, Spec
from hpo_envs.tables.datasets.charmini import ARCHITECTURES, LANGUAGES


def _ids(name: str) -> tuple[Spec, ...]:
    return tuple(
        Spec(
            f"{name}-{language}-{architecture}-v0",
            (f"charmini/{language}-{architecture}",),
            {"architecture": architecture, "language": language},
        )
        for language in LANGUAGES
        for architecture in ARCHITECTURES
    )


def _split(name: str) -> tuple[Distribution, ...]:
    """Languages on the side that CharHPO has them on, and Greek, Korean and Vietnamese, which it lacks, left out."""
    languages = {f"{language}-{architecture}": language for language in LANGUAGES for architecture in ARCHITECTURES}
    return (Distribution(name, f"{name}-{{}}-v0", languages, ("arm", "vie"), ("geo", "gre", "kor", "rum")),)


FINAL = Family(
    name="CharMini",
    dataset="charmini",
    entry_point=f"{__name__}.page:CharMiniEnv",
    ids=_ids("CharMini"),
    distributions=_split("CharMini"),
    references=("wiemerslage2024quantifying", "gorman2020sigmorphon", "lee2020wikipron"),
)

CURVES = Family(
    name="CharMiniLC",
    dataset="charmini",
    entry_point=f"{__name__}.page:CharMiniLCEnv",
    ids=_ids("CharMiniLC"),
    distributions=_split("CharMiniLC"),
    short={"cost": "evaluations", "budget": 4},
    references=("wiemerslage2024quantifying", "gorman2020sigmorphon", "lee2020wikipron"),
)

LIVE = Family(
    name="CharMiniLive",
    dataset="charmini",
    entry_point=f"{__name__}.live:CharMiniLiveEnv",
    ids=_ids("CharMiniLive"),
    listed=False,  # each step trains for real
)

LIVE_CURVES = Family(
    name="CharMiniLiveLC",
    dataset="charmini",
    entry_point=f"{__name__}.live:CharMiniLiveLCEnv",
    ids=_ids("CharMiniLiveLC"),
    listed=False,
)
