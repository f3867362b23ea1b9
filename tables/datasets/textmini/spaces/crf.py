"""Conditional random fields: the training algorithm with its hyperparameters, and the features of words."""

from hpo_envs.tables.datasets.textmini.spaces import SIZES, choice, grid, number, switch

ROWS, REPEATS, LEVELS = 160, 3, SIZES

_LBFGS, _SGD, _PASSIVE = (("algorithm", (a,)) for a in ("lbfgs", "l2sgd", "pa"))

SPACE = (
    choice("algorithm", ("lbfgs", "l2sgd", "ap", "pa"), "L-BFGS, SGD, averaged perceptron or passive-aggressive."),
    number("lbfgs_c1", 0.0001, 1.0, "Strength of the L1 penalty.", _LBFGS),
    number("lbfgs_c2", 0.0001, 1.0, "Strength of the L2 penalty.", _LBFGS),
    number("l2sgd_c2", 0.0001, 1.0, "Strength of the L2 penalty.", _SGD),
    number("pa_c", 0.001, 10.0, "Aggressiveness.", _PASSIVE),
    choice("pa_type", (0, 1, 2), "Variant: without slack, linear or squared slack.", _PASSIVE),
    grid("iterations", (4, 8, 16, 32, 64), "Most passes over the training set.", log=True),
    grid("window", (0, 1, 2, 3), "Words on each side whose forms are features."),
    grid("prefixes", (0, 1, 2, 3, 4), "Longest prefix among the features."),
    grid("suffixes", (0, 1, 2, 3, 4), "Longest suffix among the features."),
    switch("shape", "Whether the kinds of characters are features, of the word and its neighbours."),
    switch("bigrams", "Whether pairs of neighbouring words are features."),
    switch("lowercase", "Whether letters of words are made small."),
    grid("min_frequency", (0, 1, 2, 3, 5), "Fewest occurrences of a feature."),
)
