"""Joint choice of one of seven classifiers, its hyperparameters and the features of a text."""

from hpo_envs.tables.datasets.textmini.spaces import SIZES, choice, grid, number, switch

ROWS, REPEATS, LEVELS = 300, 3, SIZES

CLASSIFIERS = ("logistic", "svm", "bayes", "neighbours", "boosting", "forest", "embeddings")

_LOGISTIC, _SVM, _BAYES, _NEIGHBOURS, _BOOSTING, _FOREST, _EMBEDDINGS = (("classifier", (c,)) for c in CLASSIFIERS)
_WORDS, _CHARACTERS = ("analyzer", ("word",)), ("analyzer", ("char", "char_wb"))

SPACE = (
    choice("analyzer", ("word", "char", "char_wb"), "Units of n-grams; `char_wb` ends them at words."),
    choice("word_ngrams", ("1", "1-2", "1-3", "2"), "Words of an n-gram.", _WORDS),
    grid("char_shortest", (1, 2, 3), "Fewest characters of an n-gram.", _CHARACTERS),
    grid("char_longest", (3, 4, 5), "Most characters of an n-gram.", _CHARACTERS),
    grid("min_frequency", (1, 2, 3, 5), "Fewest training texts that an n-gram is in."),
    grid("max_features", (500, 1000, 2000, 4000, 8000, 16000), "Most n-grams, the most frequent.", log=True),
    switch("lowercase", "Whether letters are made small."),
    switch("sublinear", "Whether a count becomes 1 + its logarithm."),
    switch("idf", "Whether counts are weighted by the inverse document frequency."),
    choice("norm", ("none", "l1", "l2"), "Norm that a text's weights are divided by."),
    choice("classifier", CLASSIFIERS, "The model."),
    number("logistic_c", 0.01, 1000.0, "Inverse strength of logistic regression's penalty.", _LOGISTIC),
    switch("logistic_balanced", "Whether classes weigh the same.", _LOGISTIC),
    number("svm_c", 0.001, 100.0, "Inverse strength of the linear SVM's penalty.", _SVM),
    choice("svm_loss", ("hinge", "squared_hinge"), "Loss of the linear SVM.", _SVM),
    choice("bayes_kind", ("multinomial", "complement", "bernoulli"), "Event model of naive Bayes.", _BAYES),
    number("bayes_alpha", 0.001, 10.0, "Additive smoothing of naive Bayes.", _BAYES),
    grid("neighbours_size", (8, 16, 32, 64, 128), "Dimensions of latent semantic analysis.", _NEIGHBOURS, log=True),
    grid("neighbours_count", (1, 2, 4, 8, 16, 32), "Neighbours that vote.", _NEIGHBOURS, log=True),
    switch("neighbours_weighted", "Whether votes weigh by similarity.", _NEIGHBOURS),
    number("boosting_rate", 0.03, 1.0, "Shrinkage of each tree.", _BOOSTING),
    grid("boosting_rounds", (2, 4, 8, 16), "Rounds, a tree per class in each.", _BOOSTING, log=True),
    grid("boosting_leaves", (4, 8, 16), "Most leaves of a tree.", _BOOSTING, log=True),
    grid("boosting_size", (8, 16, 32), "Dimensions of latent semantic analysis.", _BOOSTING, log=True),
    grid("forest_trees", (4, 8, 16, 32), "Trees of the random forest.", _FOREST, log=True),
    choice("forest_features", ("sqrt", "log2", "tenth"), "Features that a split considers.", _FOREST),
    grid("forest_leaf", (1, 2, 4, 8), "Fewest training texts of a leaf.", _FOREST, log=True),
    grid("embeddings_size", (8, 16, 32, 64), "Dimensions of the averaged embeddings.", _EMBEDDINGS, log=True),
    number("embeddings_rate", 0.01, 1.0, "Learning rate of AdaGrad.", _EMBEDDINGS),
    grid("embeddings_epochs", (2, 4, 8, 16), "Passes over the training texts.", _EMBEDDINGS, log=True),
)
