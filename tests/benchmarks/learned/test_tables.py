"""A fold's knowledge comes from the other tables."""

from __future__ import annotations

import numpy as np
import pytest

from hpo_envs.agents.transfer import learned
from hpo_envs.agents.transfer.acquisition_net import SIZE
from hpo_envs.benchmarks.learned import tables, train
from hpo_envs.tables import store


@pytest.mark.parametrize("file", train.FILES)
def test_files_are_complete(file: str) -> None:
    arrays, names = learned._file(file)
    assert arrays["folds"].tolist() == train.folds(file)
    assert arrays["weights"].shape == (len(train.folds(file)), SIZE)
    assert all(np.isfinite(a).all() for k, a in arrays.items() if k not in ("folds", "feature_names", "languages"))
    assert (learned.DATA / f"learned_{file}.npz").stat().st_size < 60_000
    # What was learned from different tables differs, or nothing was left out.
    learned_from = arrays["prior"] if train.FILES[file].teacher else arrays["weights"]
    assert len({w.tobytes() for w in learned_from}) == len(train.folds(file))
    if train.FILES[file].teacher:
        other, _ = learned.load(train.FILES[file].teacher)
        assert (arrays["weights"] == other.astype(np.float32)).all()
    if file != learned.GENERIC:
        name = tables.names(file.partition("-")[0])[0]
        assert names == store.load(name, "surrogate").feature_names


@pytest.mark.parametrize(("file", "kind"), [("nmthpo", "measured"), ("nmthpo-embedded", "surrogate")])
def test_what_a_fold_knows_comes_from_the_other_tables(file: str, kind: str) -> None:
    """Computed again without the table left out: it cannot have been used."""
    if kind == "measured" and any(store.missing(t) for t in tables.names("nmthpo")):
        pytest.skip("measured tables are not installed")
    every = tables.tasks("nmthpo", kind)
    for fold in train.folds(file):
        _, shipped = learned.load(file, fold or None)
        assert shipped is not None
        again = tables.knowledge(train.seen(every, fold))
        assert np.allclose(shipped.prior, again.prior, rtol=1e-3, atol=1e-4)
        assert np.allclose(shipped.lengths, again.lengths, rtol=1e-2)
    assert {t.language for t in train.seen(every, "zhen")} == {"ruen", "jaen", "enja", "swen", "soen"}
    assert {t.language for t in train.seen(every, "ja")} == {"zhen", "ruen", "swen", "soen"}
