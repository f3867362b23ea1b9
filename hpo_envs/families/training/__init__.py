"""Training of the models of CharMini and CellMini: records, comparisons, a process."""
