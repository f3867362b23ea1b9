from __future__ import annotations

import hashlib

import numpy as np
import pytest

from hpo_envs.tables.datasets.cellmini import text
from hpo_envs.tables.datasets.cellmini.names import SPLITS


def test_the_text_is_the_beginning_of_the_plays():
    whole = text.text()
    assert whole.startswith("First Citizen:\nBefore we proceed any further, hear me speak.\n")
    assert len(whole) == sum(SPLITS.values()) == 100_000
    assert hashlib.sha256(whole.encode()).hexdigest()[:16] == "caad989adf87f248"
    assert len(text.symbols()) == 61


def test_parts_follow_each_other():
    codes = np.concatenate([text.split(name) for name in SPLITS])
    assert "".join(text.symbols()[code] for code in codes.tolist()) == text.text()


def test_another_file_is_refused(tmp_path):
    (tmp_path / "other.txt").write_bytes(b"To be")
    with pytest.raises(ValueError, match=f"file must have sha256 {text.WHOLE}, got"):
        text.main(str(tmp_path / "other.txt"))
