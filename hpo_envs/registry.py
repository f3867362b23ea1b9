"""Every id of the suite: one row each."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import gymnasium as gym


@dataclass(frozen=True)
class Spec:
    """One registered id.

    Attributes:
        id: What `gym.make` takes.
        family: Name of the family in listings.
        entry_point: `module:Class` of the scalar form.
        vector_entry_point: `module:Class` of the batched form.
        tables: Names of the tables that answer.
        kwargs: Arguments that the id fixes; callers may override them.
        surrogate_only: Whether no measured table can answer, because nobody measured the whole space.
    """

    id: str
    family: str
    entry_point: str
    vector_entry_point: str
    tables: tuple[str, ...]
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    surrogate_only: bool = False


_PAIRS = ("zhen", "ruen", "jaen", "enja", "swen", "soen")
_BIG = ("swen", "soen")


def _nmthpo() -> list[Spec]:
    env, vector = "hpo_envs.families.nmthpo.page:NMTHPOEnv", "hpo_envs.families.nmthpo.page:NMTHPOVectorEnv"
    rows = []
    for pair in _PAIRS:
        tables = (f"nmthpo/{pair}",)
        rows.append(Spec(f"NMTHPO-{pair}-v0", "NMTHPO", env, vector, tables, {"pair": pair}))
        # Budgets of Table 4 (B).
        two = {"pair": pair, "objective": ("bleu", "decoding_seconds"), "budget": 200 if pair in _BIG else 50}
        rows.append(Spec(f"NMTHPO-{pair}-mo-v0", "NMTHPO", env, vector, tables, two))
    grids = tuple(f"nmthpo/{pair}-grid" for pair in _PAIRS if pair not in _BIG)
    grid, grid_vector = (
        "hpo_envs.families.nmthpo.page:NMTHPOGridEnv",
        "hpo_envs.families.nmthpo.page:NMTHPOGridVectorEnv",
    )
    rows.append(Spec("NMTHPO-v0", "NMTHPO", grid, grid_vector, grids))
    return rows


def _cushlepor() -> list[Spec]:
    env, vector = "hpo_envs.families.cushlepor.page:CushLEPOREnv", "hpo_envs.families.cushlepor.page:CushLEPORVectorEnv"
    return [Spec("CushLEPOR-ted-ende-v0", "CushLEPOR", env, vector, ("cushlepor/ted-ende",), {"pair": "ted-ende"})]


def _fiesta() -> list[Spec]:
    env, vector = "hpo_envs.families.fiesta.page:FIESTAEnv", "hpo_envs.engines.bandit.batched:FIESTAVectorEnv"
    tasks = ("tdsa8", "tdsa12", "ner", "gaussian")
    return [Spec(f"FIESTA-{t}-v0", "FIESTA", env, vector, (f"fiesta/{t}",), {"task": t}) for t in tasks]


def _nmtlc() -> list[Spec]:
    env, vector = "hpo_envs.families.nmtlc.page:NMTLCEnv", "hpo_envs.families.nmtlc.page:NMTLCVectorEnv"
    corpora = ("zhen", "ruen", "jaen", "enja", "swen", "soen", "ft-fren", "ft-zhen")
    return [Spec(f"NMTLC-{c}-v0", "NMTLC", env, vector, (f"nmtlc/{c}",), {"corpus": c}) for c in corpora]


def _nasbenchnlp() -> list[Spec]:
    env, vector = (
        "hpo_envs.families.nasbenchnlp.page:NASBenchNLPEnv",
        "hpo_envs.families.nasbenchnlp.page:NASBenchNLPVectorEnv",
    )
    datasets = ("wikitext2", "ptb")
    return [
        Spec(f"NASBenchNLP-{d}-v0", "NASBenchNLP", env, vector, (f"nasbenchnlp/{d}",), {"dataset": d}) for d in datasets
    ]


def _cells() -> list[Spec]:
    env, vector = (
        "hpo_envs.families.nasbenchnlp.cell:NASBenchNLPCellEnv",
        "hpo_envs.families.nasbenchnlp.cell:NASBenchNLPCellVectorEnv",
    )
    final, final_vector = (
        "hpo_envs.families.nasbenchnlp.final:NASBenchNLPFinalEnv",
        "hpo_envs.families.nasbenchnlp.final:NASBenchNLPFinalVectorEnv",
    )
    return [
        Spec("NASBenchNLP-ptb-final-v0", "NASBenchNLP-ptb-final", final, final_vector, ("nasbenchnlp/ptb-final",)),
        Spec("NASBenchNLP-cell-v0", "NASBenchNLP-cell", env, vector, ("nasbenchnlp/wikitext2",)),
    ]


def _charhpo() -> list[Spec]:
    env, vector = "hpo_envs.families.charhpo.page:CharHPOEnv", "hpo_envs.families.charhpo.page:CharHPOVectorEnv"
    langs = {
        "inflection": ("alb", "ara", "cat", "dut", "gle", "hai", "hun", "rom"),
        "g2p": ("arm_e", "dut", "geo", "hun"),
    }
    rows = []
    for task, lang, architecture in [(t, lang, a) for t in langs for lang in langs[t] for a in ("lstm", "transformer")]:
        name = f"{task}-{lang}-{architecture}"
        kwargs = {"task": task, "lang": lang, "architecture": architecture}
        rows.append(Spec(f"CharHPO-{name}-v0", "CharHPO", env, vector, (f"charhpo/{name}",), kwargs))
    tables = tuple(table for row in rows for table in row.tables)
    whole = "hpo_envs.families.charhpo.space:CharSpaceEnv", "hpo_envs.families.charhpo.space:CharSpaceVectorEnv"
    return [*rows, Spec("CharHPO-v0", "CharHPO", *whole, tables, surrogate_only=True)]


OWN = {
    "TableHPO": (
        "hpo_envs.families.user_table.page:TableHPOEnv",
        "hpo_envs.families.user_table.page:TableHPOVectorEnv",
    ),
    "TableLC": ("hpo_envs.families.user_table.page:TableLCEnv", "hpo_envs.families.user_table.page:TableLCVectorEnv"),
}
"""Families on the user's own tables: `TableHPO-v0` takes a table as argument, `TableHPO-NAME-v0` is a saved one."""


def _own(family: str, name: str | None = None) -> Spec:
    if name is None:
        return Spec(f"{family}-v0", family, *OWN[family], ("user/example",))
    return Spec(f"{family}-{name}-v0", family, *OWN[family], (f"user/{name}",), {"name": name})


SPECS: dict[str, Spec] = {
    s.id: s
    for s in (
        *_nmthpo(),
        *_cushlepor(),
        *_fiesta(),
        *_nmtlc(),
        *_nasbenchnlp(),
        *_cells(),
        *_charhpo(),
        _own("TableHPO"),
    )
}


def find(env_id: str) -> Spec | None:
    """The row of an id, also of one on the user's own table, which is thereby registered with Gymnasium."""
    if env_id in SPECS:
        return SPECS[env_id]
    match = re.fullmatch(r"(TableHPO|TableLC)(?:-(.+))?-v0", str(env_id))
    if match is None:
        return None
    from hpo_envs.tables import user

    family, name = match[1], match[2]
    if name is not None and not user.exists(name):
        return None
    spec = _own(family, name)
    _register([spec])
    return spec


def own() -> list[Spec]:
    """The ids of all of the user's own tables, registered with Gymnasium; reads the folder they are saved in."""
    from hpo_envs.tables import user

    specs = []
    for name in user.names():
        try:
            levels = len(user.load(name).levels)
        except (ValueError, OSError) as error:
            warnings.warn(f"the saved table {name} is left out: {error}", stacklevel=2)
            continue
        # A table of final scores has one level: there is nothing to train up to.
        specs += [_own(family, name) for family in OWN if family == "TableHPO" or levels > 1]
    _register(specs)
    return specs


def register_all() -> None:
    """Registers every id with Gymnasium; ids already registered are left alone."""
    _register([*SPECS.values(), _own("TableLC")])


def _register(specs: Iterable[Spec]) -> None:
    for s in specs:
        if s.id not in gym.registry:
            gym.register(
                s.id,
                entry_point=s.entry_point,
                vector_entry_point=s.vector_entry_point,
                kwargs=dict(s.kwargs),
                # Gymnasium's passive checker knows scalar rewards only.
                disable_env_checker=isinstance(s.kwargs.get("objective"), tuple),
            )
