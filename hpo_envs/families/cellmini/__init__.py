"""CellMini: recurrent cells that this project trained, as a table, and trained for real when they are complete."""

from __future__ import annotations

from hpo_envs.core.family import Family, Spec

_TABLE = ("cellmini/shakespeare",)
_REFERENCES = ("klyuchnikov2020nasbenchnlp",)

FINAL = Family(
    name="CellMini",
    dataset="cellmini",
    entry_point=f"{__name__}.page:CellMiniEnv",
    ids=(Spec("CellMini-v0", _TABLE),),
    references=_REFERENCES,
)

CURVES = Family(
    name="CellMiniLC",
    dataset="cellmini",
    entry_point=f"{__name__}.page:CellMiniLCEnv",
    ids=(Spec("CellMiniLC-v0", _TABLE),),
    short={"cost": "evaluations", "budget": 4},
    references=_REFERENCES,
)

LIVE = Family(
    name="CellMiniLive",
    dataset="cellmini",
    entry_point=f"{__name__}.live:CellMiniLiveEnv",
    ids=(Spec("CellMiniLive-v0", _TABLE),),
    listed=False,  # each complete cell is trained for real
)
