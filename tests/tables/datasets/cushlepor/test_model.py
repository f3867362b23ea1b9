"""The embedded segments."""

from __future__ import annotations

import numpy as np
import pytest

from hpo_envs.tables import hlepor, store
from hpo_envs.tables.datasets.cushlepor import build as cushlepor
from hpo_envs.tables.datasets.cushlepor import fit as fit_cushlepor
from hpo_envs.tables.datasets.cushlepor import model

NAME = "cushlepor/ted-ende"


def test_surrogate_has_the_shape_of_the_measured_table():
    t = store.load(NAME)
    assert t.provenance.kind == "surrogate"
    assert t.values.shape == (13 * 529, 1, 1, len(cushlepor.metrics()))
    assert int(t.configs[:, 3].sum()) == 13 * 229
    s = cushlepor.statistics(t)
    assert (s.matches <= np.minimum(s.hypothesis_length, s.reference_length)).all()
    assert ((s.npd >= 0) & (s.npd <= 1)).all()
    points = (1 - t.values[:, 0, 0, 0]) * 25
    assert np.abs(points - np.rint(points)).max() < 1e-9
    assert (points == 0).mean() == pytest.approx(fit_cushlepor.WITHOUT_ERROR, abs=0.001)


def test_planted_parameters_beat_every_preset_on_the_surrogate():
    t = store.load(NAME)
    human, basis = t.values[:, 0, 0, 0], hlepor.Basis(cushlepor.statistics(t))

    def r(p):
        return np.corrcoef(basis.scores(p.vector()), human)[0, 1]

    planted = r(model.PLANTED)
    assert 0.15 < planted < 0.3
    assert all(r(p) < planted for p in hlepor.PRESETS.values())
