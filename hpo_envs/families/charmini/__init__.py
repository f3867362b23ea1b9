"""CharMini: small character models trained by this project: a table, and environments that train in the step."""

from typing import Any

from hpo_envs.core.family import Distribution, Family, Spec
from hpo_envs.tables.datasets.charmini import ARCHITECTURES, LANGUAGES

_TASKS = {f"{language}-{architecture}": language for language in LANGUAGES for architecture in ARCHITECTURES}
"""Label of each task -> its language."""


def _family(name: str, entry_point: str, **more: Any) -> Family:
    ids = []
    for label, language in _TASKS.items():
        fixed = {"architecture": label.removeprefix(f"{language}-"), "language": language}
        ids.append(Spec(f"{name}-{label}-v0", (f"charmini/{label}",), fixed))
    return Family(name=name, dataset="charmini", entry_point=f"{__name__}.{entry_point}", ids=tuple(ids), **more)


def _measured(name: str, entry_point: str, **more: Any) -> Family:
    """Return a family with CharHPO's split of common languages, Vietnamese in validation, Greek and Korean in test."""
    split = Distribution(name, f"{name}-{{}}-v0", _TASKS, ("arm", "vie"), ("geo", "gre", "kor", "rum"))
    cited = ("wiemerslage2024quantifying", "gorman2020sigmorphon", "lee2020wikipron")
    return _family(name, entry_point, distributions=(split,), references=cited, **more)


FINAL = _measured("CharMini", "page:CharMiniEnv", leaderboard=({}, {"budget": 40}))
CURVES = _measured("CharMiniLC", "page:CharMiniLCEnv", short={"cost": "evaluations", "budget": 4})
LIVE = _family("CharMiniLive", "live:CharMiniLiveEnv", listed=False)  # each step trains for real
LIVE_CURVES = _family("CharMiniLiveLC", "live:CharMiniLiveLCEnv", listed=False)
