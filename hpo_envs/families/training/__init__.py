"""Training of the models of CharMini, CellMini and TextMini: records, comparisons, processes."""
