"""Pack the tables from upstream's file: `python -m hpo_envs.tables.datasets.packing nmtlc [--check]`."""

import io
import pickle
from collections.abc import Mapping
from typing import Any

import numpy as np

from hpo_envs.tables import store
from hpo_envs.tables.datasets import packing
from hpo_envs.tables.datasets.nmtlc import CORPORA
from hpo_envs.tables.datasets.nmtlc.build import DECIMALS, FILE, PACK, space
from hpo_envs.tables.files import packs
from hpo_envs.tables.table import Hyperparameter

_FIELDS = {"layers": "num_layers", "embed": "model_size", "hidden": "ff_num_hidden", "init_lr": "initial_lr"}
_FIELDS |= {"batch_size": "batch_size", "rank": "r"}


class _PlainUnpickler(pickle.Unpickler):
    """Unpickler of lists, dicts, strings and numbers, without classes and functions."""

    def find_class(self, module: str, name: str) -> Any:
        raise pickle.UnpicklingError(f"must hold plain data only, got the global {module}.{name}")


def make() -> packing.Packs:
    """Return configurations, as indices of values, and curves of each corpus, by configuration, then file order."""
    records = _PlainUnpickler(io.BytesIO(store.read(FILE))).load()
    arrays: dict[str, packs.Array] = {}
    for corpus, ends in CORPORA.items():
        own = [i for i, r in enumerate(records) if (r["task"], r["src"], r["trg"]) == ends]
        choices, places = zip(*sorted((_choices(records[i], space(corpus)), i) for i in own), strict=True)
        curves = [records[i]["perplexity_curve"] for i in places]
        arrays[f"{corpus}/choices"] = np.array(choices, np.uint8).T
        arrays[f"{corpus}/source_index"] = packs.smallest(np.array(places))
        arrays[f"{corpus}/lengths"] = packs.smallest(np.array([len(curve) for curve in curves]))
        perplexity = np.concatenate(curves)
        if "bleu_curve" in records[places[0]]:
            arrays[f"{corpus}/perplexity"] = single = perplexity.astype(np.float32)
            assert (single == perplexity).all()
            arrays[f"{corpus}/bleu"] = packs.scaled(np.concatenate([records[i]["bleu_curve"] for i in places]), 2)
        else:
            large = np.flatnonzero(perplexity * 10.0**DECIMALS >= 2.0**53)
            arrays[f"{corpus}/large_at"], arrays[f"{corpus}/large"] = packs.smallest(large), perplexity[large]
            perplexity[large] = 0.0
            arrays[f"{corpus}/perplexity"] = packs.scaled(perplexity, DECIMALS)
    return {PACK: arrays}


def _choices(record: Mapping[str, Any], hyperparameters: tuple[Hyperparameter, ...]) -> tuple[int, ...]:
    """Return the index of a record's value among the values of each hyperparameter."""
    raw = {h.name: record["hyperparams"].get(_FIELDS.get(h.name, h.name)) for h in hyperparameters}
    raw = {**raw, "base": record["basemodel"], "bpe": 1000 * (raw.get("bpe") or 0)}
    return tuple(h.values.index(raw[h.name]) for h in hyperparameters)
