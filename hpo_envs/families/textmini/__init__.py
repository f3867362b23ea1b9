"""TextMini: small text models trained by this project: tables, and environments that train in the step."""

import functools
from collections.abc import Iterator, Mapping
from typing import Any

from hpo_envs.core.family import Distribution, Family, Spec
from hpo_envs.tables import catalogue
from hpo_envs.tables.datasets.textmini import LABELS

LIVE_MODELS = ("joint", "crf")
"""Model classes that are trained at each step."""

DIVIDED = {"joint": (("UDHR, language",), ("BANKING77, intent", "WNUT17, mentions")), "crf": (("wol",), ("vie",))}
"""Model class that has a split -> groups or languages of its validation part, and of its test part."""


def _family(name: str, entry_point: str, models: tuple[str, ...] = (), **more: Any) -> Family:
    ids = []
    for label in LABELS:
        task, _, model = label.partition("-")
        if not models or model in models:
            fixed = {"task": task, "model": model}
            ids.append(Spec(f"{name}-{label}-v0", (f"textmini/{label}",), fixed))
    return Family(name=name, dataset="textmini", entry_point=f"{__name__}.{entry_point}", ids=tuple(ids), **more)


class _HeldOut(Mapping[str, str]):
    """Task of a model class -> its held-out language or task group, read from the catalogue on first access."""

    def __init__(self, model: str) -> None:
        self.model = model

    @functools.cached_property
    def _known(self) -> dict[str, str]:
        tasks = [task for task, _, model in (label.partition("-") for label in LABELS) if model == self.model]
        return {task: catalogue.held_out()[f"textmini/{task}-{self.model}"] for task in tasks}

    def __getitem__(self, task: str) -> str:
        return self._known[task]

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)


def _measured(name: str, entry_point: str, **more: Any) -> Family:
    """Return a family with one distribution per model class of `DIVIDED`, whose tables have the same configurations."""
    splits = (
        Distribution(f"{name}-{model}", f"{name}-{{}}-{model}-v0", _HeldOut(model), *parts)
        for model, parts in DIVIDED.items()
    )
    return _family(name, entry_point, distributions=tuple(splits), **more)


FINAL = _measured("TextMini", "page:TextMiniEnv", leaderboard=({}, {"budget": 40}))
CURVES = _measured("TextMiniLC", "page:TextMiniLCEnv", short={"cost": "evaluations", "budget": 4})
LIVE = _family("TextMiniLive", "live:TextMiniLiveEnv", LIVE_MODELS, listed=False)  # each step trains for real
