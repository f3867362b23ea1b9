"""Learning curves of machine translation systems, from the data repository of Zhang and Duh (2020, 2024).

One row is one training run, one level is one checkpoint: every checkpoint of the file is a level; runs that ended
earlier have trailing NaN. Six corpora were trained from scratch (a checkpoint every 2,000 updates; cost in updates),
two are fine-tuned language models (cost in checkpoints: updates and seconds were not recorded).

Quirks of the file, which is a pickled list of 2,483 dicts:

- Attention heads are not recorded, so most configurations from scratch occur twice (8 and 16 heads in the paper's
  grid) and share their features; zh-en has `bpe` 30 in every record although its systems had three vocabularies, so
  `bpe` is left out there and configurations occur up to six times. Keys number the runs of one configuration in file
  order.
- A run from scratch stops 16 checkpoints after its best one; a fine-tuning run 11 after. Runs that ended without
  that are `truncated`.
- Perplexities reach 7e14 and are kept. The natural logarithm is a separate metric.
- German-English, announced by the file's page, is not in it; three xglm runs of zh-en are missing.
"""

import dataclasses

import numpy as np

from hpo_envs.tables import catalogue, exact
from hpo_envs.tables.datasets.nmthpo import build as nmthpo
from hpo_envs.tables.datasets.nmtlc import CORPORA, MAX_LOG_PERPLEXITY, PATIENCE, TABLES, UPDATES_PER_CHECKPOINT
from hpo_envs.tables.files import packs
from hpo_envs.tables.table import OK, TRUNCATED, Floats, Hyperparameter, Metric, Table, searched

NAMES = TABLES

FILE = "nmthpo/lc_datasets/nmtlc.pkl"

PACK = "nmtlc/pack.npz"

DECIMALS = 6
"""Number of decimals of perplexities of systems trained from scratch; those of fine-tuned ones are float32."""

METRICS = (
    Metric("log_perplexity", "nat", "min", 0.0, MAX_LOG_PERPLEXITY, "Natural logarithm of the validation perplexity."),
    Metric("perplexity", "", "min", 1.0, exact.exp(MAX_LOG_PERPLEXITY), "Perplexity on the validation set."),
)
BLEU = Metric("bleu", "BLEU", "max", 0.0, 100.0, "BLEU on the validation set; fine-tuned runs only.")


def space(corpus: str) -> tuple[Hyperparameter, ...]:
    """The recorded hyperparameters that vary on a corpus."""
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


def shipped(name: str) -> Table:
    """Build a table from the pack."""
    corpus = name.partition("/")[2]
    data, hyperparameters = packs.read(PACK, corpus), space(corpus)
    columns = [
        choice if h.kind == "categorical" else np.array(h.values)[choice]
        for h, choice in zip(hyperparameters, data["choices"], strict=True)
    ]
    configs = np.column_stack(columns).astype(np.float64)
    if "bleu" in data:
        perplexity = data["perplexity"].astype(np.float64)
        metrics = [exact.log(perplexity), perplexity, packs.unscaled(data["bleu"], 2)]
    else:
        perplexity = packs.unscaled(data["perplexity"], DECIMALS)
        perplexity[data["large_at"]] = data["large"]
        metrics = [exact.log(perplexity), perplexity]
    curves = np.split(np.column_stack(metrics), np.cumsum(data["lengths"], dtype=np.int64)[:-1])
    patience = PATIENCE[CORPORA[corpus][0]]
    ended = np.array([len(c) - 1 - int(np.argmin(c[:, 0])) >= patience for c in curves])
    scratch = not corpus.startswith("ft-")
    levels = np.arange(1, max(map(len, curves)) + 1, dtype=np.float64)
    levels *= UPDATES_PER_CHECKPOINT if scratch else 1
    values = np.full((len(curves), 1, len(levels), len(metrics)), np.nan)
    cost = np.full((len(curves), 1, len(levels)), np.nan)
    for row, curve in enumerate(curves):
        values[row, 0, : len(curve)] = curve
        cost[row, 0, : len(curve)] = levels[: len(curve)]
    status = np.where(ended, OK, TRUNCATED).astype(np.uint8)
    unit = "updates" if scratch else "checkpoints"
    return Table(
        name, _keys(configs), METRICS if scratch else (*METRICS, BLEU), values, cost,
        catalogue.provenance("nmtlc", "measured"), unit, levels=levels, level_unit=unit, status=status[:, None],
        source_index=data["source_index"].astype(np.int64), **searched(hyperparameters, configs),
    )  # fmt: skip


def _keys(configs: Floats) -> tuple[str, ...]:
    """One key per row: the configuration, with `#k` for its k-th run."""
    seen: dict[str, int] = {}
    keys = []
    for config in configs:
        key = "-".join(f"{v:g}" for v in config)
        seen[key] = seen.get(key, 0) + 1
        keys.append(f"{key}#{seen[key]}")
    return tuple(keys)
