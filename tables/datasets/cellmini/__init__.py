"""Recurrent cells trained by this project as character language models: the table CellMini."""

SEEDS = 2
"""Number of trainings of each cell."""

EPOCHS = 15
"""Passes over the training text in each training."""

DRAWN = 300
"""Number of drawn cells."""

SPLITS = {"train": 80_000, "development": 10_000, "test": 10_000}
"""Number of characters of each part, in the order of the text."""

UNITS = 80
"""Size of embeddings and hidden states."""

STREAMS = 40
"""Batch size: places of the text that are read in parallel."""

STEPS = 25
"""Characters of each stream after which weights are updated and gradients truncated."""

DROPOUT = 0.1
"""Dropout of embeddings and outputs, one mask per `STEPS` (NAS-Bench-NLP, section 3)."""

LARGEST = 1.0
"""Euclidean norm to which larger gradients are scaled down."""

RATE, DECAY = 3e-3, (0.9, 0.999)
"""Adam's learning rate, and its decays of the moments."""
