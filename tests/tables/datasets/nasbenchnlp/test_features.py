"""Released features."""

from __future__ import annotations

from hpo_envs.tables import store
from hpo_envs.tables.datasets.nasbenchnlp import features

WT2 = "nasbenchnlp/wikitext2"


def test_released_features_are_joined_by_group() -> None:
    table = store.load(WT2)
    assert table.features[:, -1].sum() == 274
    assert features.group(1002003) == features.group(1004003) == 1000003
    assert features.group(1006003) == features.group(1010003) == 1006003
    assert features.group(1012738) == 1012003
    assert features.group(2004071) == 2004071
    assert features.group(1000001) == 1000001
