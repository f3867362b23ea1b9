"""Fixtures of several test files."""

from __future__ import annotations

import pytest

from hpo_envs.benchmarks.papers.charhpo import settings


@pytest.fixture(scope="module")
def sweeps() -> tuple[settings.Sweep, ...]:
    return settings.sweeps()
