"""FunctionHPO and FunctionLC: a user's function as an environment."""

from typing import Any

from hpo_envs.core.family import Family, Spec

SPACE: dict[str, Any] = {
    "lr": {"low": 1e-5, "high": 1e-1, "log": True},
    "optimizer": ["sgd", "adam"],
    "momentum": {"low": 0.0, "high": 0.99, "if": {"optimizer": ["sgd"]}},
    "layers": {"low": 1, "high": 8},
}
"""Search space of both examples."""

EPOCHS = 9

FINAL = Family(
    name="FunctionHPO", dataset="user", entry_point=f"{__name__}.page:FunctionHPOEnv",
    ids=(Spec("FunctionHPO-v0", ("function/function",)),),
    listed=False,  # without a function as argument there is nothing to call
    example={"function": f"{__name__}.example:train", "space": SPACE},
)  # fmt: skip

CURVES = Family(
    name="FunctionLC", dataset="user", entry_point=f"{__name__}.page:FunctionLCEnv",
    ids=(Spec("FunctionLC-v0", ("function/function",)),), listed=False,
    example={"function": f"{__name__}.example:train_epochs", "space": SPACE, "epochs": EPOCHS},
)  # fmt: skip
