"""CharMini: small character models that this project trained, as a table, and trained for real at each step."""

from __future__ import annotations

from hpo_envs.core.family import Family, Spec
from hpo_envs.tables.datasets.charmini.names import ARCHITECTURES


def _ids(name: str) -> tuple[Spec, ...]:
    return tuple(
        Spec(f"{name}-eng-{architecture}-v0", (f"charmini/eng-{architecture}",), {"architecture": architecture})
        for architecture in ARCHITECTURES
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
