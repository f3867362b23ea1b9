"""CellMini: recurrent cells trained by this project: a table, and an environment that trains in the step."""

from typing import Any

from hpo_envs.core.family import Family, Spec


def _family(name: str, entry_point: str, **more: Any) -> Family:
    ids = (Spec(f"{name}-v0", ("cellmini/shakespeare",)),)
    return Family(name=name, dataset="cellmini", entry_point=f"{__name__}.{entry_point}", ids=ids, **more)


_REFERENCES = ("klyuchnikov2020nasbenchnlp",)
FINAL = _family("CellMini", "page:CellMiniEnv", references=_REFERENCES)
CURVES = _family("CellMiniLC", "page:CellMiniLCEnv", references=_REFERENCES, short={"cost": "evaluations", "budget": 4})
LIVE = _family("CellMiniLive", "live:CellMiniLiveEnv", listed=False)  # each complete cell is trained for real
