"""The training command."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hpo_envs.agents.transfer.acquisition_net import SIZE
from hpo_envs.benchmarks.learned import train


def test_training_command(tmp_path: Path) -> None:
    out = ["--out", str(tmp_path), "--generations", "1"]
    assert train.main(["--only", "nmthpo", "--fold", "zhen", "--kind", "surrogate", *out]) == 0
    with np.load(tmp_path / "learned_nmthpo.npz") as data:
        assert data["folds"].tolist() == ["zhen"]
        assert data["weights"].shape == (1, SIZE)
    assert (tmp_path / "training_nmthpo.csv").read_text().startswith("file,fold,generation,fitness")
    assert train.main(["--only", "charhpo", "--kind", "surrogate", *out]) == 0
    with np.load(tmp_path / "learned_charhpo.npz") as data:
        assert data["folds"].tolist() == train.folds("charhpo")
        assert len({w.tobytes() for w in data["weights"]}) == 1
    assert (tmp_path / "training_charhpo.csv").read_text().count("charhpo,-,0,-") == 1
    with pytest.raises(SystemExit, match="--fold must be one of zhen"):
        train.main(["--only", "nmthpo", "--fold", "deen", *out])
