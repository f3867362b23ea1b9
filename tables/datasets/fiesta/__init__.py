"""Moss et al. 2019: repeated evaluations of models."""

TASKS = ("tdsa8", "tdsa12", "ner", "gaussian")
"""Names in ids."""

TABLES = tuple(f"fiesta/{task}" for task in TASKS)
"""Names of the tables."""

METHODS = ("atae", "ian", "lstm", "tdlstm")
"""Re-implementations of Wang et al. 2016, Ma et al. 2017 and Tang et al. 2016 (two of its models), section 5."""

TDSA = tuple(method + size for size in ("", "_50", "_200") for method in METHODS)
"""Rows of `fiesta/tdsa12`, under upstream's names; the first eight are `fiesta/tdsa8`."""

TDSA_EVALUATIONS = 500
"""Number of evaluations of each sentiment model, on random splits with random seeds."""

NER = ("cnn", "lstm")
"""Character encoders: a CNN (Ma and Hovy 2016) and an LSTM (Lample et al. 2016), section 2."""

NER_SPLITS, NER_SEEDS = 150, 5
"""Number of random splits, and of seeds on each."""

GAUSSIAN_MEANS = (0.65, 0.69, 0.69, 0.70, 0.71)
GAUSSIAN_DEVIATION = 0.01
"""Means and deviation of five synthetic models "to mimic accuracy measurements" (section 4.2)."""
