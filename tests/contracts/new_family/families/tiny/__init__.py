"""Tiny: which of twelve taggers to use."""

from hpo_envs.core.family import Family, Spec

FAMILY = Family(
    name="Tiny",
    dataset="tiny",
    entry_point=f"{__name__}.page:TinyEnv",
    ids=(Spec("Tiny-taggers-v0", ("tiny/taggers",)),),
)
