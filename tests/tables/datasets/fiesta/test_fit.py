"""The moments that the embedded tables have."""

from __future__ import annotations

import numpy as np
import pytest


@pytest.mark.measured
def test_the_committed_moments_are_the_fitted_ones() -> None:
    import json
    from pathlib import Path

    from hpo_envs.tables.datasets.fiesta import fit as fitting

    path = Path(fitting.__file__).with_name("fiesta.json")
    stored, fitted = json.loads(path.read_text(encoding="utf-8")), fitting.fit()
    for group in ("tdsa", "ner"):
        for key, value in fitted[group].items():
            assert np.allclose(stored[group][key], value, rtol=1e-4, atol=1e-12)
