"""Shared fixtures: every id on every kind of table that is at hand."""

from __future__ import annotations

import os
import signal
import tempfile

import pytest
from hypothesis import settings

from tests.helpers import ID_KINDS, installed

# No test asserts a time: machines that run tests can be busy. The same examples every time, unless new ones are wanted.
settings.register_profile("steady", deadline=None, derandomize="HPO_ENVS_FUZZ" not in os.environ)
settings.load_profile("steady")

# Nobody's own tables are seen by tests, nor written.
os.environ["HPO_ENVS_TABLES"] = tempfile.mkdtemp(prefix="hpo-envs-tables-")


def pytest_configure() -> None:
    """Where the tests run with Ctrl-C ignored (in the background, say), their child processes would inherit that."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skips what needs upstream files when none are installed."""
    have = installed("nmthpo/swen")
    for item in items:
        if item.get_closest_marker("measured") and not have:
            item.add_marker(pytest.mark.skip(reason="measured tables are not installed (hpo-envs fetch)"))


@pytest.fixture(params=ID_KINDS, ids=lambda p: f"{p[0]}-{p[1]}")
def id_kind(request: pytest.FixtureRequest) -> tuple[str, str]:
    """(id, kind) for every registered id and every kind of table at hand."""
    return request.param  # type: ignore[no-any-return]
