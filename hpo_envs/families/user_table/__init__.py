"""TableHPO and TableLC: environments on the user's own tables, made with `hpo_envs.tables.user`."""

from hpo_envs.core.family import Family, Spec

FINAL = Family(
    name="TableHPO", dataset="user", entry_point=f"{__name__}.page:TableHPOEnv",
    ids=(Spec("TableHPO-v0", ("user/example",)),), user_levels=1,
)  # fmt: skip

CURVES = Family(
    name="TableLC", dataset="user", entry_point=f"{__name__}.page:TableLCEnv",
    ids=(Spec("TableLC-v0", ("user/example",)),), user_levels=2,
    listed=False,  # without a table as argument there is none with checkpoints
)  # fmt: skip
