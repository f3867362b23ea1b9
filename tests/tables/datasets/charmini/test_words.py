import hashlib

import pytest

from hpo_envs.tables import store
from hpo_envs.tables.datasets.charmini import SHARED_TASK, words
from hpo_envs.tables.files import atomic
from tests.helpers import needs_upstream

SOME = """'bout B AW1 T
aback AH0 B AE1 K
aback(2) AE1 B AE0 K
abbey AE1 B IY0 # place
abc EY1 B IY2 S IY2
abbé AE1 B EY0
abbreviated AH0 B R IY1 V IY0 EY2 T AH0 D
inquiries IH2 N K W AY1 R IY0 Z AH0 B AH0 B
"""


def test_only_words_with_one_short_pronunciation_are_eligible():
    assert words.eligible(SOME) == [("abbey", ("AE", "B", "IY"))]


def test_sample_has_2500_words_and_39_phonemes():
    sample = words.sample()
    assert (len({word for word, _ in sample}), len(words.phonemes())) == (2500, 39)
    assert all(4 <= len(word) <= 9 and 1 <= len(spoken) <= 10 for word, spoken in sample)


def test_entries_of_subsampled_task_are_short_and_keep_their_order():
    text = "b\tx y\n" + "a" * 10 + "\tx\na\t" + "x " * 10 + "x\n" + "a" * 9 + "\t" + " ".join("x" * 10) + "\n"
    assert words.listed(text) == [("b", ("x", "y")), ("a" * 9, ("x",) * 10)]


def test_syllables_are_decomposed_before_letters_are_counted():
    syllable = "\N{HANGUL SYLLABLE GAG}"
    text = f"{syllable}\tx\n{4 * syllable}\tx y\n"
    assert [len(word) for word, _ in words.listed(text)] == [1, 4]
    assert [len(word) for word, _ in words.listed(text, decompose=True)] == [3]


@pytest.fixture
def files(monkeypatch):
    """Files of a made-up shared task: more words than are used, letters and phonemes unseen in training."""
    many = [("".join("abcd"[i // 4**j % 4] for j in range(6)), "x y") for i in range(2000)]
    parts = {"train": many, "dev": [("aé", "x z"), ("b", "y")], "test": [("c" * 10, "x"), ("d", "x")]}
    texts = {
        f"sigmorphon2020/hun_{part}.tsv": "".join(f"{word}\t{spoken}\n" for word, spoken in rows)
        for part, rows in parts.items()
    }
    monkeypatch.setattr(words.store, "read", lambda file: texts[file].encode())
    words.entries.cache_clear()
    yield parts
    words.entries.cache_clear()


def test_training_words_are_first_in_order_of_hash_and_others_are_as_they_are(files):
    parts = words.entries("hun")
    assert [len(part) for part in parts.values()] == [1500, 2, 1]
    digests = [hashlib.sha256(word.encode()).digest() for word, _ in parts["train"]]
    assert digests == sorted(hashlib.sha256(word.encode()).digest() for word, _ in files["train"])[:1500]
    assert parts["development"] == (("aé", ("x", "z")), ("b", ("y",)))


def test_alphabet_is_that_of_training_words_and_phonemes_are_those_of_all(files):
    assert (words.alphabet("hun"), words.phonemes("hun")) == ("abcd" + words.UNKNOWN, ("x", "y", "z"))
    assert words.alphabet("eng") == words.LETTERS


def test_english_parts_are_sample_in_order():
    assert [entry for part in words.entries("eng").values() for entry in part] == [*words.sample()]


def test_unknown_languages_are_rejected():
    with pytest.raises(ValueError, match="language must be one of eng, ady, .*, got 'hux', did you mean 'hun'"):
        words.entries("hux")


@needs_upstream
@pytest.mark.parametrize("language", SHARED_TASK)
def test_files_list_each_word_once(language):
    every = [
        word
        for file in words.FILES.values()
        for word, _ in (line.split("\t") for line in store.read(file.format(language)).decode().splitlines())
    ]
    assert len(set(every)) == len(every) == 4500


@needs_upstream
def test_sample_is_made_from_dictionary(monkeypatch, tmp_path):
    eligible = words.eligible(store.read(words.FILE).decode())
    assert len(eligible) == 90_215
    monkeypatch.setattr(words, "_SAMPLE", tmp_path / "words.csv")
    words.main()
    assert [(r["word"], tuple(r["phonemes"].split())) for r in atomic.read_csv(tmp_path / "words.csv")] == [
        *words.sample()
    ]
