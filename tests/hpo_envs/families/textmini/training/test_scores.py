import numpy as np
import pytest

from hpo_envs.families.textmini.training.scores import counts, resample, shape, spans


def test_resamples_are_four_fifths_and_differ():
    first, second = resample("banking", 0, 100), resample("banking", 1, 100)
    assert len(first) == len(np.unique(first)) == 80
    assert set(first) != set(second)
    assert np.array_equal(first, resample("banking", 0, 100))
    assert not np.array_equal(first, resample("names", 0, 100))


@pytest.mark.parametrize(
    "tags, found",
    [
        (["B-a", "I-a", "O", "B-b"], [(0, 2, "a"), (3, 4, "b")]),
        (["B-a", "B-a", "I-b", "I-b"], [(0, 1, "a"), (1, 2, "a"), (2, 4, "b")]),
        (["B", "I", "B"], [(0, 2, ""), (2, 3, "")]),
        (["O", "I-a"], [(1, 2, "a")]),
        (["O"], []),
    ],
)
def test_spans_of_tags(tags, found):
    assert spans(tags) == found


def test_counts_by_unit():
    assert counts(["a", "b"], ["a", "c"], "texts") == (1, 2, 2)
    assert counts([["a", "b"], ["c"]], [["a", "a"], ["c"]], "tokens") == (2, 3, 3)
    assert counts([["B-x", "I-x", "B-y"]], [["B-x", "I-x", "I-x"]], "spans") == (0, 2, 1)


def test_shape_has_kinds_of_characters():
    assert [shape(word) for word in ("Ab12-3", "USA", "")] == ["Aa0.0", "A", ""]
