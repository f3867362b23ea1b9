from __future__ import annotations

import numpy as np
import pytest

from hpo_envs.tables.datasets.charhpo import hyperparameters as charhpo
from hpo_envs.tables.datasets.charmini.space import active, configuration, drawn, space


@pytest.mark.parametrize("architecture", ["lstm", "transformer"])
def test_axes_are_those_of_charhpo(architecture):
    ours, theirs = space(architecture), charhpo.space(architecture)
    assert [(h.name, h.kind, h.log, h.condition) for h in ours] == [
        (h.name, h.kind, h.log, h.condition) for h in theirs
    ]


@pytest.mark.parametrize("architecture", ["lstm", "transformer"])
def test_draws_are_distinct_within_their_ranges_and_cover_them(architecture):
    configs = drawn(architecture)
    assert len(np.unique(configs, axis=0)) == len(configs) == 128
    for h, column in zip(space(architecture), configs.T, strict=True):
        values = column if h.condition is None else column[column != 0]
        assert ((values >= h.low) & (values <= h.high)).all()
        if h.values and len(h.values) < 20 and h.kind != "categorical":
            assert set(values) == set(h.values)
        elif h.low < h.high:
            assert np.quantile(h.scale(values), [0.1, 0.9]) == pytest.approx([0.1, 0.9], abs=0.15)


def test_a_configuration_has_what_is_active():
    config = configuration("lstm", 0)
    assert config["scheduler"] == "none"
    assert not {"patience", "warmup_samples"} & set(config)
    assert type(config["batch_size"]) is int
    assert active("lstm", {**config, "patience": 0, "batch_size": np.float64(64)})["batch_size"] == 64


def test_unknown_architectures_are_refused():
    with pytest.raises(ValueError, match="architecture must be one of lstm, transformer, got 'ltsm', did you mean"):
        space("ltsm")
