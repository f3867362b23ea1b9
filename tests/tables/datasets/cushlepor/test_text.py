"""Texts and labels of translations, the space of settings, agreement, and packed data."""

import sys
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hpo_envs.tables import hlepor, store
from hpo_envs.tables.datasets.cushlepor import TED, agreement, build, pack, text_metrics
from hpo_envs.tables.datasets.cushlepor import build as cushlepor
from hpo_envs.tables.datasets.cushlepor import text as cushlepor_text
from hpo_envs.tables.datasets.cushlepor.space import ParameterBox
from hpo_envs.tables.datasets.cushlepor.text import Segment
from hpo_envs.tables.files import packs
from hpo_envs.tables.table import Table
from tests.helpers import needs_upstream, rejects

NAME = "cushlepor/ted-ende"


def test_reference_letters() -> None:
    letters = {"ref": "A", "ref.A": "A", "ref-B": "B", "refC": "C", "Human-P.0": "P", "Online-A": None, "Nemo": None}
    assert {name: cushlepor_text.reference_letter(name) for name in letters} == letters


@needs_upstream
def test_averaged_scores_are_weighted_spans():
    """Weights of Freitag et al. 2021: major 5, minor 1, minor punctuation 0.1."""
    spans, _ = cushlepor.upstream(NAME)
    points = cushlepor_text.span_scores(store.read(spans), spans)
    t = store.load(NAME)
    keys = [(key.split("/")[0], int(key.split("/")[2])) for key in t.keys]
    assert t.values[:, 0, 0, 0] == pytest.approx([1 + (points[key] or 0.0) / 25 for key in keys], abs=1e-6)


def test_scores_from_spans(tmp_path):
    header = "system\tdoc\tseg_id\trater\ttarget\tcategory\tseverity"
    spans = [
        ("A", 1, "r1", "Accuracy/Mistranslation", "Major"),
        ("A", 1, "r1", "Fluency/Punctuation", "Minor"),
        ("A", 1, "r2", "Style/Awkward", "minor"),
        ("B", 1, "r1", "Non-translation!", "Major"),
        ("B", 1, "r1", "Accuracy/Mistranslation", "Major"),
        ("C", 1, "r1", "No-error", "No-error"),
        ("ref", 1, "r1", "Fluency/Punctuation", "Major"),
    ]
    lines = [f"{name}\td\t{seg}\t{rater}\tsome text\t{kind}\t{grade}" for name, seg, rater, kind, grade in spans]
    (tmp_path / "mqm_x.tsv").write_text("\n".join([header, *lines]), encoding="utf-8")
    t = cushlepor.from_folder(tmp_path, "cushlepor/x")
    assert t.values[:, 0, 0, 0] == pytest.approx([1 - (5.1 + 1) / 2 / 25, 0.0, 1.0])


def test_most_frequent_text_of_segment_counts(tmp_path):
    rows = [("A", "one"), ("A", "two"), ("A", "<v>two</v>"), ("ref", "two"), ("ref", "one")]
    lines = [f"{system}\td\t1\tr\t{text}\tNo-error\tNo-error" for system, text in rows]
    (tmp_path / "mqm_x.tsv").write_text(
        "\n".join(["system\tdoc\tseg_id\trater\ttarget\tcategory\tseverity", *lines]), encoding="utf-8"
    )
    t = cushlepor.from_folder(tmp_path, "cushlepor/x")
    assert t.values[0, 0, 0, 3] == 1  # A: two, twice; ref: two, the first of equals


def psqm_files() -> tuple[bytes, bytes]:
    """Labels and spans of a test set: two raters, and a reference without labels."""
    labels = ["system\tdoc\tdoc_id\tseg_id\trater\tsource\ttarget\tscore"]
    spans = ["system\tdoc\tdoc_id\tseg_id\trater\tsource\ttarget\tcategory\tseverity"]
    for name in ("Human-A.0", "Human-B.0", "OPPO.1535"):
        for segment, words in {1: "a red boat", 2: "it rained"}.items():
            spans.append(f"{name}\tdoc.1\t1\t{segment}\tr1\tquelle\t<v>{words}</v>\tNo-error\tNo-error")
            if name != "Human-A.0":
                for rater, score in (("r1", 6.0), ("r2", 6.0 - 3 * segment)):
                    labels.append(f"{name}\tdoc.1\t1\t{segment}\t{rater}\tquelle\t{words} now\t{score}")
    return "\n".join(labels).encode(), "\n".join(spans).encode()


def test_psqm_labels_are_averaged_and_references_found() -> None:
    labels, spans = psqm_files()
    found = cushlepor_text.parse_psqm(labels, spans, "psqm.tsv", "mqm.tsv")
    assert [(s.system, s.segment, s.human) for s in found] == [("OPPO.1535", 1, 0.75), ("OPPO.1535", 2, 0.5)]
    assert (found[0].hypothesis, found[0].reference) == ("a red boat now", "a red boat")
    for bad, message in ((b"6.0", "score must be in"), (b"score", "must name the columns")):
        rejects(message, cushlepor_text.parse_psqm, labels.replace(bad, b"nine"), spans, "psqm.tsv", "mqm.tsv")


def test_equal_sentences_score_one_and_others_less() -> None:
    pytest.importorskip("sacrebleu", reason="extra mt is not installed")
    found = text_metrics.sentence_scores(["the cat sat down", "a dog"], ["the cat sat down", "the cat sat down"])
    assert tuple(found) == text_metrics.TEXT_METRICS
    for values in found.values():
        assert values[0] == pytest.approx(1.0)
        assert 0.0 <= values[1] < 0.5


def test_without_sacrebleu_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sacrebleu.metrics", None)
    rejects(r"hpo_envs\[mt\]", text_metrics.sentence_scores, ["a"], ["a"], error=ModuleNotFoundError)


def test_packed_scores_correlate_with_human_scores_as_those_of_text(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pearson's correlation on training and held-out talks, computed from the text independently."""
    monkeypatch.setitem(sys.modules, "sacrebleu.metrics", None)
    table = store.load(text_metrics.PACKED[0])
    human, train = table.values[:, 0, 0, 0], table.configs[:, 3] == 0
    found = text_metrics.of_table(table.name)
    for name, want in {"sentence BLEU": (0.181, 0.159), "chrF": (0.139, 0.174)}.items():
        got = [np.corrcoef(found[name][part], human[part])[0, 1] for part in (train, ~train)]
        assert got == pytest.approx(want, abs=6e-4)


POINT = st.lists(st.floats(-1, 1), min_size=6, max_size=6)


@settings(max_examples=100, deadline=None)
@given(POINT, st.sampled_from(["published", "wide"]))
def test_box_map_is_inverted_by_action(point, bounds):
    box = ParameterBox(bounds)
    vector = box.natural(np.array([point]))[0]
    back = box.natural(box.action(vector)[None])[0]
    assert back == pytest.approx(vector, rel=1e-12)
    assert ((vector >= box.low) & (vector <= box.high)).all()


def test_parts_of_axis_of_n_are_equal():
    grid = np.zeros((4000, 6))
    grid[:, 2] = np.linspace(-1, 1, 4000)
    n, counts = np.unique(ParameterBox("published").natural(grid)[:, 2], return_counts=True)
    assert (n.tolist(), counts.tolist()) == ([1, 2, 3, 4], [1000] * 4)


def test_box_as_hyperparameters():
    space = ParameterBox("wide").space
    assert tuple(h.name for h in space) == hlepor.NAMES
    assert [(h.kind, h.low, h.high, h.log) for h in space[1:3]] == [("float", 0.1, 10.0, True), ("int", 0, 8, False)]
    assert ParameterBox({"alpha": (0, 2)}).space[0].high == 2


def test_setting_has_same_bits_in_any_batch():
    corpus = agreement.prepare(store.load("cushlepor/ted-ende"), "released", None)
    vectors = ParameterBox("published").natural(np.random.default_rng(0).uniform(-1, 1, (40, 6)))
    many = corpus.evaluate(vectors, kendall=True)
    for i in (0, 15, 16, 39):
        for batch, one in zip(many, corpus.evaluate(vectors[[i]], kendall=True), strict=True):
            assert {k: v[i] for k, v in batch.items()} == {k: v[0] for k, v in one.items()}


def test_corpus_is_prepared_once_for_content():
    table = store.load("cushlepor/ted-ende")
    first = agreement.prepare(table, "released", None)
    assert agreement.prepare(replace(table), "released", None) is first
    assert agreement.prepare(table, "paper", None) is not first
    assert agreement.prepare(table, "released", ("talk.1",)).held_out == ("talk.1",)
    assert (first.documents[0], first.held_out) == ("talk.1", ("talk.5", "talk.6"))


def test_corpus_needs_segments_and_document_to_train_on():
    rejects("table must hold translated segments", agreement.prepare, store.load("fiesta/ner"), "released", None)
    table = store.load("cushlepor/ted-ende")
    with pytest.raises(ValueError, match="document in held_out must be one of .*, got 'talk.2', did you mean"):
        agreement.Agreement(table, held_out=("talk.2",))
    with pytest.raises(ValueError, match="held_out must leave a document to train on"):
        agreement.Agreement(table, held_out=agreement.Agreement(table).documents)


WORDS = [f"w{i}" for i in range(9)]


@pytest.fixture(scope="module")
def texts() -> Table:
    """Random sentences with few distinct words, so that words repeat on both sides."""
    pytest.importorskip("nltk", reason="extra mt is not installed")
    rng = np.random.default_rng(0)

    def sentence() -> str:
        return " ".join(rng.choice(WORDS, rng.integers(1, 30)))

    segments = [
        Segment(
            system, "talk.5" if i % 2 else "talk.1", i, sentence(), sentence(), 1.0 - rng.integers(0, 250) / 10.0 / 25.0
        )
        for system in ("a", "b-2")
        for i in range(40)
    ]
    return build.from_segments(segments, "cushlepor/ted-ende", None, build.provenance("reference A"))


def test_table_is_restored_from_its_arrays_bit_by_bit(texts: Table) -> None:
    restored = build.unpacked(packs.from_bytes(packs.to_bytes(pack.rows(texts) | pack.against(texts, "A"))), texts.name)
    assert (restored.values.tobytes(), restored.keys) == (texts.values.tobytes(), texts.keys)
    assert restored.space == texts.space


@pytest.mark.parametrize("name", TED)
def test_no_word_is_packed(name: str) -> None:
    arrays = packs.read(build.pack(name))
    assert sorted(n for n, array in arrays.items() if array.dtype.kind not in "iuf") == ["document", "system"]
    assert {n.partition("/")[0] for n in arrays if "/" in n} == ({"A", "B"} if "zhen" in name else {"A"})
    assert (len(arrays["system"]), len(arrays["document"])) == (13, 5)
