"""What a column is."""

from __future__ import annotations

import pytest

from tests.tables.user.helpers import from_text


def test_whole_numbers_that_float64_would_merge_are_refused() -> None:
    big = 2**53 + 1
    text = f"width,accuracy\n{big},0.5\n{big - 1},0.6\n4,0.7"
    with pytest.raises(ValueError, match=rf"column width: whole numbers must be at most 2\*\*53, .* got {big}"):
        from_text(text.encode(), "accuracy", "max")
    kept = from_text(text.encode(), "accuracy", "max", categorical=["width"])
    assert len(kept) == 3
    levels = f"lr,epoch,accuracy\n1,{big},0.5\n1,{big - 1},0.6\n2,1,0.7\n3,1,0.2"
    with pytest.raises(ValueError, match="column epoch: whole numbers must be"):
        from_text(levels.encode(), "accuracy", "max", level="epoch")
    scores = from_text(f"lr,score\n1,{big}\n2,5\n3,6".encode(), "score", "max")  # rounded, as any measurement
    assert scores.final("score").max() == 2.0**53
