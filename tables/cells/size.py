"""Number of trainable parameters of a language model built from a cell (AWD-LSTM macro level, figure 1)."""

from hpo_envs.tables.cells.recipe import LINEAR, Cell

VOCABULARY = {"ptb": 10_000, "wikitext2": 33_278}
"""Vocabulary size of each corpus (Table 1)."""

EMBEDDING = 400
"""Embedding size, also the hidden size of the last layer because input and output embeddings are tied (release)."""

HIDDEN_SIZE = 600
"""Hidden size of the other layers (section 3, training process)."""

LAYERS = 3
"""Number of stacked cells (section 3, macro level)."""


def parameters(cell: Cell, vocabulary: int) -> int:
    """Count the parameters: tied embeddings, decoder bias, linears of three cells; ValueError if `vocabulary < 1`."""
    if vocabulary < 1:
        raise ValueError(f"vocabulary must be an int >= 1, got {vocabulary}")
    total = vocabulary * EMBEDDING + vocabulary
    for layer in range(LAYERS):
        inputs = EMBEDDING if layer == 0 else HIDDEN_SIZE
        size = HIDDEN_SIZE if layer < LAYERS - 1 else EMBEDDING
        for op, sources in cell.nodes:
            if op == LINEAR:
                # One matrix per input vector and one bias (section 3: W1 x1 + ... + Wn xn + b).
                total += size * sum(inputs if k == 0 else size for k in sources) + size
    return total
