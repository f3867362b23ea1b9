"""FunctionHPO and FunctionLC: a user's function as an environment."""

from __future__ import annotations

from hpo_envs.core.family import Family, Spec
from hpo_envs.families.function import example

FINAL = Family(
    name="FunctionHPO",
    dataset="user",
    entry_point=f"{__name__}.page:FunctionHPOEnv",
    ids=(Spec("FunctionHPO-v0", ("function/function",)),),
    listed=False,  # without a function as argument there is nothing to call
    example={"function": f"{example.__name__}:train", "space": example.SPACE},
)

CURVES = Family(
    name="FunctionLC",
    dataset="user",
    entry_point=f"{__name__}.page:FunctionLCEnv",
    ids=(Spec("FunctionLC-v0", ("function/function",)),),
    listed=False,
    example={"function": f"{example.__name__}:train_epochs", "space": example.SPACE, "epochs": example.EPOCHS},
)
