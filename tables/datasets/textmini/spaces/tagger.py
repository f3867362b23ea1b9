"""Neural taggers: embeddings of words and their suffixes, an encoder, and Adam."""

from hpo_envs.tables.datasets.textmini.spaces import choice, grid, number, switch

ROWS, REPEATS, LEVELS = 128, 2, tuple(map(float, range(1, 11)))

TRAINED_ON = 400
"""Number of training sentences, the first ones of the task."""

_WINDOW, _TRANSFORMER = (("encoder", (encoder,)) for encoder in ("cnn", "transformer"))

SPACE = (
    grid("suffixes", (0, 1, 2, 3, 4), "Longest suffix that has an embedding."),
    switch("shape", "Whether the kinds of a word's characters have an embedding."),
    switch("lowercase", "Whether letters of words are made small."),
    grid("min_frequency", (1, 2, 3), "Fewest occurrences of a known word or suffix."),
    choice("encoder", ("cnn", "gru", "transformer"), "From embeddings to states."),
    grid("embedding_size", (8, 16, 32), "Size of the embeddings.", log=True),
    grid("hidden_size", (16, 32, 64), "Filters, units of both directions, feed-forward layer.", log=True),
    grid("width", (1, 3, 5), "Positions that a filter sees.", _WINDOW),
    grid("layers", (1, 2), "Layers of the transformer.", _TRANSFORMER),
    grid("heads", (1, 2, 4), "Attention heads.", _TRANSFORMER),
    number("dropout", 0.0, 0.6, "Dropout of embeddings and states.", log=False),
    number("learning_rate", 0.0005, 0.1, "Learning rate of Adam."),
    number("beta1", 0.5, 0.99, "Adam's decay of the first moment.", log=False),
    grid("batch_size", (4, 8, 16, 32), "Sentences of an update.", log=True),
    number("weight_decay", 0.0001, 1.0, "Share of a weight that decays, times the learning rate."),
)
