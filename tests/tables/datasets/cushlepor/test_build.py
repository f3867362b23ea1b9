"""CushLEPOR tables: upstream's files, users' TSVs, LaBSE as target, and the numbers of the measured table."""

import csv
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hpo_envs.tables import hlepor, store
from hpo_envs.tables.datasets.cushlepor import build as cushlepor
from hpo_envs.tables.datasets.cushlepor import semantic
from hpo_envs.tables.datasets.cushlepor import text as cushlepor_text
from hpo_envs.tables.datasets.cushlepor.build import UNEDITED
from hpo_envs.tables.datasets.cushlepor.score import main
from hpo_envs.tables.datasets.cushlepor.text import Segment
from hpo_envs.tables.files.folder import data_folder
from tests.helpers import ROOT, rejects
from tests.tables.datasets.cushlepor.test_text import psqm_files

NAME = "cushlepor/ted-ende"


def write_test_set(folder: Path, references=("ref", "refB"), score_names=("ref-A", "ref-B"), suffix="") -> Path:
    """A tiny test set in upstream's format; the header has no comment column, as in ted/zhen."""
    folder.mkdir(parents=True)
    lines = ["system\tdoc\tdoc_id\tseg_id\trater\tsource\ttarget\tcategory\tseverity"]
    scores = ["system mqm_avg_score seg_id"]
    text = {1: 'the "old mill"', 2: "a red boat", 4: "it rained , it rained"}
    documents = {1: "talk.1", 2: "talk.1", 4: "talk.2"}
    for s, name in enumerate(["Borderline", "Mi-SS", *references]):
        for seg, words in text.items():
            marked = words.replace("a", "<v>a</v>", 1) if s == 0 else words + (" again" if s == 3 else "")
            lines += [
                f"{name}\t{documents[seg]}\t1\t{seg}\trater{k}\tquelle\t{marked}\tNo-error\tNo-error" for k in (1, 2)
            ]
    for s, name in enumerate([f"Borderline{suffix}", f"Mi-SS{suffix}", *score_names]):
        scores += [f"{name}\t{-1.5 * s - seg / 2:.6f} {seg}" for seg in (4, 1, 2)]
        scores.append(f"{name}\tNone 3")
    (folder / "mqm_x_zhen.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (folder / "mqm_x_zhen.avg_seg_scores.tsv").write_text("\n".join(scores) + "\n", encoding="utf-8")
    (folder / "mqm_x_zhen.source-errors.tsv").write_text("another file of that folder\n", encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    ("references", "score_names", "suffix"),
    [
        (("ref", "refB"), ("ref-A", "ref-B"), ""),
        (("ref.A", "ref.B"), ("refA", "refB"), ""),
        (("Human-A", "Human-B"), ("Human-A.0", "Human-B.0"), ".381"),
    ],
)
def test_any_test_set_of_repository(tmp_path, references, score_names, suffix):
    folder = write_test_set(tmp_path / "ted" / "zhen", references, score_names, suffix)
    t = cushlepor.from_folder(folder)
    assert t.name == "cushlepor/ted-zhen"
    assert t.keys == tuple(f"{s}/{d}" for s in ("Borderline", "Mi-SS") for d in ("talk.1/1", "talk.1/2", "talk.2/4"))
    assert t.values[:, 0, 0, 0] == pytest.approx(1 - np.array([0.5, 1, 2, 2, 2.5, 3.5]) / 25)
    assert hlepor.segment_scores(cushlepor.statistics(t)) == pytest.approx(1.0)  # spans are no text
    assert t.configs[:, 3].tolist() == [0, 0, 1, 0, 0, 1]
    other = cushlepor.from_folder(folder, "cushlepor/mine", reference="B")
    assert other.name == "cushlepor/mine"
    assert (other.values[:, 0, 0, 2] == t.values[:, 0, 0, 2] + 1).all()
    rejects("reference must be one of A, B in .*, got C", cushlepor.from_folder, folder, reference="C")
    assert t.provenance.kind == "measured"
    assert "not verified" in t.provenance.notes[0]


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        ("mqm_x_zhen.tsv", "seg_id", "segment", "line 1: must name the columns"),
        ("mqm_x_zhen.tsv", "\t4\trater1", "\tvier\trater1", "line 6: must have 9 fields and a numeric seg_id"),
        ("mqm_x_zhen.tsv", "talk.1\t1\t2\trater2", "talk.9\t1\t2\trater2", "line 5: segment 2 must be of talk.1"),
        ("mqm_x_zhen.avg_seg_scores.tsv", "mqm_avg", "avg", "line 1: must name the columns"),
        ("mqm_x_zhen.avg_seg_scores.tsv", "-1.000000", "bad", "line 4: must be a system, a score and a segment"),
        ("mqm_x_zhen.avg_seg_scores.tsv", "-1.000000 2", "-1.000000 1", "must not rate Borderline, segment 1 twice"),
        ("mqm_x_zhen.avg_seg_scores.tsv", "-1.000000", "-26", r"must lie in \[-25, 0\], got -26"),
        ("mqm_x_zhen.avg_seg_scores.tsv", "Borderline\tNone", "Borderline\t-1", "must have the text of system Borderl"),
    ],
)
def test_malformed_files_are_rejected(tmp_path, file, old, new, message):
    folder = write_test_set(tmp_path / "a" / "b")
    text = (folder / file).read_text(encoding="utf-8")
    assert old in text
    (folder / file).write_text(text.replace(old, new, 1), encoding="utf-8")
    rejects(message, cushlepor.from_folder, folder)


def test_folder_without_files(tmp_path):
    rejects("must hold one mqm.*got 0 and 0", cushlepor.from_folder, tmp_path)


def test_users_tsv(tmp_path):
    path = tmp_path / "my.tsv"
    rows = ["Score\thypothesis\treference\tdocument", '70\tthe "mill"\tthe mill\td1', "10\ta\tb\td1", "40\t\tc\td2"]
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    t = cushlepor.from_tsv(path)
    assert (t.name, t.values[:, 0, 0, 0]) == ("cushlepor/my", pytest.approx([1.0, 0.0, 0.5]))
    assert (t.values[:, 0, 0, 1].tolist(), t.configs[:, 3].tolist()) == ([4, 1, 0], [0, 0, 1])
    assert cushlepor.from_tsv(path, score_range=(0, 100)).values[:, 0, 0, 0] == pytest.approx([0.7, 0.1, 0.4])
    rejects(r"score_range must be .* 10.0 to 70.0, got \(20, 100\)", cushlepor.from_tsv, path, score_range=(20, 100))
    rejects("score_range must be .* 10.0 to 70.0, got 5", cushlepor.from_tsv, path, score_range=5)
    for bad, message in [
        ("score\thypothesis\n1\ta\n", "must name the columns hypothesis, reference, score"),
        ("score\thypothesis\treference\nx\ta\tb\n", "line 2: score must be a finite number, got 'x'"),
        ("score\thypothesis\treference\nnan\ta\tb\n", "line 2: score must be a finite number, got 'nan'"),
        ("score\thypothesis\treference\n1\ta\n", "line 2: must have 3 fields, got 2"),
        ("score\thypothesis\treference\n1\ta\tb\n\n2\ta\tb\n", "line 3: must have 3 fields, got 1"),
        ("score\thypothesis\treference\treference\n1\ta\tb\tc\n", "hypothesis, reference, score once"),
        ("score\thypothesis\treference\n", "at least one row"),
    ]:
        path.write_text(bad, encoding="utf-8")
        rejects(message, cushlepor.from_tsv, path)
    path.write_bytes(b"score\xff")
    rejects("my.tsv must be UTF-8 text, got byte 0xff", cushlepor.from_tsv, path)


def test_hold_out_takes_whole_documents():
    assert (cushlepor.hold_out(["a"] * 5), cushlepor.hold_out(["a"] * 6 + ["b"] * 2 + ["c"] * 2)) == ((), ("b", "c"))
    assert cushlepor.hold_out(["a"] * 1 + ["b"] * 9) == ("b",)


def test_table_of_german_talks():
    """Section 8 of the data's description: 13 systems, 529 segments, five talks; correlations of the presets."""
    t = store.load(NAME)
    assert (t.values.shape[0], (t.space[0].values or ())[0]) == (6877, "Facebook-AI")
    assert t.space[1].values == ("talk.1", "talk.3", "talk.4", "talk.5", "talk.6")
    human, train = t.values[:, 0, 0, 0], t.configs[:, 3] == 0
    assert ((human == 1).sum(), train.sum(), (~train).sum()) == (4041, 3900, 2977)
    basis = hlepor.Basis(cushlepor.statistics(t))
    for name, want in {
        "default": (0.181, 0.155),
        "hlepor-en-de": (0.124, 0.077),
        "cushlepor-lm-en-de": (0.150, 0.110),
        "cushlepor-psqm-en-de": (0.133, 0.088),
    }.items():
        scores = basis.scores(hlepor.preset(name).vector())
        got = [np.corrcoef(scores[m], human[m])[0, 1] for m in (train, ~train)]
        assert got == pytest.approx(want, abs=0.0006), name
    relative = hlepor.Basis(cushlepor.statistics(t, "relative"))
    changed = np.abs(
        relative.scores(hlepor.preset("default").vector()) - basis.scores(hlepor.preset("default").vector())
    )
    assert (changed > 1e-12).sum() == 1075


def test_released_variant_equals_package_on_every_segment():
    """Mean scores of hLepor 0.0.4 for 20 vectors; single segments differed by at most 4.4e-16 (commit b4688ac)."""
    golden = json.loads((ROOT / "tests/tables/hlepor/package_golden.json").read_text(encoding="utf-8"))
    scores = hlepor.Basis(cushlepor.statistics(store.load(NAME))).scores(np.array(golden["vectors"]))
    assert np.abs(scores.mean(axis=1) - golden["ted-ende mean scores"]).max() < 1e-9


def test_news_is_built_from_labels_or_scores():
    labels, spans = psqm_files()
    scores = b"system mqm_avg_score seg_id\nOPPO.1535 -5.0 1\nOPPO.1535 -2.5 2\nHuman-A.0 0 1\n"
    content = {
        "wmt-mqm/newstest2020/ende/mqm_newstest2020_ende.no-postedits.tsv": spans,
        "wmt-mqm/newstest2020/ende/mqm_newstest2020_ende.tsv": spans.replace(b"a red boat", b"one red boat here"),
        "wmt-mqm/newstest2020/ende/psqm_newstest2020_ende.tsv": labels,
        "wmt-mqm/newstest2020/ende/mqm_newstest2020_ende.avg_seg_scores.tsv": scores,
    }
    for labelled, human in (("psqm", [0.75, 0.5]), ("mqm", [0.8, 0.9])):
        t = cushlepor.build(f"cushlepor/newstest2020-ende-{labelled}", content.__getitem__)
        assert t.values[:, 0, 0, 0] == pytest.approx(human)
    lengths = {
        labels: cushlepor.build(f"cushlepor/newstest2020-ende-{labels}", content.__getitem__).values[0, 0, 0, 1]
        for labels in ("mqm", "mqm-edited")
    }
    assert lengths == {"mqm": 3.0, "mqm-edited": 4.0}  # tokens of the first translation
    assert all(UNEDITED not in f for n in (NAME, "cushlepor/newstest2021-zhen-mqm") for f in cushlepor.upstream(n))


def test_folder_is_read_without_edits_unless_asked_for(tmp_path):
    folder = write_test_set(tmp_path / "newstest2020" / "zhen")
    original = (folder / "mqm_x_zhen.tsv").read_text(encoding="utf-8")
    (folder / "mqm_x_zhen.no-postedits.tsv").write_text(original, encoding="utf-8")
    edited = "\n".join(
        line.replace("\tNo-error", " and more\tNo-error", 1) if line.startswith("Mi-SS") else line
        for line in original.split("\n")
    )
    (folder / "mqm_x_zhen.tsv").write_text(edited, encoding="utf-8")
    plain, with_edits = cushlepor.from_folder(folder), cushlepor.from_folder(folder, edited=True)
    assert "no-postedits" in plain.provenance.notes[0]
    assert "no-postedits" not in with_edits.provenance.notes[0]


def test_quoted_file_is_the_same_table(tmp_path):
    """Upstream has files with quotes as in the text, and files quoted like a CSV."""
    raw, quoted = (write_test_set(tmp_path / form / "zhen") / "mqm_x_zhen.tsv" for form in ("raw", "quoted"))
    content = raw.read_text(encoding="utf-8").replace("a red boat", '"a red boat"')  # a text that is a quotation
    raw.write_text(content, encoding="utf-8")
    with open(quoted, "w", encoding="utf-8", newline="") as stream:
        csv.writer(stream, delimiter="\t").writerows(line.split("\t") for line in content.splitlines())
    forms = [cushlepor_text.quoted(file.read_text(encoding="utf-8")) for file in (raw, quoted)]
    one, other = (cushlepor.from_folder(file.parent, "cushlepor/x") for file in (raw, quoted))
    assert forms == [False, True]
    assert np.array_equal(one.values, other.values)
    rejects("must hold", cushlepor.from_folder, tmp_path / "raw")


@pytest.mark.parametrize("name", ["ted-ende", "ted-zhen"])
def test_talks_are_not_quoted(name):
    spans, _ = cushlepor.upstream(f"cushlepor/{name}")
    if (data_folder() / spans).is_file():
        assert not cushlepor_text.quoted(store.read(spans).decode("utf-8"))


def test_table_of_chinese_talks():
    b, a = (store.load(name) for name in ("cushlepor/ted-zhen", "cushlepor/ted-zhen-a"))
    assert (len(b), b.space[1].values) == (6877, ("talk.2", "talk.5", "talk.6", "talk.7", "talk.9"))
    train, human = b.configs[:, 3] == 0, b.values[:, 0, 0, 0]
    assert (train.sum(), (human == 1).mean()) == (3900, pytest.approx(0.5436, abs=1e-4))
    assert np.array_equal(a.values[..., :2], b.values[..., :2])
    assert a.keys == b.keys


@pytest.mark.parametrize(
    ("reference", "preset", "train", "held_out"),
    [
        ("", "default", 0.1722, 0.1627),
        ("", "cushlepor-lm-zh-en", 0.1646, 0.1422),
        ("", "cushlepor-psqm-zh-en", 0.1398, 0.1411),
        ("-a", "default", 0.1190, 0.0562),
    ],
)
def test_reference_decides_correlation_with_human_scores(reference, preset, train, held_out):
    """Held-out values of B, and both of A, were computed independently."""
    t = store.load(f"cushlepor/ted-zhen{reference}")
    human, test = t.values[:, 0, 0, 0], t.configs[:, 3] == 1
    scores = hlepor.segment_scores(cushlepor.statistics(t), preset)
    got = [np.corrcoef(scores[part], human[part])[0, 1] for part in (~test, test)]
    assert got == pytest.approx([train, held_out], abs=6e-5)


TSV = "hypothesis\treference\nthe cat sat\tthe cat sat down\na red boat\ta red ship\n"


def test_scores_of_file_and_mean(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "my.tsv").write_text(TSV)
    (tmp_path / "s.json").write_text(json.dumps(dict.fromkeys(hlepor.NAMES, 2)))
    main([str(tmp_path / "my.tsv"), "--setting", str(tmp_path / "s.json"), "--variant", "released"])
    *scores, mean = capsys.readouterr().out.splitlines()
    expected = hlepor.score(
        ["the cat sat", "a red boat"],
        ["the cat sat down", "a red ship"],
        hlepor.Parameters(2, 2, 2, 2, 2, 2),
        variant="released",
    )
    assert [float(s) for s in scores] == pytest.approx(expected.tolist(), abs=1e-6)
    assert float(mean.split()[1]) == pytest.approx(expected.mean(), abs=1e-6)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nowhere.tsv"], "nowhere.tsv"),
        (["{}", "--setting", "defalt"], "did you mean 'default'"),
        (["{}", "--variant", "x"], "variant must be one of"),
        (["{}", "--setting", "{}.json"], "setting must be JSON with alpha, beta, n"),
    ],
)
def test_errors_name_argument(tmp_path: Path, words: list[str], message: str, capsys: Any) -> None:
    (tmp_path / "my.tsv").write_text(TSV)
    (tmp_path / "my.tsv.json").write_text("{}")
    rejects("2", main, [w.format(tmp_path / "my.tsv") for w in words], error=SystemExit)
    assert message in capsys.readouterr().err


@pytest.fixture
def encoder_folder(tmp_path):
    """Modules of LaBSE (BERT, first token, dense layer, unit length), tiny and with random weights."""
    models = pytest.importorskip("sentence_transformers.sentence_transformer.modules")
    import torch
    from sentence_transformers import SentenceTransformer
    from transformers import BertConfig, BertModel, BertTokenizer

    torch.manual_seed(0)
    bert, words = (
        tmp_path / "bert",
        ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"a red boat old mill the it".split()],
    )
    bert.mkdir()
    (bert / "vocab.txt").write_text("\n".join(words), encoding="utf-8")
    sizes = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    BertModel(BertConfig(vocab_size=len(words), **sizes)).save_pretrained(bert)
    BertTokenizer(str(bert / "vocab.txt")).save_pretrained(bert)
    layers = [models.Transformer(str(bert)), models.Pooling(8, pooling_mode="cls"), models.Dense(8, 8)]
    SentenceTransformer(modules=[*layers, models.Normalize()]).save(str(tmp_path / "encoder"))
    return str(tmp_path / "encoder")


def test_semantic_target_of_a_tiny_encoder(encoder_folder):
    encoder = semantic.load(encoder_folder, local=True)
    texts = ["a red boat", "the old mill", "the old mill"], ["a red boat", "a red boat", "the mill"]
    found = semantic.similarities(encoder, *texts)
    vectors = encoder.encode([*texts[0], *texts[1]])
    angles = [a @ b / np.linalg.norm(a) / np.linalg.norm(b) for a, b in zip(vectors[:3], vectors[3:], strict=True)]
    assert (found, found[0]) == (pytest.approx(np.clip(angles, 0, 1), abs=1e-6), pytest.approx(1.0))
    segments = [Segment("A", "d", i, h, r, 0.5) for i, (h, r) in enumerate(zip(*texts, strict=True), start=1)]
    assert semantic.table(segments, "cushlepor/x", encoder).values[:, 0, 0, 0] == pytest.approx(found)


def test_missing_encoder_is_named(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    rejects("pip install sentence-transformers", semantic.load, str(tmp_path), error=ModuleNotFoundError)
    if store.missing("cushlepor/newstest2020-ende-psqm"):
        assert semantic.of_news("cushlepor/newstest2020-ende-psqm") is None
