"""Recurrent text classifiers of TaskSet, trained with 1,000 configurations of their optimizer."""

TASKS = {
    "gru64-mean": "patch32_GRU64_avg_bs128", "gru128": "patch32_GRU128_bs128",
    "irnn64": "patch32_IRNN64_relu_last_bs128", "irnn64-mean": "patch32_IRNN64_relu_avg_bs128",
    "lstm128": "patch32_LSTM128_bs128", "lstm128-e128": "patch32_LSTM128_E128_bs128",
    "lstm128-long": "patch128_LSTM128_bs64", "lstm128-long-e128": "patch128_LSTM128_embed128_bs64",
    "lstm128-long-mean": "patch128_LSTM128_avg_bs64", "vrnn64-relu-mean": "patch32_VRNN64_relu_avg_bs128",
    "vrnn64-tanh-mean": "patch32_VRNN64_tanh_avg_bs128", "vrnn128-tanh": "patch32_VRNN128_tanh_bs128",
}  # fmt: skip
"""Name in ids -> end of TaskSet's name. Names have the cell and its number of units; `mean`: the mean of the states is
classified, not the last one; `long`: 128 subwords of a review instead of 32; `e128`: embeddings of size 128."""

TABLES = tuple(f"taskset/{name}" for name in TASKS)
"""Names of the tables."""

STEPS = 200
"""Updates from one of upstream's losses to the next; the first is of the untrained model."""

KEPT = (1, 2, 3, 4, 5, 7, 10, 14, 19, 26, 36, 50)
"""Indices of upstream's losses that ship: a geometric sequence of 13 terms from 1 to 50, rounded, without repeats."""

DIGITS = 4
"""Decimals of losses."""

HIGHEST = 10.0
"""Largest loss in nats, 14 times that of a guess: higher ones are clipped to it, and it is the worst value."""
