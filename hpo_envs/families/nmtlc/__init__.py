"""NMTLC: learning curves of machine translation systems as multi-fidelity environments."""

from hpo_envs.core.family import Distribution, Family, Spec
from hpo_envs.tables.datasets.nmtlc import CORPORA, LANGUAGES

FAMILY = Family(
    name="NMTLC", dataset="nmtlc", entry_point=f"{__name__}.page:NMTLCEnv",
    ids=tuple(Spec(f"NMTLC-{corpus}-v0", (f"nmtlc/{corpus}",), {"corpus": corpus}) for corpus in CORPORA),
    distributions=(Distribution("NMTLC", "NMTLC-{}-v0", LANGUAGES, ("ru",), ("zh", "so")),),
    short={"cost": "evaluations", "budget": 4}, references=("zhang2024best", "zhang2020reproducible"),
)  # fmt: skip
