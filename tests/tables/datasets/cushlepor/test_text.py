"""Files of translations with human scores."""

from __future__ import annotations

import pytest

from hpo_envs.tables import store
from hpo_envs.tables.datasets.cushlepor import build as cushlepor
from hpo_envs.tables.datasets.cushlepor import text as cushlepor_text
from tests.helpers import needs_upstream

NAME = "cushlepor/ted-ende"


@pytest.mark.parametrize(
    ("name", "letter"),
    [
        ("ref", "A"),
        ("ref.A", "A"),
        ("ref-B", "B"),
        ("refC", "C"),
        ("Human-P.0", "P"),
        ("Online-A", None),
        ("Nemo", None),
    ],
)
def test_reference_letters(name, letter):
    assert cushlepor_text.reference_letter(name) == letter


@needs_upstream
def test_averaged_scores_are_the_weighted_spans():
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
    lines = [
        f"{system}\td\t{seg}\t{rater}\tsome text\t{category}\t{severity}"
        for system, seg, rater, category, severity in spans
    ]
    (tmp_path / "mqm_x.tsv").write_text("\n".join([header, *lines]), encoding="utf-8")
    t = cushlepor.from_folder(tmp_path, "cushlepor/x")
    assert t.values[:, 0, 0, 0] == pytest.approx([1 - (5.1 + 1) / 2 / 25, 0.0, 1.0])


def test_the_most_frequent_text_of_a_segment_counts(tmp_path):
    rows = [("A", "one"), ("A", "two"), ("A", "<v>two</v>"), ("ref", "two"), ("ref", "one")]
    lines = [f"{system}\td\t1\tr\t{text}\tNo-error\tNo-error" for system, text in rows]
    (tmp_path / "mqm_x.tsv").write_text(
        "\n".join(["system\tdoc\tseg_id\trater\ttarget\tcategory\tseverity", *lines]), encoding="utf-8"
    )
    t = cushlepor.from_folder(tmp_path, "cushlepor/x")
    assert t.values[0, 0, 0, 3] == 1  # A: two, twice; ref: two, the first of equals


def psqm_files() -> tuple[bytes, bytes]:
    """Labels and spans of a test set: two raters, and a reference that has no labels."""
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
    other = cushlepor_text.parse_psqm(labels, spans, "psqm.tsv", "mqm.tsv", reference="B")
    assert other[1].reference == "it rained now"
    for bad, message in ((b"6.0", "score must be in"), (b"score", "must name the columns")):
        with pytest.raises(ValueError, match=message):
            cushlepor_text.parse_psqm(labels.replace(bad, b"nine"), spans, "psqm.tsv", "mqm.tsv")
