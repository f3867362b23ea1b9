"""Files of translations with human scores."""

from __future__ import annotations

import pytest

from hpo_envs.tables import store
from hpo_envs.tables.datasets.cushlepor import build as cushlepor
from hpo_envs.tables.datasets.cushlepor import text as cushlepor_text

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


@pytest.mark.measured
def test_averaged_scores_are_the_weighted_spans():
    """Weights of Freitag et al. 2021: major 5, minor 1, minor punctuation 0.1."""
    spans, _ = cushlepor.files(NAME)
    points = cushlepor_text.span_scores(store.read(spans), spans)
    t = store.load(NAME, "measured")
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
