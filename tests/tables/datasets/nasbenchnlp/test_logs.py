"""Training logs, as released and damaged."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest

from hpo_envs.tables import store
from hpo_envs.tables.cells.size import VOCABULARY, parameters
from hpo_envs.tables.datasets import nasbenchnlp as names
from hpo_envs.tables.datasets.nasbenchnlp.logs import CURVES, read_archive, read_log
from tests.helpers import needs_upstream
from tests.tables.datasets.nasbenchnlp.archives import log


@needs_upstream
def test_parameter_counts_equal_the_measured_ones() -> None:
    logs = read_archive(store.read(names.LOGS), "logs.zip")
    assert [parameters(run.cell, VOCABULARY["wikitext2"]) for run in logs] == [run.parameters for run in logs]


def test_a_log_is_read() -> None:
    run = read_log(json.dumps(log()).encode(), "x.json")
    assert run.losses.tolist() == [[7.1, 7.2, 7.0], [6.1, 6.2, 6.0], [5.6, 5.7, 5.5]]
    assert run.seconds.tolist() == [3.0, 2.0, 2.0]
    assert not run.diverged


def test_a_literal_nan_means_divergence() -> None:
    text = json.dumps(log(train_losses=[7.0, 6.0, math.nan]))
    assert "NaN" in text
    run = read_log(text.encode(), "x.json")
    assert run.diverged
    assert np.isnan(run.losses[2, 2])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"train_losses": [7.0, math.inf, 5.0]}, "finite or NaN"),
        ({"train_losses": [7.0, math.nan, 5.0]}, "only the last epoch"),
        ({"wall_times": [1.0, -1.0, 1.0]}, "seconds >= 0"),
        ({"wall_times": [1.0]}, "as long as"),
        ({"val_losses": []}, "inhomogeneous"),
        ({n: [1.0] * 51 for n in CURVES} | {"wall_times": [1.0] * 51}, "1 to 50"),
        ({"recepie": "{}"}, "1 to 24 nodes"),
    ],
)
def test_bad_logs_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message) as error:
        read_log(json.dumps(log(**changes)).encode(), "logs.zip: bad.json")
    assert "bad.json" in str(error.value)
