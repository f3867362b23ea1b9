"""Training of CellMini's language models, bit-identical on the same processors as CharMini's."""
