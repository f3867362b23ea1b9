"""Trainings of each model class on a small task: they learn, are repeatable, and fail on invalid data."""

import importlib
import itertools
import sys

import numpy as np
import pytest

from hpo_envs.families.textmini import measure
from hpo_envs.families.textmini.training import classifiers, features
from hpo_envs.families.training.record import Failed
from hpo_envs.tables.datasets.textmini import tasks
from hpo_envs.tables.datasets.textmini.space import configuration, drawn, space

TEXTS = {
    part: [
        (f"{word} {i} is {'sweet' if word in ('fig', 'plum') else 'hard'}", word) for i in range(n) for word in words
    ]
    for part, n in (("train", 40), ("validation", 8), ("test", 6))
    for words in [("fig", "plum", "rock")]
}
SENTENCES = {
    part: [(("the", f"dog{i}s", "saw", "Ann"), ("D", "N", "V", "P")) for i in range(n)]
    for part, n in (("train", 60), ("validation", 5), ("test", 4))
}
FORMS = {
    part: [((f"T{i}", *stem), ("-0", "-1", "ab"[i])) for i in range(2) for stem in itertools.product("no", repeat=n)]
    for part, n in (("train", 5), ("validation", 4), ("test", 3))
}


@pytest.fixture(autouse=True)
def small(monkeypatch):
    made = {
        "texts": tasks.TextTask("classification", "eng", "texts", (), lambda: TEXTS, (120, 24, 18)),
        "sentences": tasks.TextTask("tagging", "eng", "tokens", (), lambda: SENTENCES, (240, 20, 16)),
        "forms": tasks.TextTask("inflection", "eng", "forms", (), lambda: FORMS, (64, 32, 16)),
    }
    monkeypatch.setattr(tasks, "of", made.__getitem__)
    yield
    features.counted.cache_clear()
    if "hpo_envs.families.textmini.training.lstm" in sys.modules:
        sys.modules["hpo_envs.families.textmini.training.lstm"].corpus.cache_clear()


def config_of(model, **wanted):
    """The first drawn configuration with some values replaced."""
    found = (configuration(model, draw) for draw in range(len(drawn(model))))
    return next(config for config in found if wanted.items() <= config.items())


def ends(model, task, config, repeat=0):
    training = measure.begin(task, model, config, repeat)
    made = []
    for _ in range(3):
        epoch = training.epoch()
        made.append((epoch.correct, epoch.predicted, epoch.gold, epoch.test_correct, epoch.test_gold))
    return made, training.size


@pytest.mark.parametrize("classifier", next(h.values for h in space("joint") if h.name == "classifier"))
def test_every_classifier_learns_and_repeats_itself(classifier):
    config = config_of("joint", classifier=classifier, analyzer="char", norm="l2") | {"min_frequency": 1}
    config |= {"embeddings_epochs": 16, "embeddings_rate": 0.5} if classifier == "embeddings" else {}
    made, size = ends("joint", "texts", config)
    assert ((made, size), made[-1][1:3], made[-1][4]) == (ends("joint", "texts", config), (24, 24), 18)
    assert size > 0
    # Boosting has too few texts for a split of more than five.
    assert made[-1][0] >= (12 if classifier == "boosting" else 18)


def test_part_without_terms_gives_majority_and_whole_without_terms_fails():
    config = config_of("joint", classifier="svm", analyzer="word", word_ngrams="2") | {"min_frequency": 12}
    made, _ = ends("joint", "texts", config)
    assert made[0][0] == 8 < made[2][0]
    for fidelity in (0, 2):
        with pytest.raises(Failed, match="no terms remain"):
            measure.begin("texts", "joint", config | {"min_frequency": 97}, 0, fidelity).epoch()


def test_texts_with_one_term_are_analysed():
    config = config_of("joint", classifier="neighbours", analyzer="word", word_ngrams="1")
    x = features.weigh(
        features.count("texts", config).counts[:, :1], features.count("texts", config).counts[:, :1], config
    )
    predict, size = classifiers.fit(x, np.arange(x.shape[0]) % 2, config, 3)
    assert (predict(x).shape, size) == ((x.shape[0],), 2 + x.shape[0])


def test_weights_are_those_of_scikit_learn():
    text = importlib.import_module("sklearn.feature_extraction.text")
    config = config_of("joint", analyzer="char_wb", norm="l2", idf=True, sublinear=True, lowercase=True)
    counts = features.count("texts", config).counts[:120]
    theirs = text.TfidfTransformer(sublinear_tf=True).fit_transform(counts)
    assert abs(features.weigh(counts, counts, config) - theirs).max() < 1e-6


@pytest.mark.parametrize("algorithm", ["lbfgs", "l2sgd", "ap", "pa"])
def test_taggers_learn_and_repeat_themselves(algorithm):
    pytest.importorskip("pycrfsuite")
    config = config_of("crf", algorithm=algorithm) | {"window": 1, "iterations": 16, "min_frequency": 0, "suffixes": 2}
    made, size = ends("crf", "sentences", config)
    assert ((made, size), made[-1][:3]) == (ends("crf", "sentences", config), (20, 20, 20))
    assert size > 4


@pytest.mark.parametrize("encoder", ["average", "cnn", "gru", "transformer"])
@pytest.mark.parametrize("model, task", [("neural", "texts"), ("tagger", "sentences")])
def test_neural_models_learn_and_repeat_themselves(model, task, encoder):
    pytest.importorskip("torch")
    if (model, encoder) == ("tagger", "average"):
        pytest.skip("taggers have no average")
    config = config_of(model, encoder=encoder) | {"learning_rate": 0.03, "dropout": 0.1, "batch_size": 8}
    config |= {"weight_decay": 1e-3, "beta1": 0.9, "min_frequency": 1, "scheduler": "none"}
    config |= {"units": "words"} if model == "neural" else {"suffixes": 1, "shape": True}
    made, size = ends(model, task, config)
    assert (made, size) == ends(model, task, config)
    assert made != ends(model, task, config, 1)[0] or made[-1][0] == made[-1][2]
    assert made[-1][0] >= 0.7 * made[-1][2]


@pytest.mark.parametrize("model", ["lstm", "transformer"])
def test_models_of_sequences_learn_and_repeat_themselves(model):
    pytest.importorskip("torch")
    config = config_of(model, scheduler="none") | {"batch_size": 2, "dropout": 0.0, "learning_rate": 0.01}
    made, size = ends(model, "forms", config)
    assert ((made, size), made[-1]) == (ends(model, "forms", config), (32, 32, 32, 16, 16))
    assert size > 0
