"""The data set of users' own tables."""

import pytest

from hpo_envs.tables import user
from hpo_envs.tables.datasets.user_table import build


def test_example_is_grid() -> None:
    table = build.shipped(user.EXAMPLE)
    assert len(table) == len(set(table.keys)) == 4 * 6 * 2 * 2
    assert table.values.max() <= 0.92
    assert user.EXAMPLE in build.NAMES
    with pytest.raises(AttributeError):
        build.NAMED  # noqa: B018
