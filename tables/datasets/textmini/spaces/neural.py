"""Neural classifiers of texts: an encoder of words or characters, pooled, and Adam."""

from hpo_envs.tables.datasets.textmini.spaces import choice, grid, number

ROWS, REPEATS, LEVELS = 128, 2, tuple(map(float, range(1, 11)))

TRAINED_ON = 1200
"""Number of training texts, the first ones of the task."""

_DEEP = ("encoder", ("cnn", "gru", "transformer"))
_CNN, _TRANSFORMER = (("encoder", (encoder,)) for encoder in ("cnn", "transformer"))

SPACE = (
    choice("units", ("words", "characters"), "What the encoder reads."),
    grid("min_frequency", (1, 2, 3), "Fewest occurrences of a known word.", ("units", ("words",))),
    choice("encoder", ("average", "cnn", "gru", "transformer"), "From embeddings to states."),
    choice("pooling", ("mean", "max"), "From states to a text's vector.", _DEEP),
    grid("embedding_size", (8, 16, 32), "Size of the embeddings.", log=True),
    grid("hidden_size", (16, 32, 64), "Filters, units of both directions, feed-forward layer.", _DEEP, log=True),
    grid("width", (2, 3, 5), "Positions that a filter sees.", _CNN),
    grid("layers", (1, 2), "Layers of the transformer.", _TRANSFORMER),
    grid("heads", (1, 2, 4), "Attention heads.", _TRANSFORMER),
    number("dropout", 0.0, 0.6, "Dropout of embeddings and of the text's vector.", log=False),
    number("learning_rate", 0.0005, 0.1, "Learning rate of Adam."),
    number("beta1", 0.5, 0.99, "Adam's decay of the first moment.", log=False),
    choice("scheduler", ("none", "warmupinvsqrt"), "Learning rate scheduler."),
    grid("warmup_samples", (500, 1000, 2000, 4000, 8000), "Warm-up.", ("scheduler", ("warmupinvsqrt",)), log=True),
    grid("batch_size", (16, 32, 64, 128), "Texts of an update.", log=True),
    number("weight_decay", 0.0001, 1.0, "Share of a weight that decays, times the learning rate."),
)
