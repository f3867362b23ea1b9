"""The data set of users' own tables."""

from __future__ import annotations

import pytest

from hpo_envs.tables import user
from hpo_envs.tables.datasets.user_table import build


def test_the_example_is_a_grid_without_upstream_files() -> None:
    table = build.embedded(user.EXAMPLE)
    assert len(table) == len(set(table.keys)) == 4 * 6 * 2 * 2
    assert table.values.max() <= 0.92
    assert build.files(user.EXAMPLE) == ()
    assert user.EXAMPLE in build.NAMES
    with pytest.raises(ValueError, match="is a user's own, nothing upstream describes it"):
        build.build(user.EXAMPLE, lambda path: b"")
    with pytest.raises(AttributeError):
        build.NAMED  # noqa: B018
