"""Attentive LSTM encoder-decoders: CharMini's space with ranges for fewer updates."""

from hpo_envs.tables.datasets.charhpo import SCHEDULERS
from hpo_envs.tables.datasets.charhpo.hyperparameters import IF_WARMUP, PLATEAU
from hpo_envs.tables.datasets.textmini.spaces import choice, grid, number

ROWS, REPEATS, LEVELS = 100, 2, tuple(map(float, range(1, 11)))

SPACE = (
    grid("batch_size", (16, 32, 64, 128), "Forms of an update.", log=True),
    number("learning_rate", 0.0003, 0.03, "Initial learning rate of Adam."),
    number("beta1", 0.8, 0.999, "Adam's decay of the first moment.", log=False),
    number("beta2", 0.98, 0.999, "Adam's decay of the second moment.", log=False),
    number("label_smoothing", 0.0, 0.2, "Label smoothing.", log=False),
    choice("scheduler", SCHEDULERS, "Learning rate scheduler."),
    grid("warmup_samples", (500, 1000, 2000, 4000, 8000, 16000), "Warm-up in samples.", IF_WARMUP, log=True),
    number("factor", 0.1, 0.9, "Factor by which a plateau reduces the learning rate.", PLATEAU, log=False),
    number("min_lr", 0.00001, 0.001, "Learning rate below which a plateau does not reduce.", PLATEAU),
    grid("patience", (1, 2, 3, 4, 5), "Evaluations without progress that a plateau lasts.", PLATEAU),
    grid("embedding_size", (16, 32, 48), "Size of the embeddings."),
    grid("hidden_size", (16, 32, 48, 64), "Size of the LSTM."),
    grid("encoder_layers", (1, 2), "Encoder layers."),
    number("dropout", 0.0, 0.5, "Dropout.", log=False),
)
