"""Pytest plugin, `-p tests.once`: tests that pass are recorded in the file ONCE and skipped in the next run."""

import os
from pathlib import Path

import pytest

FILE = Path(os.environ["ONCE"])
BEFORE = set(FILE.read_text("utf-8").splitlines()) if FILE.exists() else set()
PASSED: list[str] = []
os.environ.pop("PYTEST_ADDOPTS", None)  # not for what tests start themselves


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect tests that passed before."""
    config.hook.pytest_deselected(items=[item for item in items if item.nodeid in BEFORE])
    items[:] = [item for item in items if item.nodeid not in BEFORE]


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Record tests that pass."""
    if report.when == "call" and report.passed:
        PASSED.append(report.nodeid)


def pytest_sessionfinish() -> None:
    """Write the record; only in the main process, because workers see some of the tests."""
    if "PYTEST_XDIST_WORKER" not in os.environ:
        FILE.write_text("".join(f"{name}\n" for name in sorted(BEFORE.union(PASSED))), "utf-8")
