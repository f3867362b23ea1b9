"""Klyuchnikov et al. 2020: recurrent cells trained as language models, on WikiText-2 and on the Penn Treebank."""

from __future__ import annotations

from collections.abc import Callable

from hpo_envs.tables import cells
from hpo_envs.tables.datasets.nasbenchnlp import build_ptb, build_ptb_final, build_wikitext2
from hpo_envs.tables.datasets.nasbenchnlp.names import PTB, PTB_FINAL, TABLES, WIKITEXT2
from hpo_envs.tables.table import GRAPHS, Table

NAMES = TABLES

VERSION = 1
"""Raised whenever the same files give another table, see `hpo_envs.tables.files.cache`."""

_BUILDERS = {WIKITEXT2: build_wikitext2, PTB: build_ptb, PTB_FINAL: build_ptb_final}


GRAPHS["nasbenchnlp"] = lambda key: cells.graph(cells.Cell.from_text(key.partition("#")[0]))


def files(name: str) -> tuple[str, ...]:
    """Upstream files of a table."""
    return _BUILDERS[name].FILES


def build(name: str, read: Callable[[str], bytes]) -> Table:
    """Builds a measured table, see `store`; a message about a wrong file names file, member and rule."""
    return _BUILDERS[name].build(read)


def embedded(name: str) -> Table:
    """The surrogate of a table, with as many rows."""
    return _BUILDERS[name].embedded()
