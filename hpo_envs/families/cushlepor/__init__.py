"""CushLEPOR: tuning the weights of a translation metric against human scores (Han et al. 2021)."""

from __future__ import annotations

from hpo_envs.core.family import Family, Spec

FAMILY = Family(
    name="CushLEPOR",
    dataset="cushlepor",
    entry_point=f"{__name__}.page:CushLEPOREnv",
    ids=(Spec("CushLEPOR-ted-ende-v0", ("cushlepor/ted-ende",), {"pair": "ted-ende"}),),
    optimum="hpo_envs.benchmarks.papers.cushlepor.optimum:of_run",
    references=("freitag2021experts", "han2021cushlepor"),
)
