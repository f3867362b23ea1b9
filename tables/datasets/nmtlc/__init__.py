"""Learning curves of machine translation systems."""

from hpo_envs.tables.datasets import nmthpo

CORPORA: dict[str, tuple[str, str, str]] = {
    **{pair: ("scratch", name[:2], name[3:]) for pair, name in nmthpo.PAIRS.items()},
    "ft-fren": ("finetune", "fr", "en"),
    "ft-zhen": ("finetune", "zh", "en"),
}
"""Name in ids -> task, source and target language in the file."""

LANGUAGES = {c: source if target == "en" else target for c, (_, source, target) in CORPORA.items()}
"""Corpus -> its language other than English."""

TABLES = tuple(f"nmtlc/{corpus}" for corpus in CORPORA)
"""Names of the tables."""

UPDATES_PER_CHECKPOINT = 2000
"""Updates between two checkpoints of a run from scratch, on the paper's six corpora."""

PATIENCE = {"scratch": 16, "finetune": 11}
"""Checkpoints without improvement after which a run was stopped, inferred from the curves."""

MAX_LOG_PERPLEXITY = 40.0
"""Bound of observations in nats, and the metric's worst value, which no run has; the largest in the file is 34.2."""
