"""NMTHPO: hyperparameter optimisation of transformers for machine translation (Zhang and Duh 2020)."""

from hpo_envs.core.family import Distribution, Family, Spec
from hpo_envs.tables.datasets.nmthpo import BUDGETS, LANGUAGES, PAIRS, SHARED_GRID


def _ids(pair: str) -> tuple[Spec, Spec]:
    """Return the entries of a language pair: the id with one objective, and the one with two."""
    tables = (f"nmthpo/{pair}",)
    two = {"objective": ("bleu", "decoding_seconds"), "budget": BUDGETS[pair]}
    return (
        Spec(f"NMTHPO-{pair}-v0", tables, {"pair": pair}),
        Spec(f"NMTHPO-{pair}-mo-v0", tables, {"pair": pair, **two}),
    )


FAMILY = Family(
    name="NMTHPO", dataset="nmthpo", entry_point=f"{__name__}.page:NMTHPOEnv", references=("zhang2020reproducible",),
    ids=(
        *(spec for pair in PAIRS for spec in _ids(pair)),
        Spec("NMTHPO-v0", tuple(f"nmthpo/{p}-grid" for p in SHARED_GRID), {}, f"{__name__}.page:NMTHPOGridEnv"),
    ),
    distributions=(
        Distribution("NMTHPO", "NMTHPO-{}-v0", LANGUAGES, ("ru",), ("zh", "so")),
        Distribution("NMTHPO-v0", "NMTHPO-v0", {p: LANGUAGES[p] for p in SHARED_GRID}, ("ru",), ("zh",), "pairs"),
    ),
)  # fmt: skip
