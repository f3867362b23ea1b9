"""Pre-norm transformer encoder-decoders: the space of `lstm` with two more hyperparameters."""

from hpo_envs.tables.datasets.textmini.spaces import grid, lstm

ROWS, REPEATS, LEVELS = lstm.ROWS, lstm.REPEATS, lstm.LEVELS

SPACE = (
    *lstm.SPACE,
    grid("decoder_layers", (1, 2), "Decoder layers."),
    grid("attention_heads", (2, 4, 8), "Attention heads."),
)
