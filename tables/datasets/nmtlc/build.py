"""Learning curves of machine translation systems, from the data repository of Zhang and Duh (2020).

One row is one training run, one level is one checkpoint: every checkpoint of the file is a level, so nothing is lost
by thinning; runs that ended earlier have trailing NaN. Six corpora were trained from scratch (a checkpoint every 2,000
updates; cost in updates), two are fine-tuned language models (cost in checkpoints: updates and seconds were not
recorded).

Quirks of the file, which is a pickled list of 2,483 dicts:

- Attention heads are not recorded, so most configurations from scratch occur twice (8 and 16 heads in the paper's
  grid) and share their features; zh-en has `bpe` 30 in every record although its systems had three vocabularies, so
  `bpe` is left out there. Keys number the runs of one configuration in file order.
- A run from scratch stops 16 checkpoints after its best one; a fine-tuning run 11 after. Runs that ended without
  that are `truncated`.
- Perplexities reach 7e14; they stay as they are. The natural logarithm is a metric of its own.
- German-English, announced by the file's page, is not in it; three xglm runs of zh-en are missing.
"""

from __future__ import annotations

import dataclasses
import io
import math
import pickle
import pickletools
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from hpo_envs.tables import catalogue, exact
from hpo_envs.tables.datasets.nmthpo import build as nmthpo
from hpo_envs.tables.datasets.nmtlc.names import CORPORA, MAX_LOG_PERPLEXITY, PATIENCE, TABLES, UPDATES_PER_CHECKPOINT
from hpo_envs.tables.files import atomic
from hpo_envs.tables.table import STATUSES, Floats, Hyperparameter, Metric, Provenance, Table, searched

NAMES = TABLES

VERSION = 1
"""Of the kept table, see `hpo_envs.tables.files.cache`: to be raised with any change of its numbers."""

FILE = "nmthpo/lc_datasets/nmtlc.pkl"

METRICS = (
    Metric("log_perplexity", "nat", "min", 0.0, MAX_LOG_PERPLEXITY, "Natural logarithm of the validation perplexity."),
    Metric("perplexity", "", "min", 1.0, exact.exp(MAX_LOG_PERPLEXITY), "Perplexity on the validation set."),
)
BLEU = Metric("bleu", "BLEU", "max", 0.0, 100.0, "BLEU on the validation set; fine-tuned runs only.")


def space(corpus: str) -> tuple[Hyperparameter, ...]:
    """The hyperparameters that the file records and that vary on a corpus."""
    if corpus.startswith("ft-"):
        return (
            Hyperparameter("base", "categorical", 0, 1, False, ("bloomz", "xglm"), None, "Language model."),
            Hyperparameter("layers", "int", 24, 48, False, (24, 30, 48), None, "Layers of the language model."),
            Hyperparameter("embed", "int", 1024, 2560, True, (1024, 2048, 2560), None, "Embedding size."),
            Hyperparameter("batch_size", "int", 16, 64, True, (16, 32, 64), None, "Sentence pairs of a batch."),
            Hyperparameter("init_lr", "float", 2e-5, 2e-4, True, (2e-5, 1e-4, 2e-4), None, "Initial learning rate."),
            Hyperparameter("rank", "int", 2, 64, True, (2, 16, 64), None, "Rank of the low-rank adapters."),
        )
    unknown = ("heads", "bpe") if corpus == "zhen" else ("heads",)
    *known, init_lr = (h for h in nmthpo.space(corpus) if h.name not in unknown)
    return (*known, dataclasses.replace(init_lr, description="Initial learning rate."))


_FIELDS = {"layers": "num_layers", "embed": "model_size", "hidden": "ff_num_hidden", "init_lr": "initial_lr"}
_FIELDS |= {"batch_size": "batch_size", "rank": "r"}


class _PlainUnpickler(pickle.Unpickler):
    """Reads lists, dicts, text and numbers; admits no class, function or persistent object."""

    def find_class(self, module: str, name: str) -> Any:
        raise pickle.UnpicklingError(f"must hold plain data only, got the global {module}.{name}")

    def persistent_load(self, pid: Any) -> Any:
        raise pickle.UnpicklingError(f"must hold plain data only, got the persistent id {pid!r}")


def _check_memo(content: bytes) -> None:
    """Refuses places in the memo beyond what a file of this size can fill: the unpickler makes room for all below."""
    for opcode, place, _ in pickletools.genops(content):
        if opcode.name in ("PUT", "BINPUT", "LONG_BINPUT") and (place or 0) > len(content):
            raise pickle.UnpicklingError(f"memo places must be below {len(content)}, got {place}")


def read_records(content: bytes, file: str = FILE) -> list[Mapping[str, Any]]:
    """Reads the pickled list of dicts; an error says where there is anything but plain data of the promised form."""
    try:
        _check_memo(content)
        records = _PlainUnpickler(io.BytesIO(content)).load()
    except Exception as error:
        raise ValueError(f"{file}: cannot be read: {type(error).__name__}: {error}") from None
    if not isinstance(records, list) or not records:
        raise ValueError(f"{file}: must hold a list of records, got {type(records).__name__}")
    for number, record in enumerate(records):
        _check(record, f"{file}, record {number}")
    return records


def _brief(value: Any) -> str:
    """A value for a message; of containers the type only, for a small one can be endless in print."""
    return f"{value!r:.80}" if value is None or isinstance(value, (str, int, float)) else f"a {type(value).__name__}"


def _check(record: Any, where: str) -> None:
    if not isinstance(record, dict):
        raise ValueError(f"{where}: must be a dict, got {type(record).__name__}")
    for key in ("task", "src", "trg", "basemodel"):
        if not isinstance(record.get(key), str):
            raise ValueError(f"{where}: {key} must be text, got {_brief(record.get(key))}")
    if not isinstance(record.get("hyperparams"), dict):
        raise ValueError(f"{where}: hyperparams must be a dict, got {_brief(record.get('hyperparams'))}")
    curves = [key for key in ("perplexity_curve", "bleu_curve") if key in record]
    if "perplexity_curve" not in curves:
        raise ValueError(f"{where}: must have a perplexity_curve")
    for key in curves:
        curve = record[key]
        if not isinstance(curve, list) or not curve or not all(isinstance(v, float) for v in curve):
            raise ValueError(f"{where}: {key} must be a list of at least one float")
        if len(curve) != len(record["perplexity_curve"]):
            raise ValueError(f"{where}: {key} must have {len(record['perplexity_curve'])} points, got {len(curve)}")
        low = 1.0 if key == "perplexity_curve" else 0.0
        bad = [v for v in curve if not low <= v < math.inf]
        if bad:
            raise ValueError(f"{where}: {key} must be finite and >= {low:g}, got {bad[0]}")


def files(name: str) -> tuple[str, ...]:
    """Upstream files of a table."""
    return (FILE,)


def build(name: str, read: Callable[[str], bytes]) -> Table:
    """Builds a measured table, see `store`; a message about a wrong file names record and value."""
    corpus = name.partition("/")[2]
    task, source, target = CORPORA[corpus]
    hyperparameters = space(corpus)
    rows = []
    for number, record in enumerate(read_records(read(FILE))):
        if (record["task"], record["src"], record["trg"]) == (task, source, target):
            rows.append((_config(record, hyperparameters, f"{FILE}, record {number}"), number, record))
    rows.sort(key=lambda row: row[:2])
    curves = [_curve(record) for _, _, record in rows]
    ended = [len(c) - 1 - int(np.argmin(c[:, 0])) >= PATIENCE[task] for c in curves]
    configs = np.array([config for config, _, _ in rows])
    table = _assemble(name, configs, curves, np.array(ended), catalogue.provenance("nmtlc", "measured"))
    return dataclasses.replace(table, source_index=np.array([number for _, number, _ in rows]))


def embedded(name: str) -> Table:
    """The surrogate of a table, fitted by `fit`; same rows and levels as the measured table."""
    from hpo_envs.tables.datasets.nmtlc import model

    corpus = name.partition("/")[2]
    names = (f"{corpus}_{part}" for part in ("configs", "parameters", "levels", "roughness"))
    data = atomic.read_npz(Path(__file__).with_name("nmtlc.npz"), *names)
    configs, parameters, levels, roughness = data.values()
    count, patience = int(levels), PATIENCE[CORPORA[corpus][0]]
    drawn, ended = model.expand(parameters.astype(np.float64), roughness, count, patience, name)
    note = "Out-of-fold predictions of a regression fitted to the measured curves, with residual noise."
    return _assemble(name, configs, drawn, ended, catalogue.provenance("nmtlc", "surrogate", note), count)


def _assemble(
    name: str, configs: Floats, curves: list[Floats], ended: np.ndarray, provenance: Provenance, count: int = 0
) -> Table:
    """Puts curves (checkpoints, metrics) into a Table of `count` levels, or as many as the longest curve has."""
    corpus = name.partition("/")[2]
    scratch = not corpus.startswith("ft-")
    metrics = METRICS if scratch else (*METRICS, BLEU)
    levels = np.arange(1, max(count, *map(len, curves)) + 1, dtype=np.float64)
    levels *= UPDATES_PER_CHECKPOINT if scratch else 1
    values = np.full((len(curves), 1, len(levels), len(metrics)), np.nan)
    cost = np.full((len(curves), 1, len(levels)), np.nan)
    for row, curve in enumerate(curves):
        values[row, 0, : len(curve)] = curve
        cost[row, 0, : len(curve)] = levels[: len(curve)]
    status = np.where(ended, STATUSES.index("ok"), STATUSES.index("truncated")).astype(np.uint8)
    unit = "updates" if scratch else "checkpoints"
    return Table(
        name, _keys(configs), metrics, values, cost, provenance, unit, levels=levels, level_unit=unit,
        status=status[:, None], **searched(space(corpus), configs),
    )  # fmt: skip


def _keys(configs: Floats) -> tuple[str, ...]:
    """One key per row: the configuration, and `#k` for its k-th run."""
    seen: dict[str, int] = {}
    keys = []
    for config in configs:
        key = "-".join(f"{v:g}" for v in config)
        seen[key] = seen.get(key, 0) + 1
        keys.append(f"{key}#{seen[key]}")
    return tuple(keys)


def _config(record: Mapping[str, Any], hyperparameters: tuple[Hyperparameter, ...], where: str) -> tuple[float, ...]:
    """The raw values of a record, in the order of the space."""
    config = []
    for h in hyperparameters:
        if h.name == "base":
            value: Any = record["basemodel"]
        else:
            value = record["hyperparams"].get(_FIELDS.get(h.name, h.name))
            value = value * 1000 if h.name == "bpe" and isinstance(value, int) else value
        if value not in h.values:
            raise ValueError(f"{where}: {h.name} must be one of {h.values}, got {value!r}")
        config.append(float(h.values.index(value) if h.kind == "categorical" else value))
    return tuple(config)


def _curve(record: Mapping[str, Any]) -> Floats:
    perplexity = np.array(record["perplexity_curve"])
    columns = [exact.log(perplexity), perplexity]
    if "bleu_curve" in record:
        columns.append(np.array(record["bleu_curve"]))
    return np.column_stack(columns)
