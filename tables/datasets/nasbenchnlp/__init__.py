"""Klyuchnikov et al. 2020: recurrent cells trained as language models."""

WIKITEXT2, PTB, PTB_FINAL = "nasbenchnlp/wikitext2", "nasbenchnlp/ptb", "nasbenchnlp/ptb-final"

TABLES = (WIKITEXT2, PTB, PTB_FINAL)
"""Names of the tables."""

TRAINING = {
    "nhid": 600, "batch_size": 20, "dropout": 0.1, "dropouth": 0.25, "dropouti": 0.4, "dropoute": 0.0, "wdrop": 0.1,
}  # fmt: skip
"""Settings of training that all released logs record (section 3); defaults of the released script differ."""

EPOCHS = 50
"""Epochs of a full training (section 3)."""

CAP = 50.0
"""Cap of log perplexities in nats, also the value of a run without a usable loss."""

LOGS = "nasbenchnlp/train_logs_wikitext-2/logs.zip"
"""Upstream's logs on WikiText-2."""

SINGLE, MULTI = "nasbenchnlp/train_logs_single_run/logs.zip", "nasbenchnlp/train_logs_multi_runs/logs.zip"
"""Upstream's logs on the Penn Treebank: architectures trained once, and with three seeds."""

PARAMETERS = "nasbenchnlp-ptb/data/RNN_parameters.csv"
"""Final losses on the Penn Treebank, from another release (Serianni and Kalita 2023)."""

RELEASED_FEATURES = "nasbenchnlp/data/doc2vec_features_lowdim.csv"
"""Upstream's graph2vec features."""

RELEASED = 10
"""Number of released graph2vec features."""

PTB_ROWS = 14_322
"""Rows of `nasbenchnlp/ptb`: architectures with released features (section 3, training process)."""

PTB_REPEATS = 3
"""Largest number of runs of an architecture on the Penn Treebank (section 3, training process)."""
