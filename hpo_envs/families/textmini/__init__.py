"""TextMini: small models of text on different tasks that this project trained, as tables, and trained at each step."""

from typing import Any

from hpo_envs.core.family import Family, Spec
from hpo_envs.tables.datasets.textmini import LABELS

LIVE_MODELS = ("joint", "crf")
"""Model classes that are trained at each step."""


def _family(name: str, entry_point: str, models: tuple[str, ...] = (), **more: Any) -> Family:
    ids = []
    for label in LABELS:
        task, _, model = label.partition("-")
        if not models or model in models:
            fixed = {"task": task, "model": model}
            ids.append(Spec(f"{name}-{label}-v0", (f"textmini/{label}",), fixed))
    return Family(name=name, dataset="textmini", entry_point=f"{__name__}.{entry_point}", ids=tuple(ids), **more)


FINAL = _family("TextMini", "page:TextMiniEnv", leaderboard=({}, {"budget": 40}))
CURVES = _family("TextMiniLC", "page:TextMiniLCEnv", short={"cost": "evaluations", "budget": 4})
LIVE = _family("TextMiniLive", "live:TextMiniLiveEnv", LIVE_MODELS, listed=False)  # each step trains for real
