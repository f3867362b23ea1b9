"""Zhang and Duh 2020: hyperparameters of transformers for machine translation."""

PAIRS = {"zhen": "zh-en", "ruen": "ru-en", "jaen": "ja-en", "enja": "en-ja", "swen": "sw-en", "soen": "so-en"}
"""Name in ids -> name in the paper and of the upstream files."""

LANGUAGES = {pair: next(code for code in name.split("-") if code != "en") for pair, name in PAIRS.items()}
"""Pair -> its language other than English."""

SHARED_GRID = ("zhen", "ruen", "jaen", "enja")
"""Pairs that were trained on the same grid (Table 1, first row)."""

BUDGETS = {pair: 50 if pair in SHARED_GRID else 200 for pair in PAIRS}
"""Pair -> number of evaluations of a run with two objectives (Table 4, B)."""

TABLES = tuple(f"nmthpo/{pair}" for pair in PAIRS) + tuple(f"nmthpo/{pair}-grid" for pair in PAIRS)
"""Names of the tables: the measured cells of each pair, and every cell of its grid."""
