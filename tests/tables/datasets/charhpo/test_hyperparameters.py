"""The search space of Table 2, and what its conditions switch off."""

from __future__ import annotations

import numpy as np
import pytest

from hpo_envs.tables.datasets.charhpo.hyperparameters import deactivate, space
from hpo_envs.tables.datasets.charhpo.names import SCHEDULERS
from tests.helpers import raises


def test_both_architectures_have_the_same_names() -> None:
    lstm, transformer = space("lstm"), space("transformer")
    assert [h.name for h in lstm] == [h.name for h in transformer]
    assert len(lstm) == 16
    assert {h.name for h in lstm if h.values == (1,)} == {"decoder_layers", "attention_heads"}
    with raises("architecture must be one of lstm, transformer, got 'lstms', did you mean 'lstm'?"):
        space("lstms")


@pytest.mark.parametrize(
    ("scheduler", "inactive"),
    [
        ("none", {"warmup_samples", "factor", "min_lr", "patience"}),
        ("reduceonplateau", {"warmup_samples"}),
        ("warmupinvsqrt", {"factor", "min_lr", "patience"}),
    ],
)
def test_a_scheduler_has_its_own_settings(scheduler: str, inactive: set[str]) -> None:
    hyperparameters = space("lstm")
    names = [h.name for h in hyperparameters]
    configs = np.ones((1, len(names)))
    configs[0, names.index("scheduler")] = SCHEDULERS.index(scheduler)
    off = deactivate(hyperparameters, configs)
    zeros = {name for name, value in zip(names, off[0], strict=True) if value == 0.0}
    assert zeros - {"scheduler"} == inactive
    assert (configs[0, [names.index(n) for n in inactive]] == 1.0).all(), "a copy is returned"
